"""Whether a converted or quantized network answers what the original answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from prumo.errors import InputError, PrumoError, StorageError
from prumo_serve.estimates import wilson_interval
from prumo_serve.manifest import HEAT_MAP_TENSOR, HeatMap, NetworkFile
from prumo_serve.runtimes import Resources, load_network
from prumo_serve.source import NetworkInterface, PackedNetwork
from prumo_serve.task import JUDGED, task_named

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_serve.choices import Precision, RuntimeName
    from prumo_serve.manifest import Manifest
    from prumo_serve.package import Package
    from prumo_serve.runtimes import LoadedNetwork
    from prumo_serve.task import Answer

NETWORK_FILES: dict[RuntimeName, str] = {
    "onnxruntime": "network.onnx",
    "openvino": "network.xml",
    "litert": "network.tflite",
    "tensorflow": "network",
    "pytorch": "network.pt2",
}
"""Where a package keeps its network."""
HEAT_MAP_FILE = "heat_map.onnx"
SHOWS_LITTLE = "the original answers all images alike, so this shows little"

_ALLOWED: Mapping[Precision, float] = {"fp32": 1e-3, "fp16": 3e-2, "bf16": 2e-1}
"""Ours, of the largest number of an output, or of 1 where all are less. In 24 bits, sums of
thousands of products differ by 1e-5 or so in another order, and in the 11 bits of fp16 and the 8
of bf16 by as many times more as their last bit weighs more. Eight bits change every number: here
they only have to be numbers, and `prumo_serve.convert.agreement` looks at the labels."""
_ALLOWED_HEAT = 2e-2
"""Ours: of a map from 0 to 1, less than a step between two colours. A map is divided by its
maximum, so that fewer bits change a weak one at will: those are not compared."""
_ANY_NUMBER = float(np.finfo(np.float64).max)
_MIDDLE = {"scores": 0.0, "probabilities": 0.5}

_BESIDE = {"openvino": ["network.bin"]}
"""Runtime → what belongs to its network's file."""

MOST_CHANGED_SHARE = 0.05
"""Ours: a network that answers one image in twenty otherwise is another network."""
_WAYS_OUT = (
    "Try a precision with more bits, give more calibration images of the kind that the model will "
    "see, or take it as it is with --accept-difference and judge it with `prumo model compare`."
)


@dataclass(frozen=True)
class NetworkFacts(NetworkInterface):
    """How a network is asked, and what its conversion has to keep."""

    features_tensor: str = ""
    """The output with the last map of features, where heat maps are made of it."""
    without_heat_map: str = ""
    """Why there can be no heat map, for a model that would need one."""
    original_precision: Precision = "fp32"
    """In which the original computes its answers."""

    @property
    def outputs(self) -> list[str]:
        """All that is compared."""
        return [self.output_tensor, *filter(None, [self.features_tensor])]


@dataclass(frozen=True)
class Draft:
    """What was made, and what it has to answer."""

    folder: Path
    facts: NetworkFacts
    images: np.ndarray
    """In the layout that the network takes."""
    reference: Mapping[str, np.ndarray]
    """The original's answers to these images by the names of outputs, and its heat maps."""
    versions: dict[str, str]


def answers_of(
    path: Path, runtime: RuntimeName, images: np.ndarray, outputs: Sequence[str]
) -> dict[str, np.ndarray]:
    """What a network answers, asked with one image and with two at a time as a server does."""
    batches = np.split(images, range(1, len(images), 2))
    with closing(load_network(path, runtime, Resources())) as network:
        parts = [network.run(batch, outputs) for batch in batches]
    return {name: np.concatenate([part[name] for part in parts]) for name in outputs}


@dataclass(frozen=True)
class Agreement:
    """How far the answers of two networks to the same images are apart."""

    images: int
    kind: Literal["scores", "probabilities"]
    largest_difference: float
    """Between two numbers that should be the same."""
    allowed_difference: float | None
    """None for eight bits, of which labels decide."""
    same_labels: int
    """For how many images the highest number is that of the same class."""
    is_conclusive: bool = True
    """Whether the original answers them differently: a network that never looks would agree."""

    def __str__(self) -> str:
        text = (
            f"the same label for {self.same_labels} of {self.images} images, {self.kind} that "
            f"differ by {self.largest_difference:.2g} at most"
        )
        return text if self.is_conclusive else f"{text} ({SHOWS_LITTLE})"


@dataclass(frozen=True)
class ConvertedNetwork(PackedNetwork):
    """A network's files in a folder, once they answer what the original answers."""

    agreement: Agreement


class ConversionError(PrumoError):
    """A network cannot be converted, with the reason."""


class DisagreementError(ConversionError):
    """A converted network does not answer what the original answers."""


def require_agreement(draft: Draft, network: NetworkFile) -> Agreement:
    """Refuse a converted network that differs by more than another order of sums explains."""
    facts = draft.facts
    path = draft.folder / network.file
    answers = answers_of(path, network.runtime, draft.images, facts.outputs)
    agreement = _compared(draft, answers[facts.output_tensor], network.precision)
    allowed = agreement.allowed_difference
    if not agreement.largest_difference <= (_ANY_NUMBER if allowed is None else allowed):
        limit = "" if allowed is None else f", where {allowed:.2g} would be allowed"
        raise DisagreementError(
            f"the network for {network.runtime} in {network.precision} does not answer what the "
            f"original answers: {agreement}{limit}. Nothing was written."
        )
    if facts.features_tensor and network.precision == "fp32":
        _require_heat_maps(draft, answers[facts.features_tensor])
    return agreement


def _compared(draft: Draft, answers: np.ndarray, precision: Precision) -> Agreement:
    expected = draft.reference[draft.facts.output_tensor]
    if answers.shape != expected.shape:
        raise DisagreementError(
            f"the converted network gives {answers.shape} numbers for {len(expected)} images, the "
            f"original {expected.shape}. Nothing was written."
        )
    allowed = _allowed(draft, precision)
    labels = _labels(draft, expected)
    return Agreement(
        images=len(expected),
        kind=draft.facts.kind,
        largest_difference=_largest(answers, expected),
        allowed_difference=allowed,
        same_labels=int(np.sum(_labels(draft, answers) == labels)),
        is_conclusive=bool((labels != labels[0]).any())
        if allowed is None
        else float(np.ptp(expected, axis=0).max()) > allowed,
    )


def _allowed(draft: Draft, precision: Precision) -> float | None:
    if precision not in _ALLOWED:
        return None
    share = max(_ALLOWED[precision], _ALLOWED.get(draft.facts.original_precision, 0.0))
    largest = np.abs(draft.reference[draft.facts.output_tensor]).max()
    return share * max(1.0, float(largest))


def _require_heat_maps(draft: Draft, features: np.ndarray) -> None:
    path = draft.folder / HEAT_MAP_FILE
    maps = answers_of(path, "onnxruntime", features, [HEAT_MAP_TENSOR])[HEAT_MAP_TENSOR]
    difference = _largest(maps, draft.reference[HEAT_MAP_TENSOR])
    if not difference <= _ALLOWED_HEAT:
        raise DisagreementError(
            f"the converted heat maps differ by {difference:.2g} from the original's, where "
            f"{_ALLOWED_HEAT:g} would be allowed. Nothing was written."
        )


def _largest(answers: np.ndarray, expected: np.ndarray) -> float:
    """Not a number where one of the two has numbers that are none."""
    return float(np.abs(answers.astype(np.float64) - expected).max())


def _labels(draft: Draft, answers: np.ndarray) -> np.ndarray:
    if answers.shape[1] == 1:
        return np.asarray(answers[:, 0] >= _MIDDLE[draft.facts.kind])
    return np.asarray(answers.argmax(axis=1))


def settled(
    draft: Draft, target: RuntimeName, precision: Precision, folder: Path, progress: Progress
) -> ConvertedNetwork:
    """Compare a draft's network with the original, and then put it into a folder."""
    network = NetworkFile(file=NETWORK_FILES[target], runtime=target, precision=precision)
    progress.show("comparing the answers of both networks")
    agreement = require_agreement(draft, network)
    if agreement.allowed_difference is not None:
        progress.say(f"{network.runtime} in {network.precision} beside the original: {agreement}")
    facts = draft.facts
    if facts.without_heat_map:
        progress.say(f"there will be no heat maps: {facts.without_heat_map}")
    return ConvertedNetwork(
        network=network,
        interface=facts,
        versions=draft.versions,
        heat_map=_moved(draft, network, folder),
        agreement=agreement,
    )


def _moved(draft: Draft, network: NetworkFile, folder: Path) -> HeatMap | None:
    """Move the files; how heat maps are made, if they can be."""
    features = draft.facts.features_tensor
    names = [network.file, *_BESIDE.get(network.runtime, [])]
    try:
        for name in [*names, HEAT_MAP_FILE] if features else names:
            (draft.folder / name).rename(folder / name)
    except OSError as error:
        raise StorageError.on_writing(folder, error) from error
    if not features:
        return None
    heat_map = NetworkFile(file=HEAT_MAP_FILE, runtime="onnxruntime")
    return HeatMap(features=features, network=heat_map)


@dataclass(frozen=True)
class Difference:
    """What became of the answers to some images."""

    images: int
    changed: int
    """Images with another label."""
    largest: float
    """Of all differences between probabilities of the same label."""
    mean: float
    labels: int
    """How many different ones the original gives."""

    def __str__(self) -> str:
        text = (
            f"{self.changed} of {self.images} images have another label; probabilities differ by "
            f"at most {self.largest:.2g}, {self.mean:.2g} in the mean"
        )
        return text if self.labels > 1 else f"{text} ({SHOWS_LITTLE})"


def answer_difference(
    original: Package, other: Package, images: Iterable[np.ndarray]
) -> Difference:
    """Ask two networks that take the same tensors about batches of images."""
    changed, differences, labels = 0, [], set()
    with closing(_network(original)) as first, closing(_network(other)) as second:
        for batch in images:
            befores, afters = _answers(original, first, batch), _answers(other, second, batch)
            for before, after in zip(befores, afters, strict=True):
                changed += before.place != after.place
                labels.add(before.place)
                differences.append(np.abs(np.subtract(before.probabilities, after.probabilities)))
    if not differences:
        raise InputError("there is no image to compare the networks' answers with")
    table = np.array(differences)
    return Difference(len(table), changed, float(table.max()), float(table.mean()), len(labels))


def require_few_changes(difference: Difference, precision: Precision) -> None:
    """Refuse a network that is shown to answer too many images otherwise, chance allowed for."""
    low, _ = wilson_interval(difference.changed / difference.images, difference.images)
    if low > MOST_CHANGED_SHARE:
        raise InputError(
            f"the {precision} network is too far from the original: {difference}. That is more "
            f"than {MOST_CHANGED_SHARE:.0%}, and not by chance (95 % interval). Nothing was "
            f"written. {_WAYS_OUT}"
        )


def _network(package: Package) -> LoadedNetwork:
    return load_network(package.network_path, package.manifest.network.runtime, Resources())


def _answers(package: Package, network: LoadedNetwork, batch: np.ndarray) -> list[Answer]:
    manifest: Manifest = package.manifest
    rows = network.run(batch, [manifest.output.tensor])[manifest.output.tensor]
    task = task_named(manifest.task)
    return [task.answer(manifest, row, JUDGED) for row in rows]
