"""The columns of result tables: their names, and the conditions under which each run was made."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.message import Message, Series
from prumo.study.plan import MACHINE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.results.record import RunRecord


IDENTITY_COLUMNS = ("run", "scenario", "replication")
OUTCOME_COLUMNS = ("verdict", "reason", "wall_seconds", "order")
STATISTICS: dict[str, pl.DataType] = {
    "n": pl.Int64(),
    "mean": pl.Float64(),
    "standard_deviation": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "median": pl.Float64(),
    "minimum": pl.Float64(),
    "maximum": pl.Float64(),
    "bootstrap_low": pl.Float64(),
    "bootstrap_high": pl.Float64(),
}
RESERVED = frozenset({*IDENTITY_COLUMNS, *OUTCOME_COLUMNS, "metric", "unit", *STATISTICS})


def free_name(name: str, kind: str, taken: set[str]) -> str:
    """A column name that means one column and is not taken: a factor may be called `order`.

    >>> free_name("order", "factor", {"run", "order"})
    'factor_order'
    """
    # Polars reads `*` and `^…$` as patterns wherever a name can stand, and fills an empty name in.
    while name in taken or re.fullmatch(r"\*?|\^.*\$", name, re.DOTALL):
        name = f"{kind}_{name}"
    taken.add(name)
    return name


STATED: dict[str, pl.DataType | type[pl.DataType]] = {
    "run": pl.String,
    "scenario": pl.String,
    "wall_seconds": pl.Float64,
    "machine": pl.String,
    "machine_level": pl.String,
    "cores": pl.Int64,
    "clock_step_seconds": pl.Float64,
    "device": pl.String,
    "threads": pl.Int64,
    "settings": pl.String,
    "versions": pl.String,
    "data_asked": pl.String,
    "data_source": pl.String,
    "data_content": pl.String,
    "imported": pl.Boolean,
    "samples": pl.Int64,
    "sampler_cpu_seconds": pl.Float64,
    "anomalies": pl.List(pl.String),
}
# What decides which files are read; the size that images are brought to does not.
DATA_PARAMETERS = ("dataset", "images", "only_class")
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


def machine_facts(machine: dict[str, Any]) -> Series:
    """The name of a machine and what it is, for readers of any language."""
    cpu, memory = _part(machine, "cpu"), _part(machine, "memory")
    host = _part(machine, "host")
    facts: list[object] = [word for word in (cpu.get("model"), cpu.get("architecture")) if word][:1]
    if isinstance(cores := cpu.get("logical_cores"), int):
        facts.append(Message("{count} core", {"count": cores}, "{count} cores"))
    if total := memory.get("total_bytes"):
        facts.append(f"{total / 2**30:.0f} GiB")
    # A container's name is new every time it starts, so it says nothing of the machine.
    name = "" if host.get("container") else str(host.get("name") or "")
    described = Series(tuple(facts))
    return Series(tuple(part for part in (name, described) if str(part)), ": ")


def versions_text(versions: dict[str, str]) -> str:
    """Names and versions on one line, in the order in which the run named them.

    >>> versions_text({"torch": "2.4.0", "python": "3.12.4"})
    'torch 2.4.0, python 3.12.4'
    """
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _stated(record: RunRecord) -> dict[str, Any]:
    level = next((record.factors[name] for name in MACHINE_NAMES if name in record.factors), "")
    asked = {name: record.parameters[name] for name in DATA_PARAMETERS if name in record.parameters}
    source = record.data.get("source")
    sampler = record.sampler
    return {
        "run": record.run,
        "scenario": record.scenario,
        "wall_seconds": record.wall_seconds,
        # The same for two runs when they ran on the same machine.
        "machine": str(machine_facts(record.machine)) or None,
        "machine_level": str(level),
        "cores": _part(record.machine, "cpu").get("logical_cores"),
        "clock_step_seconds": _part(record.machine, "host").get("clock_step_seconds"),
        "device": record.device or None,
        "threads": record.threads,
        "settings": json.dumps(record.settings, sort_keys=True) if record.settings else None,
        "versions": versions_text(dict(sorted(record.versions.items()))) or None,
        # The same for two runs when they asked for the same files.
        "data_asked": json.dumps(asked, sort_keys=True, default=str) if asked else None,
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
