"""How well each method finds the fundus in good and in faulty photographs.

    python -m benchmarks.retina_fundus [FOLDER OF PHOTOGRAPHS]

Drawn photographs are compared with the truth. Nobody has drawn the circles of real ones: there, a
method is compared with its own circle in the untouched photograph, moved along with the fault.
Limit: with every fault, the default method finds as many as the other.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, get_args

from benchmarks.circle_overlap import intersection_over_union
from benchmarks.fundus_examples import drawn, given_folder, photographs_in
from benchmarks.fundus_faults import FAULTS
from prumo_retina.fundus.choices import Method
from prumo_retina.fundus.circle import Circle
from prumo_retina.fundus.find import find_fundus
from prumo_retina.fundus.preparation import Preparation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np

METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT: Method = Preparation().method
FOUND_FROM = 0.95
"""From this intersection over union on, a fundus counts as found."""
TOLERANCE = 0.01
"""Of the share that is found, within which methods count as equally good."""


@dataclass(frozen=True)
class Example:
    """A good photograph and the circle that each method should find in it."""

    pixels: np.ndarray
    scale: float
    truth: dict[Method, Circle]


def main(arguments: Sequence[str] = ()) -> int:
    folder = given_folder(__doc__, arguments)
    examples = list(of_folder(folder) if folder else of_drawings())
    if not examples:
        return 1
    print(f"{len(examples)} photographs: median intersection over union, share above {FOUND_FROM}")
    print("| fault | " + " | ".join(METHODS) + " |")
    print("|---|" + "---|" * len(METHODS))
    is_worse = False
    for fault in FAULTS:
        overlaps = {
            method: [overlap(each, fault, method) for each in examples] for method in METHODS
        }
        print(f"| {fault} | " + " | ".join(map(told, overlaps.values())) + " |", flush=True)
        is_worse |= is_default_worse(overlaps)
    return int(is_worse)


def of_drawings() -> Iterator[Example]:
    for one in drawn():
        yield Example(one.pixels, 1.0, dict.fromkeys(METHODS, one.circle))


def of_folder(folder: Path) -> Iterator[Example]:
    for name, one in photographs_in(folder):
        found = {method: find_fundus(one.pixels, method, one.scale) for method in METHODS}
        truth = {method: circle for method, circle in found.items() if circle}
        if len(truth) == len(METHODS):
            yield Example(one.pixels, one.scale, truth)
        else:
            print(f"left out, since not every method finds a fundus: {name}")


def overlap(example: Example, fault: str, method: Method) -> float:
    """Intersection over union of what is found with what should be; 0 when nothing is."""
    faulty = FAULTS[fault](example.pixels, example.truth[DEFAULT])
    found = find_fundus(faulty.pixels, method, example.scale)
    truth = example.truth[method]
    moved = Circle(truth.x - faulty.left, truth.y - faulty.top, truth.radius)
    return intersection_over_union(found, moved) if found else 0.0


def told(overlaps: Sequence[float]) -> str:
    return f"{median(overlaps):.3f}, {100 * found_share(overlaps):.0f} %"


def is_default_worse(overlaps: dict[Method, list[float]]) -> bool:
    shares = {method: found_share(values) for method, values in overlaps.items()}
    return shares[DEFAULT] < max(shares.values()) - TOLERANCE


def found_share(overlaps: Sequence[float]) -> float:
    return sum(value >= FOUND_FROM for value in overlaps) / len(overlaps)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
