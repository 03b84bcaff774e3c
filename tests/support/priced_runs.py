"""Tables of runs and rates for tests about money."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.money.billing import Rate, rate_of
from prumo.money.price import Price, Purchase
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

MACHINES = {
    "cpu": {"device": "cpu", "price": "azure/Standard_F4s_v2@eastus"},
    "gpu": {"device": "cuda", "price": "azure/Standard_NC4as_T4_v3@eastus"},
}


def price(on_demand: float | None, **changes: Any) -> Price:
    """A machine of no provider that Prumo knows, so that its time is billed exactly."""
    fields: dict[str, Any] = {
        "provider": "lab",
        "sku": "box",
        "region": "here",
        "on_demand": on_demand,
        "as_of": date(2026, 11, 1),
        "source": "a quote",
    }
    return Price(**fields | changes)


def rate(per_hour: float, **changes: Any) -> Rate:
    return rate_of(price(per_hour, **changes), Purchase.ON_DEMAND)


def runs_of(seconds: dict[str, list[float]], **columns: Any) -> pl.DataFrame:
    """Finished runs of scenarios with these training times."""
    flat = [(name, time) for name, times in seconds.items() for time in times]
    return pl.DataFrame(
        {
            "run": [f"{name}-r{place}" for place, (name, _) in enumerate(flat)],
            "scenario": [name for name, _ in flat],
            "verdict": ["finished"] * len(flat),
            "wall_seconds": [time + 30 for _, time in flat],
            "train_seconds": [time for _, time in flat],
            **columns,
        }
    )


class MachineResults(ResultFactory):
    """Runs on a CPU and on a GPU that is ten times faster, as the published study has them."""

    def _train_seconds(self, levels: dict[str, Any]) -> float:
        others = {name: level for name, level in levels.items() if name != "machine"}
        return super()._train_seconds(others) * (1000 if levels["machine"] == "cpu" else 100)


def machine_results(path: Path, machines: dict[str, Any] | None = None, **study: Any) -> Path:
    """A results folder of two machines and two frameworks, whose study names these machines."""
    factors = {"machine": ["cpu", "gpu"], "framework": ["pytorch", "tensorflow"]}
    MachineResults(path, factors=factors, noise=0.005).study_of(3)
    file = path / "study.yaml"
    content = json.loads(file.read_text()) | {"machines": machines or MACHINES} | study
    file.write_text(json.dumps(content))
    return path
