"""What weakens amounts: runs that are missing, other computers than those paid for, old prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.message import counted, listed
from prumo.money.lint import MAX_AGE_DAYS
from prumo.report.find_warnings import unreadable_message
from prumo.report.warnings import CostNote
from prumo.study import Imported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from prumo.message import Message
    from prumo.money.billing import Rate
    from prumo.results.tables import Results


def missing_notes(results: Results) -> Iterator[Message]:
    """What the study asks for and no figure is from."""
    if results.unreadable:
        yield unreadable_message([item.path.parent.name for item in results.unreadable])
    runs = results.runs()
    finished = set(runs.filter(pl.col("verdict") == "finished")["scenario"])
    planned = _planned(results)
    missing = [name for name in planned if name not in finished]
    if missing:
        yield CostNote.MISSING_SCENARIOS.message(
            missing=len(missing), planned=counted(len(planned), "scenario"), names=listed(missing)
        )


def core_notes(conditions: pl.DataFrame, rates: Mapping[str, Rate]) -> Iterator[Message]:
    """Runs that are priced as of a machine with more or fewer cores than theirs had."""
    known = conditions.drop_nulls("cores").unique(["scenario", "cores"], maintain_order=True)
    found: dict[tuple[int, Rate], list[str]] = {}
    for scenario, cores in known.select("scenario", "cores").iter_rows():
        rate = rates.get(scenario)
        if rate is not None and rate.vcpus is not None and rate.vcpus != cores:
            found.setdefault((cores, rate), []).append(scenario)
    for (cores, rate), scenarios in found.items():
        yield CostNote.OTHER_CORES.message(
            cores=counted(cores, "core"),
            price=rate.price,
            vcpus=rate.vcpus,
            names=listed(scenarios),
        )


def age_notes(rates: Mapping[str, Rate], day: date) -> Iterator[Message]:
    """Prices that were old already on the day when they were put on the runs."""
    ages = {
        rate.price: (day - rate.as_of).days
        for rate in rates.values()
        if rate.as_of is not None and (day - rate.as_of).days > MAX_AGE_DAYS
    }
    if not ages:
        return
    named = [
        CostNote.OLD_PRICES.part("price", price=price, count=days) for price, days in ages.items()
    ]
    yield CostNote.OLD_PRICES.message(limit=MAX_AGE_DAYS, day=day.isoformat(), names=listed(named))


def _planned(results: Results) -> list[str]:
    study = results.study
    # A published table has the scenarios that it has.
    if study is None or isinstance(study.workload, Imported):
        return results.runs()["scenario"].unique(maintain_order=True).to_list()
    return [scenario.name for scenario in study.scenarios()]
