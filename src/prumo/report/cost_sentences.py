"""What amounts, prices and comparisons of cost say, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.message import Message, counted, listed
from prumo.money.cost import NOTABLE_ROUNDING, currencies, rounded_runs
from prumo.money.difference import Aspect, machine_ratios
from prumo.money.energy import CO2_OF, grids
from prumo.money.pareto import Standing
from prumo.money.price import Purchase, Unit
from prumo.money.terms import MAX_AGE_DAYS
from prumo.quantity import Quantity
from prumo.report.find_warnings import same_computer_message, unreadable_message
from prumo.report.warnings import CostNote
from prumo.study import Imported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from prumo.money.billing import Exchange, Rate
    from prumo.money.cost import Costing
    from prumo.money.difference import Difference, MachineRatio
    from prumo.money.energy import Grid
    from prumo.money.pareto import ParetoPoint
    from prumo.results.tables import Results

# Below this ratio percents are easier to grasp than times.
TIMES_FROM = 1.5
# A chance from so many draws is not known better than this.
FINEST_PERCENT = 0.1
PURCHASE_WORDS = {Purchase.ON_DEMAND: "on demand", Purchase.SPOT: "spot"}
BILLING_WORDS = {
    "exact": "as used, without rounding",
    "per_second_from_minute": "by the second, a minute at least",
    "whole_minutes": "by whole minutes, the last one dropped",
    "per_second": "by the second",
    "per_millisecond": "by the millisecond",
    "per_request": "by the request",
    "per_gigabyte": "by the GB in and out",
}
UNIT_SYMBOLS = {Unit.HOUR: "h", Unit.SECOND: "s"}
RENTAL = {
    "shared": "A run pays for its own time as a part of a longer rental, without minimum or "
    "rounding.",
    "own": "A machine is rented for each run alone, so its provider's minimum and rounding count.",
}
OTHER_RENTAL = {
    "shared": "A run pays for its own time as a part of a longer rental, without minimum or "
    "rounding. By its provider's rule for a rental of its own, the amount of {runs} would differ "
    "by more than {percent:.0f} %; `rental: own` in the study or `prumo cost --rental own` tells "
    "it.",
    "own": "A machine is rented for each run alone, so its provider's minimum and rounding count, "
    "which changes the amount of {runs} by more than {percent:.0f} %. With `rental: shared` a run "
    "pays for its own time as a part of a longer rental.",
}
PARETO = {
    "front": "By their means, no other that does the same work is both faster and cheaper than "
    "{names}.",
    "dominated": "Clearly neither faster nor cheaper than another that does the same work: "
    "{names}.",
    "open": "These runs cannot show whether some other is both faster and cheaper than {names}.",
}
SPOT = Message(
    "A spot machine can be taken away before a run ends; what a new beginning costs is not counted."
)
TEMPLATES = {
    (Aspect.COST, True, True): "{one} costs {times:.1f} times less than {other}",
    (Aspect.COST, True, False): "{one} costs {percent:.1f} % less than {other}",
    (Aspect.COST, False, True): "{one} costs {times:.1f} times as much as {other}",
    (Aspect.COST, False, False): "{one} costs {percent:.1f} % more than {other}",
    (Aspect.TIME, True, True): "{one} takes {times:.1f} times less time than {other}",
    (Aspect.TIME, True, False): "{one} takes {percent:.1f} % less time than {other}",
    (Aspect.TIME, False, True): "{one} takes {times:.1f} times as long as {other}",
    (Aspect.TIME, False, False): "{one} takes {percent:.1f} % more time than {other}",
}
SAME = {
    Aspect.COST: "All runs of {one} and {other} cost the same.",
    Aspect.TIME: "All runs of {one} and {other} take the same time.",
}
# Of nothing there is no ratio.
NOTHING = {
    (Aspect.COST, True): "As billed, the runs of {one} cost nothing, and those of {other} do.",
    (Aspect.COST, False): "As billed, the runs of {other} cost nothing, and those of {one} do.",
    (Aspect.TIME, True): "As measured, the runs of {one} take no time, and those of {other} do.",
    (Aspect.TIME, False): "As measured, the runs of {other} take no time, and those of {one} do.",
}
UNDECIDED = {
    Aspect.COST: "These runs show no clear difference in cost between {one} and {other}: the "
    "probability that {one} is truly cheaper is {chance}.",
    Aspect.TIME: "These runs show no clear difference in time between {one} and {other}: the "
    "probability that {one} is truly faster is {chance}.",
}


def total_sentences(costing: Costing) -> list[Message]:
    """What all runs took and cost together."""
    total = costing.total()
    if total is None or costing.currency is None:
        return []
    return [
        Message(
            "{runs} together took {time} and cost {amount}.",
            {
                "runs": counted(total.runs, "finished run"),
                "time": Quantity(total.seconds, "s"),
                "amount": Quantity(total.amount, costing.currency),
            },
        )
    ]


def source_sentences(costing: Costing) -> list[Message]:
    """Every price with its date and source, the exchange, and the CO2 of the grid."""
    exact = costing.settings.rental == "shared"
    said = [
        Message("Price: {price}.", {"price": rate_message(rate, exact=exact)})
        for rate in dict.fromkeys(costing.rates.values())
    ]
    if costing.exchange is not None and costing.exchange.base in currencies(costing.rates):
        said.append(Message("Exchange: {rate}.", {"rate": exchange_message(costing.exchange)}))
    if any(name in costing.runs.columns for name in CO2_OF.values()):
        said += [
            Message("Grid: {grid}.", {"grid": grid_message(grid)})
            for grid in grids(costing.rates, costing.settings)
        ]
    return said


def unpriced_sentences(costing: Costing) -> list[Message]:
    """Which scenarios are not among the amounts, where others are."""
    missing = costing.unpriced()
    if not missing:
        return []
    return [Message("Without a price, and so without a cost: {names}.", {"names": listed(missing)})]


def cost_remarks(costing: Costing) -> list[Message]:
    """What a reader of the amounts must know."""
    return [*_billing_remarks(costing), *weakening_remarks(costing)]


def weakening_remarks(costing: Costing) -> list[Message]:
    """What weakens the amounts of a results folder: missing runs, other computers, old prices."""
    if costing.results is None or costing.priced_on is None:
        return []
    finished = costing.runs.filter(pl.col("verdict") == "finished")
    conditions = costing.results.conditions().join(finished, on="run", how="semi")
    return [
        *missing_notes(costing.results),
        *core_notes(conditions, costing.rates),
        *age_notes(costing.rates, costing.priced_on),
    ]


def rental_remark(costing: Costing) -> Message:
    """How runs pay for their machine, and where another rental makes other amounts."""
    rental = costing.settings.rental
    changed = rounded_runs(costing.runs, costing.rates, costing.settings)
    return Message(
        OTHER_RENTAL[rental] if changed else RENTAL[rental],
        {"runs": counted(changed, "run"), "percent": 100 * NOTABLE_ROUNDING},
    )


def epochs_remark(epochs: int) -> Message:
    """What figures for another number of epochs take for granted."""
    return Message(
        "Computed for {count} epoch, taken to last as long as the mean epoch of its run.",
        {"count": epochs},
        "Computed for {count} epochs, each taken to last as long as the mean epoch of its run.",
    )


def machine_sentences(
    costing: Costing, factors: Sequence[str], money: str | None, confidence: float
) -> list[Message]:
    """How machines that did the same work compare, in cost and in time.

    At one price for all, amounts are of a machine that some did not run on: only time is compared.
    Machines that were one computer are not compared, which is said instead.
    """
    aspects = {Aspect.TIME: costing.time_metric}
    if money is not None and len(set(costing.rates.values())) > 1:
        aspects = {Aspect.COST: money, **aspects}
    said = [same_computer_message(shared) for shared in costing.same_computers]
    said += [
        ratio_message(ratio)
        for aspect, metric in aspects.items()
        for ratio in machine_ratios(costing.runs, factors, metric, aspect, confidence)
        if not any(ratio.machines <= set(shared.labels) for shared in costing.same_computers)
    ]
    return said


def pareto_sentences(points: Sequence[ParetoPoint]) -> list[Message]:
    """Which scenarios are worth a look, and which clearly are not."""
    names = {
        "front": [point.scenario for point in points if point.on_front],
        "dominated": [point.scenario for point in points if point.standing is Standing.DOMINATED],
        "open": [
            point.scenario
            for point in points
            if point.standing is Standing.OPEN and not point.on_front
        ],
    }
    return [
        Message(PARETO[place], {"names": listed(found)}) for place, found in names.items() if found
    ]


def rate_message(rate: Rate, *, exact: bool = False) -> Message:
    """Everything that the rate came from, in one line; `exact` as in `Rate.cost`."""
    unit = UNIT_SYMBOLS.get(rate.unit, rate.unit.value)
    return Message(
        "{price}, {purchase}, {amount} as of {date}; from {source}"
        if exact
        else "{price}, {purchase}, {amount} as of {date}, billed {billing}; from {source}",
        {
            "price": rate.price,
            "purchase": Message(PURCHASE_WORDS[rate.purchase]),
            "amount": Quantity(rate.amount, f"{rate.currency}/{unit}"),
            "date": rate.as_of.isoformat() if rate.as_of else Message("an unknown date"),
            "billing": Message(BILLING_WORDS[rate.billing]),
            "source": rate.source or Message("an unknown source"),
        },
    )


def exchange_message(exchange: Exchange) -> Message:
    """The rate and its date."""
    return Message(
        "{one} = {other} on {date}",
        {
            "one": Quantity(1.0, exchange.base),
            "other": Quantity(exchange.rate, exchange.currency),
            "date": exchange.as_of.isoformat(),
        },
    )


def grid_message(grid: Grid) -> Message:
    """The CO2 of a grid's energy and where that figure comes from."""
    return Message(
        "{intensity} of CO2 ({source})",
        {"intensity": Quantity(grid.grams_per_kwh, "g/kWh"), "source": grid.source},
    )


def difference_message(difference: Difference) -> Message:
    """What the runs say of it, and no more."""
    names = {"one": difference.one, "other": difference.other}
    if difference.is_same:
        said = Message(SAME[difference.aspect], names)
    elif min(difference.one_mean, difference.other_mean) <= 0:
        said = Message(NOTHING[difference.aspect, difference.is_less], names)
    elif difference.chance_less is None:
        said = Message(
            "In these runs {difference}; with a single run of either, the uncertainty is unknown.",
            {"difference": _difference(difference)},
        )
    elif not difference.is_told:
        said = Message(
            UNDECIDED[difference.aspect], {**names, "chance": chance(difference.chance_less)}
        )
    else:
        surely = difference.chance_less if difference.is_less else 1 - difference.chance_less
        said = Message(
            "{difference}; the chance that this is truly so is {chance}.",
            {"difference": _difference(difference), "chance": chance(surely)},
        )
    return said


def ratio_message(ratio: MachineRatio) -> Message:
    """The difference, what it rests on, and whether it holds everywhere."""
    said = Message(
        "In {count} pair of scenarios alike but for the machine: {difference}",
        {"count": ratio.pairs, "difference": difference_message(ratio.difference)},
        "On average over {count} pairs of scenarios alike but for the machine: {difference}",
    )
    if not ratio.reversed_pairs:
        return said
    return Message(
        "{told} In {count} of them it is the other way round.",
        {"told": said, "count": ratio.reversed_pairs},
    )


def chance(share: float) -> Message | Quantity:
    """A chance in percent, never said to be a certainty.

    >>> str(chance(0.637)), str(chance(1.0)), str(chance(0.0))
    ('64 %', 'more than 99.9 %', 'less than 0.1 %')
    """
    percent = 100 * share
    if percent > 100 - FINEST_PERCENT:
        return Message("more than {percent}", {"percent": _percent(100 - FINEST_PERCENT)})
    if percent < FINEST_PERCENT:
        return Message("less than {percent}", {"percent": _percent(FINEST_PERCENT)})
    near_an_end = min(percent, 100 - percent) < 1
    return _percent(round(percent, 1 if near_an_end else 0))


def _billing_remarks(costing: Costing) -> Iterator[Message]:
    exchange, settings = costing.exchange, costing.settings
    if costing.rates:
        yield rental_remark(costing)
    if costing.rates and settings.idle_seconds:
        idle = Quantity(settings.idle_seconds, "s")
        yield Message("Every run is billed {time} of idle time too.", {"time": idle})
    if costing.rates and exchange is not None and exchange.base not in currencies(costing.rates):
        yield Message(
            "No price is in {base}, so the exchange to {currency} is not used.",
            {"base": exchange.base, "currency": exchange.currency},
        )
    if any(rate.purchase is Purchase.SPOT for rate in costing.rates.values()):
        yield SPOT
    if settings.watts_per_core is not None and "energy_estimate_kwh" in costing.runs.columns:
        yield Message(
            "Energy is an estimate and not measured: processor time at {watts} per core.",
            {"watts": Quantity(settings.watts_per_core, "W")},
        )


def _difference(difference: Difference) -> Message:
    low, high = sorted((difference.one_mean, difference.other_mean))
    in_times = high >= TIMES_FROM * low
    percent = 100 * (high - low) / difference.other_mean
    return Message(
        TEMPLATES[difference.aspect, difference.is_less, in_times],
        {"one": difference.one, "other": difference.other, "times": high / low, "percent": percent},
    )


def _percent(percent: float) -> Quantity:
    return Quantity(percent, "%", digits=3 if percent > 1 else 1)


def missing_notes(results: Results) -> Iterator[Message]:
    """What the study asks for and no figure is from."""
    if results.unreadable:
        yield unreadable_message([item.path.parent.name for item in results.unreadable])
    runs = results.runs()
    finished = set(runs.filter(pl.col("verdict") == "finished")["scenario"])
    study = results.study
    # A published table has the scenarios that it has.
    if study is None or isinstance(study.workload, Imported):
        planned = runs["scenario"].unique(maintain_order=True).to_list()
    else:
        planned = [scenario.name for scenario in study.scenarios()]
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
