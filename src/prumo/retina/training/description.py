"""A trained network described: temperature and thresholds, and everything that it came from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prumo.retina.judge.calibration import fitted_temperature
from prumo.retina.judge.operating_point import DEFAULT_POINT, chosen_points
from prumo.retina.model.description import ModelDescription, Normalization
from prumo.retina.model.folder import network_sha256
from prumo.retina.model.probability import referral_probability
from prumo.retina.training.held_out import read_held_out

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prumo.retina.records.card import RecordsCard
    from prumo.study.retina_parameters import RetinaParameters


def described(
    folder: Path,
    facts: Mapping[str, Any],
    parameters: RetinaParameters,
    card: RecordsCard,
    weights: str,
) -> ModelDescription:
    """The description of the network in a folder.

    Temperature and operating points come from the photographs that were held out of its training,
    and never from those that it will be judged on.
    """
    held_out = read_held_out(folder, str(facts["judged_on"]))
    task, scores = parameters.task, held_out.scores
    temperature = fitted_temperature(scores, held_out.grades, task)
    probability = referral_probability(scores, task, temperature)
    return ModelDescription(
        name=folder.absolute().name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=task,
        network=parameters.network,
        preparation=card.preparation,
        normalization=Normalization.model_validate(facts["normalization"]),
        weights=weights,
        network_sha256=network_sha256(folder),
        temperature=temperature,
        points=chosen_points(probability, held_out.referable, held_out.subset),
        point=DEFAULT_POINT,
        training=_training(facts, parameters),
        data={
            "subsets": {name: list(subset.grades) for name, subset in card.subsets.items()},
            "left_out": card.left_out,
            "by_patient": card.by_patient,
            "seed": card.seed,
            "content": card.content,
        },
    )


def _training(facts: Mapping[str, Any], parameters: RetinaParameters) -> dict[str, Any]:
    *_, last = facts["stages"].values()
    return {
        "parameters": parameters.model_dump(exclude_none=True),
        "seconds": facts["metrics"]["train_seconds"],
        "epochs": last["epochs"],
        "best_epoch": last["best_epoch"],
        "device": facts["device"],
        "threads": facts["threads"],
        "versions": facts["versions"],
        "network_parameters": facts["network"]["parameters"],
        "judged_on": facts["judged_on"],
        "figures": facts["figures"],
        "folds": facts["folds"],
    }
