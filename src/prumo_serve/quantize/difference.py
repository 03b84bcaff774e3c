"""How far the answers of a network with smaller numbers are from the original's."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import InputError
from prumo_serve.convert.agreement import SHOWS_LITTLE
from prumo_serve.estimates import wilson_interval
from prumo_serve.runtimes import Resources, load_network
from prumo_serve.task import PreparedImage, answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo_serve.manifest import Manifest, Precision
    from prumo_serve.package import Package
    from prumo_serve.runtimes import LoadedNetwork
    from prumo_serve.task import Answer

MOST_CHANGED_SHARE = 0.05
"""Ours: a network that answers one image in twenty otherwise is another network."""
_WAYS_OUT = (
    "Try a precision with more bits, give more calibration images of the kind that the model will "
    "see, or take it as it is with --accept-difference and judge it with `prumo model compare`."
)
# An answer needs nothing of an image that can be judged.
_JUDGED = PreparedImage(None, None, 0, 0)


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

    @property
    def changed_share(self) -> float:
        """From 0 to 1."""
        return self.changed / self.images

    def __str__(self) -> str:
        told = (
            f"{self.changed} of {self.images} images have another label; probabilities differ by "
            f"at most {self.largest:.2g}, {self.mean:.2g} in the mean"
        )
        return told if self.labels > 1 else f"{told} ({SHOWS_LITTLE})"


def answer_difference(
    original: Package, other: Package, images: Iterable[np.ndarray]
) -> Difference:
    """Ask two networks that take the same tensors about batches of images.

    Raises:
        InputError: There is no image.
        ScoresError: A network's answer is none, such as one that is not a number.
    """
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


def require_agreement(difference: Difference, precision: Precision) -> None:
    """Refuse a network that is shown to answer too many images otherwise, chance allowed for."""
    if _least_changed_share(difference) > MOST_CHANGED_SHARE:
        raise InputError(
            f"the {precision} network is too far from the original: {difference}. That is more "
            f"than {MOST_CHANGED_SHARE:.0%}, and not by chance (95 % interval). Nothing was "
            f"written. {_WAYS_OUT}"
        )


def _least_changed_share(difference: Difference) -> float:
    """The low end of the interval for all images such as these."""
    low, _ = wilson_interval(difference.changed_share, difference.images)
    return low


def _network(package: Package) -> LoadedNetwork:
    return load_network(package.network_path, package.manifest.network.runtime, Resources())


def _answers(package: Package, network: LoadedNetwork, batch: np.ndarray) -> list[Answer]:
    manifest: Manifest = package.manifest
    rows = network.run(batch, [manifest.output.tensor])[manifest.output.tensor]
    return [answer(manifest, row, _JUDGED) for row in rows]
