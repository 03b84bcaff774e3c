"""Under which conditions each run ran: machine, versions, data, noise, what watching it cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.study.parameters import MACHINE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.results.record import RunRecord

STATED: dict[str, pl.DataType | type[pl.DataType]] = {
    "run": pl.String,
    "scenario": pl.String,
    "wall_seconds": pl.Float64,
    "machine": pl.String,
    "machine_level": pl.String,
    "cores": pl.Int64,
    "device": pl.String,
    "threads": pl.Int64,
    "settings": pl.String,
    "versions": pl.String,
    "data_source": pl.String,
    "data_content": pl.String,
    "imported": pl.Boolean,
    "samples": pl.Int64,
    "sampler_cpu_seconds": pl.Float64,
    "anomalies": pl.List(pl.String),
}
SAMPLED = ("cpu_percent_mean", "tree_cpu_percent_mean", "steal_percent_mean")


def conditions_of(records: Iterable[RunRecord], usage: pl.DataFrame) -> pl.DataFrame:
    """One row per run; null where neither the run nor its samples say."""
    stated = pl.DataFrame([_stated(record) for record in records], STATED)
    sampled = usage.select(
        "run",
        *(
            pl.col(name) if name in usage.columns else pl.lit(None, pl.Float64).alias(name)
            for name in SAMPLED
        ),
    )
    return stated.join(sampled, on="run", how="left", maintain_order="left")


def machine_name(machine: dict[str, Any]) -> str | None:
    """One line that is the same for two runs when they ran on the same machine."""
    cpu, memory = _part(machine, "cpu"), _part(machine, "memory")
    host = _part(machine, "host")
    words = [cpu.get("model"), cpu.get("architecture")]
    facts = [next((str(word) for word in words if word), "")]
    if cores := cpu.get("logical_cores"):
        facts.append(f"{cores} cores")
    if total := memory.get("total_bytes"):
        facts.append(f"{total / 2**30:.0f} GiB")
    # A container's name is new every time it starts, so it says nothing of the machine.
    name = "" if host.get("container") else str(host.get("name") or "")
    described = ", ".join(fact for fact in facts if fact)
    return ": ".join(text for text in (name, described) if text) or None


def versions_text(versions: dict[str, str]) -> str:
    """Names and versions on one line, in the order in which the run named them.

    >>> versions_text({"torch": "2.4.0", "python": "3.12.4"})
    'torch 2.4.0, python 3.12.4'
    """
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _stated(record: RunRecord) -> dict[str, Any]:
    level = next((record.factors[name] for name in MACHINE_NAMES if name in record.factors), "")
    source = record.data.get("source")
    sampler = record.sampler
    return {
        "run": record.run,
        "scenario": record.scenario,
        "wall_seconds": record.wall_seconds,
        "machine": machine_name(record.machine),
        "machine_level": str(level),
        "cores": _part(record.machine, "cpu").get("logical_cores"),
        "device": record.device or None,
        "threads": record.threads,
        "settings": json.dumps(record.settings, sort_keys=True) if record.settings else None,
        "versions": versions_text(dict(sorted(record.versions.items()))) or None,
        "data_source": None if source is None else str(source),
        "data_content": str(record.data.get("content") or "") or None,
        "imported": bool(record.imported),
        "samples": sampler.samples if sampler else None,
        "sampler_cpu_seconds": sampler.cpu_seconds if sampler else None,
        "anomalies": record.anomalies,
    }


def _part(machine: dict[str, Any], name: str) -> dict[str, Any]:
    part = machine.get(name)
    return part if isinstance(part, dict) else {}
