"""Real trainings on a busy machine of two cores: 24 scenarios of the UFRPE study, five times."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.forecast.observation import Kind, Observation, Subject, Work, training_work
from prumo_worker.data import CATALOG
from prumo_worker.networks import network

if TYPE_CHECKING:
    from collections.abc import Hashable

FILE = Path(__file__).parent.parent / "forecast" / "cpu_trainings.csv"
RUNS = 5


@dataclass(frozen=True)
class Measured:
    """A scenario with all its runs."""

    name: str
    kind: Kind
    place: Hashable
    work: Work
    runs: tuple[Observation, ...]

    def subject(self, replications: int = RUNS) -> Subject:
        return Subject(self.name, self.kind, self.place, replications, {}, self.work)


def measured_trainings() -> list[Measured]:
    """The scenarios in their order."""
    found: dict[tuple[str, ...], list[Observation]] = {}
    for row in csv.DictReader(FILE.read_text("utf-8").splitlines()):
        names = (row["framework"], row["dataset"], row["image_size"], row["network"])
        work = _work(*names[1:])
        observation = Observation(
            kind=Kind(framework=row["framework"]),
            place=(row["network"], work.flops),
            wall_seconds=float(row["wall_seconds"]),
            work=work,
            train_seconds=float(row["train_seconds"]),
            warmup_seconds=float(row["warmup_seconds"]),
        )
        found.setdefault(names, []).append(observation)
    return [
        Measured(f"C{number}", runs[0].kind, runs[0].place, _work(*names[1:]), tuple(runs))
        for number, (names, runs) in enumerate(found.items(), start=1)
    ]


def _work(dataset: str, image_size: str, name: str) -> Work:
    card = CATALOG[dataset]
    net = network(name, int(image_size), card.channels, card.classes)
    return training_work(net, images=256, batch_size=128, epochs=1, warmup_steps=3)
