"""From converted photographs to a model folder: checked, trained by a worker, described."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from prumo.errors import InputError
from prumo.machine.accelerators import require_device
from prumo.quantity import Quantity
from prumo.run.worker import Environments, WorkerError, WorkerTask, do_task
from prumo.study.section import describe
from prumo_retina.dataset.data_folder import read_preparation
from prumo_retina.dataset.manifest import read_manifest
from prumo_retina.grade import REFERABLE_FROM
from prumo_retina.judge.measures import require_both_classes
from prumo_retina.model import Seen, write_description, write_seen
from prumo_retina.records import RECORDS_FOLDER, RecordsCard, convert, read_card, read_split
from prumo_retina.records.split import TEST, VALIDATION, Shares
from prumo_retina.scoring import kept_log
from prumo_retina.training_folder import (
    FACTS_FILE,
    OUT_OF_FOLD,
    TrainingFolder,
    described,
    doubts,
    read_cases,
)
from prumo_retina.weights import Weights, resolve_weights
from prumo_retina.weights.files import write_arrays
from prumo_retina.workload import FRAMEWORK, LIBRARY, SCRATCH, RetinaParameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.progress import Progress
    from prumo.run.journal import Event
    from prumo_retina.model import ModelDescription

_LINES = 10
"""About so many epochs of a training stay in a log, which shows that it goes on."""
_LEAST_SECONDS_BETWEEN_LINES = 5.0
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
    if (order.data / RECORDS_FOLDER).is_dir():
        card = read_card(order.data)
    else:
        progress.say(f"{order.data} has no records yet: converting it with the usual split")
        card = convert(order.data, Shares(), seed=_SEED, shards=None, progress=progress).card
    _require_both_classes(card)
    weights = resolve_weights(order.network, order.weights, progress)
    parameters = _parameters(order, weights, preparation.size)
    learnt_from = {"weights": str(weights), "photographs": card.content}
    settings = parameters.model_dump() | learnt_from
    if parameters.weights == SCRATCH:
        count = sum(subset.images for name, subset in card.subsets.items() if name != TEST)
        progress.say(
            f"WARNING: without pretrained weights, {count} photographs teach a network little. "
            f"`--network {DEFAULT_NETWORK}` brings weights for ImageNet from a package."
        )
    earlier = "" if order.restart else folder.earlier_call
    with folder.held(settings, restart=order.restart):
        if earlier:
            progress.say(earlier)
        if not folder.is_trained:
            _work(order, parameters, weights, card, progress)
        progress.show("choosing thresholds")
        facts = json.loads((order.out / FACTS_FILE).read_bytes())
        write_seen(order.out, training_photographs(order.data))
        description = described(order.out, facts, parameters, card, str(weights))
        write_description(order.out, description)
        folder.finish()
    held_out = read_cases(order.out, str(facts["judged_on"]))
    return TrainedModel(order.out, description, facts, tuple(doubts(description, held_out)))


def _require_both_classes(card: RecordsCard) -> None:
    """Told before hours of training, as thresholds are chosen at their end."""
    held_out = OUT_OF_FOLD if card.folds else VALIDATION
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
    environment = Environments({}, progress).find(FRAMEWORK)
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
            advice = f"\n{_GO_ON}" if TrainingFolder(order.out).has_progress else ""
            log = kept_log(folder, KIND)
            raise WorkerError(f"{error}\nits log: {log}{advice}") from error
        except KeyboardInterrupt:
            if TrainingFolder(order.out).has_progress:
                progress.say(f"stopped: {_GO_ON}")
            raise


def training_photographs(data: Path) -> Iterator[Seen]:
    """All but the test's: they have a say in weights, temperature or thresholds."""
    subsets = read_split(data)
    for entry in read_manifest(data):
        subset = subsets.get(entry.image, TEST)
        if subset != TEST and entry.verdict.is_gradable:
            about = (entry.patient, entry.camera, entry.site, entry.duplicate_of)
            yield Seen(entry.image, subset, entry.sha256, *about)


class TrainingNews:
    """Turns the events of a worker into sentences."""

    def __init__(self, epochs: int, folds: int, progress: Progress) -> None:
        # The last training, on all folds together, takes as long as one of them at most.
        self._epochs_left = epochs * (folds + 1 if folds else 1)
        self._epochs_between_lines = ceil(self._epochs_left / _LINES)
        self._seconds_since_line: list[float] = []
        self._progress = progress
        progress.show("starting TensorFlow")

    def hear(self, event: Event) -> None:
        """Report the events that matter to a reader; others pass."""
        kind = event["event"]
        if kind == "ready":
            self._progress.show("preparing the training")
        elif kind == "features":
            self._features(event)
        elif kind == "resumed":
            self._epochs_left -= event["epoch"]
            self._progress.say(f"{event['stage']}: going on after epoch {event['epoch']}")
        elif kind == "epoch":
            self._epoch(event)

    def _features(self, event: Event) -> None:
        computed, wanted = event["computed"], event["to_compute"]
        if "seconds" not in event:
            self._progress.show("computing features", f"{computed} of {wanted}")
        elif computed:
            took = Quantity(event["seconds"], "s")
            self._progress.say(
                f"computed features of {event['photographs']} photographs, "
                f"{' and '.join(event['views'])}, in {took}, kept for other heads"
            )
        else:
            self._progress.say("all features are kept from an earlier training")

    def _epoch(self, event: Event) -> None:
        self._epochs_left -= 1
        figures = [f"loss {_told(event['loss'])}"]
        if "validation_loss" in event:
            figures.append(f"held out {_told(event['validation_loss'])}")
        if "validation_auc" in event:
            figures.append(f"AUC {event['validation_auc']:.3f}")
        # At most: early stops and the last training's fewer epochs are not foreseen.
        left = Quantity(self._epochs_left * event["seconds"], "s")
        detail = f"epoch {event['epoch']} of {event['epochs']}, {', '.join(figures)}, {left} left"
        self._progress.show(f"training ({event['stage']})", detail)
        since = self._seconds_since_line
        since.append(event["seconds"])
        if len(since) >= self._epochs_between_lines and sum(since) >= _LEAST_SECONDS_BETWEEN_LINES:
            self._progress.say(f"{event['stage']}: {detail}")
            since.clear()


def _told(loss: float | None) -> str:
    """A journal has nothing for what is not a number."""
    return "not a number" if loss is None else f"{loss:.4f}"
