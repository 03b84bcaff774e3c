"""Results folders as `prumo run` would leave them, with numbers that a small network would give."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from typing import TYPE_CHECKING, Any

from prumo.money.billing import Rate
from prumo.money.price import Kind, Purchase, Unit
from prumo.money.study_prices import Prices, write_prices

if TYPE_CHECKING:
    from pathlib import Path

FACTORS: dict[str, list[Any]] = {
    "framework": ["pytorch", "tensorflow"],
    "batch_size": [32, 64],
}
SPEED = {"pytorch": 1.0, "tensorflow": 1.3, "mxnet": 0.9, "caffe": 2.1}
# How much longer than `rede1` on a CPU it takes, by any other level.
EFFORT = {"gpu": 0.07, "rede2": 1.8, "alexnet": 9.0, "googlenet": 21.0}
MACHINE = {
    "host": {"name": "bench-1", "system": "Debian 12", "kernel": "6.1.0", "container": None},
    "cpu": {"model": "Xeon E5-2690 v4", "architecture": "x86_64", "logical_cores": 8},
    "memory": {"total_bytes": 32 * 2**30},
    "gpus": {"devices": [], "driver_version": None, "missing": "no driver"},
}


@dataclass
class ResultFactory:
    """Writes run folders below `path`; what a test is about is given, the rest is plausible."""

    path: Path
    study: str = "demo"
    factors: dict[str, list[Any]] = field(default_factory=lambda: FACTORS)
    noise: float = 0.02
    seed: int = 1
    machine: dict[str, Any] = field(default_factory=lambda: MACHINE)
    data_source: str = "/data/mnist"
    epochs: int = 4
    samples: int = 20
    gpu: bool = False
    steps_per_epoch: int = 5

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._order = 0
        (self.path / "runs").mkdir(parents=True)

    def study_of(self, replications: int) -> ResultFactory:
        """Every scenario, this often, in rounds; with the study's own files."""
        self.write_study(replications)
        for replication in range(1, replications + 1):
            for number, levels in enumerate(self.scenarios(), start=1):
                self.run(number, replication, levels)
        return self

    def price(self, usd_per_hour: dict[str, float]) -> ResultFactory:
        """Keep a price for each machine, as `prumo reprice` would; the empty name is for all."""
        rates = {
            machine: Rate(
                price=f"azure/{machine or 'any'}@eastus",
                kind=Kind.MACHINE,
                purchase=Purchase.ON_DEMAND,
                amount=amount,
                unit=Unit.HOUR,
                currency="USD",
                billing="exact",
                as_of=date(2026, 11, 1),
                source="a test",
            )
            for machine, amount in usd_per_hour.items()
        }
        write_prices(self.path, Prices(made=date(2026, 11, 2), rates=rates))
        return self

    def scenarios(self) -> list[dict[str, Any]]:
        names = list(self.factors)
        return [dict(zip(names, levels, strict=True)) for levels in product(*self.factors.values())]

    def write_study(self, replications: int) -> None:
        study = {
            "name": self.study,
            "description": "How long one network trains.",
            "workload": {"kind": "training"},
            "factors": self.factors,
            "fixed": {"network": "rede1", "dataset": "mnist", "epochs": self.epochs},
            "replications": replications,
        }
        # JSON is YAML too.
        (self.path / "study.yaml").write_text(json.dumps(study))
        (self.path / "plan.json").write_text(json.dumps({"seed": 1, "order": "interleaved"}))

    def run(
        self,
        number: int,
        replication: int,
        levels: dict[str, Any],
        **record: Any,
    ) -> Path:
        """One run; fields of run.json can be set by name."""
        self._order += 1
        train_seconds = self._train_seconds(levels)
        name = f"C{number:02d}-r{replication}"
        folder = self.path / "runs" / name
        folder.mkdir(parents=True)
        finished = record.get("verdict", "finished") == "finished"
        images = 10_000 * self.epochs
        content = {
            "format": 1,
            "run": name,
            "scenario": f"C{number}",
            "replication": replication,
            "study": self.study,
            "factors": levels,
            "parameters": {**levels, "network": "rede1", "dataset": "mnist", "learning_rate": 0.01},
            "fingerprint": f"{number:08x}",
            "verdict": "finished",
            "reason": "",
            "notes": [],
            "started": f"2026-11-15T12:{self._order // 60 % 60:02d}:{self._order % 60:02d}+00:00",
            "wall_seconds": train_seconds + 3.2,
            "order": self._order,
            "exit_code": 0,
            "signal": None,
            "metrics": {
                "train_seconds": train_seconds,
                "seconds_per_epoch": train_seconds / self.epochs,
                "images_per_second": images / train_seconds,
                "step_seconds_median": train_seconds / self.epochs / 300,
                "images": images,
                "loss": 0.31 + self._random.gauss(0, 0.01),
                "accuracy": 0.94,
            }
            if finished
            else {},
            "machine": self.machine,
            "versions": {str(levels.get("framework", "pytorch")): "2.4.0", "python": "3.12.4"},
            "build": {},
            "data": {
                "source": self.data_source,
                "images": 10_000,
                "shape": [1, 28, 28],
                "classes": 10,
            },
            "network": {"name": "rede1", "parameters": 431_080, "flops": 2_293_000},
            "environment": {"name": "pytorch-2.4.0", "packages": {"numpy": "2.1.0"}},
            "sampler": {
                "samples": self.samples,
                "period_seconds": 1.0,
                "cpu_seconds": 0.0004 * train_seconds,
                "memory_bytes": 19_000_000,
            },
            **record,
        }
        (folder / "run.json").write_text(json.dumps(content))
        self._write_samples(folder, train_seconds, on_gpu=self.gpu and "cpu" not in levels.values())
        if finished:
            self._write_events(folder, train_seconds)
        return folder

    def _train_seconds(self, levels: dict[str, Any]) -> float:
        speed = SPEED.get(str(levels.get("framework")), 1.0)
        batch = float(levels.get("batch_size", 64))
        size = float(levels.get("image_size", 28)) / 28
        effort = math.prod(EFFORT.get(str(level), 1.0) for level in levels.values())
        ideal: float = 20 * speed * effort * size**1.5 * (1 + 12 / batch)
        return ideal * math.exp(self._random.gauss(0, self.noise))

    def _write_samples(self, folder: Path, seconds: float, *, on_gpu: bool) -> None:
        columns = ["time", "seconds", "cpu_percent", "tree_cpu_percent", "memory_percent"]
        columns += ["tree_rss_bytes", "swap_bytes", "steal_percent"]
        if on_gpu:
            columns += ["gpu0_percent", "gpu0_memory_percent", "gpu0_power_watts"]
        lines = [",".join(columns)]
        for place in range(self.samples):
            share = place / max(1, self.samples - 1)
            cpu = 20 + 65 * min(1.0, 4 * share) + self._random.gauss(0, 2)
            row = [1.7e9 + share * seconds, share * seconds, cpu, 8 * cpu - 8]
            row += [30 + 10 * share, (400 + 200 * share) * 2**20, 0, 0.1]
            if on_gpu:
                row += [70 + self._random.gauss(0, 3), 40, 180]
            lines.append(",".join(f"{value:.3f}" for value in row))
        (folder / "samples.csv").write_text("\n".join(lines) + "\n")

    def _write_events(self, folder: Path, seconds: float) -> None:
        events: list[dict[str, Any]] = [{"event": "started", "pid": 7}]
        events += [{"event": "step", "epoch": 0, "step": 1, "seconds": 0.9, "loss": 2.4}]
        for epoch in range(1, self.epochs + 1):
            for step in range(1, self.steps_per_epoch + 1):
                loss = 2.3 * math.exp(-0.5 * (epoch - 1 + step / self.steps_per_epoch))
                events.append(
                    {"event": "step", "epoch": epoch, "step": step, "seconds": 0.05, "loss": loss}
                )
            events.append(
                {
                    "event": "epoch",
                    "epoch": epoch,
                    "seconds": seconds / self.epochs,
                    "images": 10_000,
                    "loss": 2.3 * math.exp(-0.5 * epoch),
                    "accuracy": 1 - 0.5 * math.exp(-0.5 * epoch),
                }
            )
        events.append({"event": "finished"})
        lines = [json.dumps({**event, "time": 1.7e9}) for event in events]
        (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
