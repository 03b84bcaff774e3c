"""Under which conditions each run ran: machine, data, what watching it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.results.record import RunRecord

MACHINE_FACTORS = ("machine", "environment")
SCHEMA = {
    "run": pl.String,
    "machine": pl.String,
    "machine_level": pl.String,
    "cores": pl.Int64,
    "data_source": pl.String,
    "samples": pl.Int64,
    "sampler_cpu_seconds": pl.Float64,
}


def conditions_of(records: Iterable[RunRecord]) -> pl.DataFrame:
    """One row per run; null where a run does not say."""
    return pl.DataFrame([_conditions(record) for record in records], SCHEMA)


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


def _conditions(record: RunRecord) -> dict[str, Any]:
    level = next((record.factors[name] for name in MACHINE_FACTORS if name in record.factors), "")
    source = record.data.get("source")
    sampler = record.sampler
    return {
        "run": record.run,
        "machine": machine_name(record.machine),
        "machine_level": str(level),
        "cores": _part(record.machine, "cpu").get("logical_cores"),
        "data_source": None if source is None else str(source),
        "samples": sampler.samples if sampler else None,
        "sampler_cpu_seconds": sampler.cpu_seconds if sampler else None,
    }


def _part(machine: dict[str, Any], name: str) -> dict[str, Any]:
    part = machine.get(name)
    return part if isinstance(part, dict) else {}
