"""How quiet the machine was before the runs, as facts beside the machine's name."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from prumo.message import Message
from prumo.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prumo.results.record import RunRecord

DIGITS = 2
MEASURES = (
    ("load_average", Message("load average"), ""),
    ("steal_percent", Message("processor time taken by the host"), "%"),
    ("pressure_cpu_percent", Message("time in which tasks waited for a processor"), "%"),
    ("pressure_io_percent", Message("time in which tasks waited for a disk"), "%"),
)


def noise_facts(records: Sequence[RunRecord]) -> list[Message]:
    """What others took of the machine just before each run, and how steady the machine was."""
    before = [_part(record.machine, "noise_before") for record in records]
    facts = []
    for name, title, unit in MEASURES:
        if found := _numbers(noise.get(name) for noise in before):
            facts.append(
                Message(
                    "{measure}: {middle} before the typical run, {most} before the worst",
                    {
                        "measure": title,
                        "middle": Quantity(median(found), unit, DIGITS),
                        "most": Quantity(max(found), unit, DIGITS),
                    },
                )
            )
    steady = [_part(_part(record.machine, "noise"), "steadiness") for record in records]
    if spreads := _numbers(part.get("variation_percent") for part in steady):
        facts.append(
            Message(
                "a fixed piece of work, repeated, took times that vary by {percent:.2g} %",
                {"percent": max(spreads)},
            )
        )
    return facts


def _part(facts: dict[str, Any], name: str) -> dict[str, Any]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _numbers(values: Iterable[object]) -> list[float]:
    return [float(value) for value in values if isinstance(value, (int, float))]
