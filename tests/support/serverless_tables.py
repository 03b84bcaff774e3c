"""Tables in the shape of a published study, made from nothing but its summary figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Latency:
    """Mean seconds of one file's requests."""

    full: float
    prediction: float
    population_deviation: float
    """Of the full latency."""


LATENCIES = {
    "warm-up-MobileNet-1gb": Latency(0.476, 0.17613, 0.02),
    "warm-up-MobileNet-2gb": Latency(0.3614, 0.09248, 0.01),
    "warm-up-MobileNet-3gb": Latency(0.344, 0.07495, 0.01),
    "warm-up-VGG19-1gb": Latency(1.884, 1.5937, 0.03),
    "warm-up-VGG19-2gb": Latency(0.8623, 0.58379, 0.01),
    "warm-up-VGG19-3gb": Latency(0.679, 0.39369, 0.01),
    "cold-start-MobileNet-1gb": Latency(20.67, 9.5, 1.18),
    "cold-start-MobileNet-2gb": Latency(12.48, 5.0, 0.4),
    "cold-start-MobileNet-3gb": Latency(12.46, 5.0, 0.28),
    "cold-start-VGG19-1gb": Latency(17.05, 4.4, 1.0),
    "cold-start-VGG19-2gb": Latency(11.066, 2.3, 0.4),
    "cold-start-VGG19-3gb": Latency(10.45, 2.0, 0.2),
}
# Around the mean, in standard deviations: their own is 1.
PLACES = tuple(place / 2**0.5 for place in (-2, 1, 0, 2, -1, 1, -2, -1, 2, 0))


def write_tables(folder: Path) -> Path:
    """Twelve files, one per experiment, network and memory, with ten requests each."""
    folder.mkdir()
    for name, latency in LATENCIES.items():
        lines = [",requestLatency,predictionLatency,fullLatency"]
        for index, place in enumerate(PLACES):
            full = latency.full + place * latency.population_deviation
            prediction = latency.prediction * (1 + 0.01 * place)
            lines.append(f"{index},{prediction + 0.001!r},{prediction!r},{full!r}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder
