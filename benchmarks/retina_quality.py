"""What verdict photographs get that were good and are degraded on purpose, a little or a lot.

    python -m benchmarks.retina_quality [FOLDER OF PHOTOGRAPHS]

Only photographs that are good untouched are degraded; the others are told with their reasons.
Limit: 95 % stay good after what does no harm, and 95 % do not after what does. What lies between
the two has none.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import cv2

from benchmarks.fundus_examples import drawn, given_folder, photographs_in
from benchmarks.fundus_faults import (
    FAULTS,
    Faulty,
    blurred_by,
    grain_in_fundus,
    grain_of,
    light_times,
    noise_alone,
    out_of_frame,
)
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_retina.fundus.prepared import prepared
from prumo_retina.photograph.pixels import Photograph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from benchmarks.fundus_faults import Fault
    from prumo_retina.fundus.circle import Circle

    Example = tuple[np.ndarray, Circle]

LIMIT = 0.95
WITHOUT_PIXELS = {Verdict.MISSING, Verdict.UNREADABLE}
VERDICTS = [verdict for verdict in reversed(Verdict) if verdict not in WITHOUT_PIXELS]


def _halved(pixels: np.ndarray, _circle: Circle) -> Faulty:
    return Faulty(cv2.resize(pixels, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA))


def _blurred_and_grainy(pixels: np.ndarray, circle: Circle) -> Faulty:
    """A sensor's grain is sharp in a photograph out of focus too."""
    return grain_of(4)(blurred_by(0.02)(pixels, circle).pixels, circle)


HARMLESS: dict[str, Fault] = {
    "half the size": _halved,
    "half the light": light_times(1 / 2),
    "strongly compressed": FAULTS["strongly compressed"],
    "grain of 4 levels": grain_of(4),
    "letters in corners": FAULTS["letters in corners"],
    "blur of 0.5 % of the radius": blurred_by(0.005),
    "10 % of the diameter out of frame": out_of_frame(0.1),
    "20 % of the diameter out of frame": out_of_frame(0.2),
}
BETWEEN: dict[str, Fault] = {
    "a quarter of the light": light_times(1 / 4),
    "1.5 times the light": light_times(1.5),
    "twice the light": light_times(2),
    "grain of 12 levels": FAULTS["grain"],
    "grain of 20 levels": grain_of(20),
    "blur of 1 % of the radius": blurred_by(0.01),
    "30 % of the diameter out of frame": out_of_frame(0.3),
}
HARMFUL: dict[str, Fault] = {
    "an eighth of the light": light_times(1 / 8),
    "four times the light": light_times(4),
    "blur of 2 % of the radius": blurred_by(0.02),
    "the same with grain of 4 levels": _blurred_and_grainy,
    "blur of 3 % of the radius": blurred_by(0.03),
    "grain of 40 levels": grain_of(40),
    "the same in the fundus alone": grain_in_fundus(40),
    "grain of 100 levels in the fundus": grain_in_fundus(100),
    "nothing but noise": noise_alone,
    "40 % of the diameter out of frame": out_of_frame(0.4),
}


def main(arguments: Sequence[str] = ()) -> int:
    folder = given_folder(__doc__, arguments)
    good = list(good_ones(photographs_in(folder) if folder else drawn_photographs()))
    print(f"{len(good)} photographs that are good untouched: verdicts on them when degraded")
    print("| fault | " + " | ".join(VERDICTS) + " |")
    print("|---|" + "---|" * len(VERDICTS))
    is_missed = not good
    for name, fault in (HARMLESS | BETWEEN | HARMFUL).items():
        counts = Counter(verdict_on(example, fault) for example in good)
        print(
            f"| {name} | " + " | ".join(str(counts[each]) for each in VERDICTS) + " |", flush=True
        )
        is_missed |= is_limit_missed(name, counts)
    return int(is_missed)


def drawn_photographs() -> Iterator[tuple[str, Photograph]]:
    for number, one in enumerate(drawn(), start=1):
        yield f"drawing {number}", _whole(one.pixels)


def good_ones(photographs: Iterable[tuple[str, Photograph]]) -> Iterator[Example]:
    """The pixels of those that are good, with their circles; the others are told."""
    for name, photograph in photographs:
        found = prepared(photograph, Preparation())
        if found.circle and found.quality.verdict.is_gradable:
            yield photograph.pixels, found.circle.scaled(photograph.scale)
        else:
            print(f"left out: {name}: {found.quality.verdict}: {found.quality.reason}")


def verdict_on(example: Example, fault: Fault) -> Verdict:
    return prepared(_whole(fault(*example).pixels), Preparation()).quality.verdict


def is_limit_missed(fault: str, counts: Counter[Verdict]) -> bool:
    good, total = counts[Verdict.GOOD], counts.total()
    if fault in HARMLESS:
        return good < LIMIT * total
    return fault in HARMFUL and total - good < LIMIT * total


def _whole(pixels: np.ndarray) -> Photograph:
    height, width = pixels.shape[:2]
    return Photograph(pixels, width, height)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
