"""Results folders of studies of requests, made from times that a test gives."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prumo.results.folder import write_results
from prumo_endpoint.load.request_table import REQUESTS_FILE, RequestTable, figures
from prumo_endpoint.load.sent import Sent
from support.record_factory import run_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """One run: which experiment on which machine, and how long its answers took."""

    machine: str
    experiment: str
    seconds: Sequence[float]
    network: str = "vgg19"
    metrics: Mapping[str, float] = field(default_factory=dict)
    region: str = ""

    @property
    def is_cold(self) -> bool:
        return self.experiment == "cold-start"


def write_request_results(
    path: Path,
    runs: Sequence[Asked],
    prices: Mapping[str, str],
    **sections: Any,
) -> None:
    """A folder with a run of each scenario; every machine of `prices` is in the study."""
    regions = list(dict.fromkeys(run.region for run in runs))
    machines = list(dict.fromkeys(run.machine for run in runs))
    study: dict[str, Any] = {
        "name": "asked",
        "workload": {"kind": "requests"},
        "factors": {
            "experiment": list(dict.fromkeys(run.experiment for run in runs)),
            "network": list(dict.fromkeys(run.network for run in runs)),
            "machine": machines,
            **({"region": regions} if all(regions) else {}),
        },
        "fixed": {
            "target": "serverless",
            "address": "serve {network}",
            "rate": 1,
            "goal_seconds": 1,
        },
        "machines": {name: {"price": price} for name, price in prices.items()},
        **sections,
    }
    records, tables = [], {}
    for number, run in enumerate(runs, start=1):
        name = f"C{number:02}-r1"
        tables[name] = file = path.parent / f"{name}.csv"
        rows = _table(file, run).rows
        levels = {"experiment": run.experiment, "network": run.network, "machine": run.machine}
        if run.region:
            levels["region"] = run.region
        records.append(
            run_record(
                name,
                study="asked",
                factors={key: level for key, level in levels.items() if key in study["factors"]},
                parameters=levels,
                metrics=figures(rows) | dict(run.metrics),
                wall_seconds=1000.0,
            )
        )
    write_results(path, json.dumps(study), {}, records)
    for name, file in tables.items():
        file.rename(path / "runs" / name / REQUESTS_FILE)


def _table(file: Path, run: Asked) -> RequestTable:
    with RequestTable(file, [("a.jpg", 100)], starts_on_demand=True) as table:
        for number, seconds in enumerate(run.seconds):
            due = 10.0 * number
            notes = {"boot-id": str(number), "instance": "1", "cold": "1" if run.is_cold else ""}
            table.record(
                Sent(
                    number, 0, due, due, due, due + seconds, due + seconds, status=200, notes=notes
                )
            )
    return table
