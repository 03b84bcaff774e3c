"""From converted photographs to a model folder: checked, trained by a worker, described."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from prumo.cache import LOGS, made_folder
from prumo.environments.study_requests import RETINA_FRAMEWORK
from prumo.errors import InputError
from prumo.machine.accelerators import require_device
from prumo.results.folder import LOG_FILE
from prumo.retina.dataset.data_folder import read_preparation
from prumo.retina.grade import REFERABLE_FROM
from prumo.retina.judge.truth import require_both_classes
from prumo.retina.model.folder import write_description
from prumo.retina.model.seen import write_seen
from prumo.retina.records.card import RECORDS_FOLDER, RecordsCard, read_card
from prumo.retina.records.conversion import convert
from prumo.retina.records.split import TEST, VALIDATION, Shares
from prumo.retina.training.description import described
from prumo.retina.training.doubts import doubts
from prumo.retina.training.folder import FACTS_FILE, TrainingFolder
from prumo.retina.training.held_out import read_held_out
from prumo.retina.training.news import TrainingNews
from prumo.retina.training.photographs import training_photographs
from prumo.retina.weights import write_arrays
from prumo.retina.weights.choice import Weights, resolve_weights
from prumo.run.worker import Environments
from prumo.run.worker_task import WorkerError, WorkerTask, do_task
from prumo.study.problem import describe
from prumo.study.retina_parameters import LIBRARY, SCRATCH, RetinaParameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.progress import Progress
    from prumo.retina.model.description import ModelDescription

KIND = "retina_training"
FEATURES_FOLDER = "features"
DEFAULT_NETWORK = "efficientnet_lite0"
"""Its weights can be had from a package index, so that a first training has some."""
_SEED = 1
_GO_ON = "the same command goes on from the last checkpoint"


@dataclass(frozen=True)
class TrainingOrder:
    """What a user asks for."""

    data: Path
    """A folder that `prumo retina prepare` made."""
    out: Path
    network: str
    weights: str
    """`auto`, `none`, `library` or a file."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that differ from the defaults."""
    restart: bool = False


@dataclass(frozen=True)
class TrainedModel:
    """A model folder that is whole, and what its training noted."""

    folder: Path
    description: ModelDescription
    facts: Mapping[str, Any]
    warnings: tuple[str, ...]
    """Reasons not to trust it."""


def train(order: TrainingOrder, progress: Progress) -> TrainedModel:
    """Train a model, or go on with the training that an earlier call was stopped in."""
    preparation = read_preparation(order.data)
    # Before anything is fetched or converted: the weights decide on `frozen` alone.
    asked = _checked(order, {"image_size": preparation.size})
    require_device(asked.device)
    folder = TrainingFolder(order.out)
    folder.require_ours(restart=order.restart)
    card = _card(order.data, progress)
    _require_both_classes(card)
    weights = resolve_weights(order.network, order.weights, progress)
    parameters = _parameters(order, weights, preparation.size)
    settings = {
        **parameters.model_dump(),
        "weights": str(weights),
        "photographs": card.content,
    }
    if parameters.weights == SCRATCH:
        progress.say(_warning(card))
    earlier = "" if order.restart else folder.earlier_call
    with folder.held(settings, restart=order.restart):
        if earlier:
            progress.say(earlier)
        if not folder.is_trained:
            _work(order, parameters, weights, card, progress)
        progress.show("choosing thresholds")
        facts = json.loads((order.out / FACTS_FILE).read_bytes())
        description = described(order.out, facts, parameters, card, str(weights))
        seen = tuple(training_photographs(order.data))
        write_seen(order.out, seen)
        write_description(order.out, description)
        folder.finish()
    held_out = read_held_out(order.out, str(facts["judged_on"]))
    patients = {photograph.image: photograph.patient for photograph in seen}
    warnings = tuple(doubts(description, held_out, patients))
    return TrainedModel(order.out, description, facts, warnings)


def _warning(card: RecordsCard) -> str:
    count = sum(subset.images for name, subset in card.subsets.items() if name != TEST)
    return (
        f"WARNING: without pretrained weights, {count} photographs teach a network little. "
        f"`--network {DEFAULT_NETWORK}` brings weights for ImageNet from a package."
    )


def _card(data: Path, progress: Progress) -> RecordsCard:
    if not (data / RECORDS_FOLDER).is_dir():
        progress.say(f"{data} has no records yet: converting it with the usual split")
        return convert(data, Shares(), seed=_SEED, shards=None, progress=progress).card
    return read_card(data)


def _require_both_classes(card: RecordsCard) -> None:
    """Told before hours of training, as thresholds are chosen at their end."""
    held_out = "out-of-fold" if card.folds else VALIDATION
    subsets = [card.subsets[name] for name in card.subsets if card.folds or name == VALIDATION]
    counts = np.sum([subset.grades for subset in subsets], axis=0)
    referable = np.repeat(np.arange(len(counts)) >= REFERABLE_FROM, counts)
    require_both_classes(referable, f"choosing thresholds on the {held_out} photographs")


def _parameters(order: TrainingOrder, weights: Weights, size: int) -> RetinaParameters:
    """The user's choices over what suits the weights: pretrained ones stay as they are."""
    if weights.arrays is not None:
        label = weights.arrays.source
    else:
        label = LIBRARY if weights.from_library else SCRATCH
    is_pretrained = label != SCRATCH
    if order.options.get("frozen") and not is_pretrained:
        raise InputError(
            f"a frozen {order.network} from scratch sees nothing: give --weights, or --fine-tune"
        )
    return _checked(order, {"weights": label, "image_size": size, "frozen": is_pretrained})


def _checked(order: TrainingOrder, defaults: Mapping[str, Any]) -> RetinaParameters:
    """What the user chose, over these; InputError with the option that is wrong."""
    try:
        return RetinaParameters.model_validate(
            {**defaults, "network": order.network, **order.options}
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        if place == "network" or place in order.options:
            place = f"--{place.replace('_', '-')}"
        raise InputError(f"{place}: {describe(first)}") from error


def _work(
    order: TrainingOrder,
    parameters: RetinaParameters,
    weights: Weights,
    card: RecordsCard,
    progress: Progress,
) -> None:
    """Have the worker train; task, journal and log are not part of a model."""
    environment = Environments({}, progress).find(RETINA_FRAMEWORK)
    news = TrainingNews(parameters.epochs, card.folds, progress)
    with tempfile.TemporaryDirectory(prefix="prumo-training-") as temporary:
        folder = Path(temporary)
        data = {
            "records": str((order.data / RECORDS_FOLDER).absolute()),
            "features": str((order.data / FEATURES_FOLDER).absolute()),
            "model": str(order.out.absolute()),
        }
        if weights.arrays is not None:
            data["weights"] = str(folder / "weights.npz")
            write_arrays(weights.arrays, folder / "weights.npz")
        task = WorkerTask(KIND, parameters.model_dump(exclude_none=True), data)
        try:
            do_task(task, environment, folder, news.hear)
        except WorkerError as error:
            log = _kept_log(folder / LOG_FILE)
            advice = f"\n{_GO_ON}" if TrainingFolder(order.out).has_progress else ""
            raise WorkerError(f"{error}\nits log: {log}{advice}") from error
        except KeyboardInterrupt:
            if TrainingFolder(order.out).has_progress:
                progress.say(f"stopped: {_GO_ON}")
            raise


def _kept_log(log: Path) -> Path:
    """The log beside those of set-ups: the folder that it was written in goes."""
    return Path(shutil.copyfile(log, made_folder(LOGS) / f"{KIND}.log"))
