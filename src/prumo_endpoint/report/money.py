"""The section of a report about money at a traffic: a table of choices, and cost over traffic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import altair as alt
import numpy as np
import polars as pl
from rich.text import Text

from prumo.message import Message, Series
from prumo.money.price import Kind
from prumo.quantity import MISSING, Quantity
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    PLAIN_NUMBER,
    Extent,
    axis_title,
    draw,
    mark_levels,
    panel_title,
    plain,
    round_numbers,
    value_axis,
)
from prumo.report.sections.section import PageSection, Section, TextTable
from prumo.report.traffic import TrafficNeed
from prumo_endpoint.money.answer import (
    DIGITS,
    amount,
    break_even_sentence,
    capacity_text,
    choice_document,
    first_sentence,
    percentile_text,
)
from prumo_endpoint.money.choices import works
from prumo_endpoint.money.comparison import compare
from prumo_endpoint.money.offers import DAYS_PER_MONTH, PEAK_FACTOR
from prumo_endpoint.report.table import print_table
from prumo_endpoint.serverless import MAX_CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results
    from prumo_endpoint.money.choices import Choice
    from prumo_endpoint.money.comparison import Compared, Comparison

KINDS = {
    Kind.SERVERLESS: Message("serverless"),
    Kind.HOSTING: Message("real-time instance"),
    Kind.MACHINE: Message("machine"),
}
P95 = 0.95
WIDTH, HEIGHT, SMALL_HEIGHT = 640, 260, 130
POINTS = 181
# How far the figure looks beyond the traffic and the break-even, in both directions.
AROUND = 30.0
MOST_FIGURES = 4
MOST_LINES = len(PALETTE)


@dataclass(frozen=True)
class TrafficSection(Section):
    """What answers cost at a traffic: serverless, kept warm, on instances and machines."""

    name = "traffic"
    comparisons: tuple[Comparison, ...]
    currency: str

    @classmethod
    def of(cls, _results: Results, report: Report, /) -> Self:
        """The choices at the prices kept with the results; none without prices."""
        if report.cost is None or not report.cost.costing.rates:
            return cls(report, (), "")
        costing = report.cost.costing
        need = TrafficNeed(report.requests_per_day, confidence=report.confidence)
        found = tuple(compare(work, need) for work in works(costing, need.idle_timeout_seconds))
        return cls(report, found, costing.currency or "")

    def answer(self) -> list[Message]:
        """What to choose."""
        return [first_sentence(self.comparisons, self.currency)] if self.comparisons else []

    def figures(self, language: Language, /) -> list[Figure]:
        """Cost over traffic, for each kind of work."""
        drawn = []
        for number, comparison in enumerate(self.comparisons[:MOST_FIGURES], start=1):
            name = self.name if number == 1 else f"{self.name}-{number}"
            drawn.append(traffic_figure(comparison, self.currency, name, language))
        return drawn

    def table(self, language: Language) -> TextTable:
        """A row per choice."""
        per_day = float(self.comparisons[0].requests_per_day)
        title = Message("Cost at {traffic:,.0f} requests a day", {"traffic": per_day})
        heads = (
            *language.each("choice", "kind", "per 1,000", "of which data"),
            *language.each("per month"),
            "p95",
            *language.each("cold starts", "holds the traffic"),
        )
        rows = tuple(
            self._row(one, comparison.work.name, language)
            for comparison in self.comparisons
            for one in comparison.compared
        )
        return TextTable(self.name, language.say(title), heads, rows, words=2)

    def _row(self, one: Compared, work: str, language: Language) -> tuple[str, ...]:
        name = language.told(one.choice.name)
        is_known = isfinite(one.per_month.value)
        thousand, data = (
            Quantity(value, self.currency, DIGITS)
            for value in (one.per_thousand.value, one.data_per_thousand)
        )
        money = [
            language.told(each) if is_known else MISSING
            for each in (thousand, data, amount(one.per_month, self.currency))
        ]
        kind = language.say(KINDS.get(one.choice.kind, KINDS[Kind.MACHINE]))
        has_cold = one.choice.answers is not None and len(one.choice.answers.cold_seconds)
        return (
            f"{work} · {name}" if work else name,
            kind,
            *money,
            language.told(percentile_text(one, P95)),
            language.share(one.cold_share) if has_cold else MISSING,
            language.told(capacity_text(one)),
        )

    @property
    def remarks(self) -> list[Message]:
        """What the amounts rest on."""
        need = self.comparisons[0].need
        said = []
        if need.requests_per_day is None:
            said.append(Message("The traffic is assumed; --requests-per-day asks for another."))
        said.append(
            Message(
                "Requests come at random, with peaks of {peak} times the mean rate; idle instances "
                "stop after {idle}, and a serverless endpoint has as many at once as its "
                "`max_concurrency`, or SageMaker's usual {most}. A cold start is "
                "billed whole, and data in and out of serverless endpoints as it was measured. ±: "
                "half the interval, by bootstrap of the runs and their requests. n < N: not enough "
                "requests for a percentile.",
                {
                    "most": MAX_CONCURRENCY,
                    "peak": Quantity(PEAK_FACTOR),
                    "idle": Quantity(need.idle_timeout_seconds, "s", DIGITS),
                },
            )
        )
        elsewhere = dict.fromkeys(
            each.choice.label
            for one in self.comparisons
            for each in one.compared
            if each.choice.is_elsewhere
        )
        if elsewhere:
            names = Series(tuple(elsewhere), ", ")
            said.append(
                Message(
                    "Measured on another machine than the one that is priced: {names}.",
                    {"names": names},
                )
            )
        left_out = dict.fromkeys(name for one in self.comparisons for name in one.work.left_out)
        if left_out:
            names = Series(tuple(left_out), ", ")
            said.append(
                Message(
                    "Left out, because its runs have several prices: {names}.", {"names": names}
                )
            )
        unpriced = dict.fromkeys(
            name for one in self.comparisons for name in one.work.without_data_price
        )
        if unpriced:
            names = Series(tuple(unpriced), ", ")
            said.append(
                Message(
                    "Data in and out is not counted for {names}: no price of it is known.",
                    {"names": names},
                )
            )
        missing = dict.fromkeys(
            name for one in self.comparisons for name in one.work.without_provisioned
        )
        if missing:
            names = Series(tuple(missing), ", ")
            said.append(
                Message(
                    "No price of provisioned concurrency is known for {names}; `prumo price "
                    "import` takes one.",
                    {"names": names},
                )
            )
        return said

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figures and the table."""
        if not self.comparisons:
            return None
        values = {"table": self.table(language), "remarks": self.remarks}
        return PageSection(self.name, language.say("Money over traffic"), "table", values)

    def print(self, console: Console, language: Language, /) -> None:
        """The table, without what follows from other columns."""
        if not self.comparisons:
            return
        table = self.table(language)
        heads, rows = (
            [(one[0], *one[4:]) for one in lines] for lines in ([table.heads], table.rows)
        )
        print_table(replace(table, heads=heads[0], rows=tuple(rows), words=1), console)
        for comparison in self.comparisons:
            if (even := break_even_sentence(comparison)) is not None:
                work, sentence = comparison.work.name, language.say(even)
                console.print(Text(f"{work}: {sentence}" if work else sentence))

    def tables(self, language: Language, /) -> list[TextTable]:
        """The same for documents."""
        return [self.table(language)] if self.comparisons else []

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Every choice with its amounts."""
        if not self.comparisons:
            return {}
        return {
            "traffic": {
                "requests_per_day": self.comparisons[0].requests_per_day,
                "currency": self.currency,
                "choices": [
                    {"work": comparison.work.name or None, **choice_document(one)}
                    for comparison in self.comparisons
                    for one in comparison.compared
                ],
            }
        }


def traffic_figure(comparison: Comparison, currency: str, name: str, language: Language) -> Figure:
    """Cost of a month over the requests of a day, and below it which choice is the cheapest."""
    choices = [one.choice for one in comparison.compared if one.choice.answers is not None]
    choices = choices[:MOST_LINES]
    traffic = _traffic(comparison)
    table = _lines(choices, traffic, comparison.need.confidence, language)
    labels = [language.told(choice.name) for choice in choices]
    color = mark_levels(
        alt.Color,
        "choice:N",
        labels,
        PALETTE,
        title=None,
        columns=2,
        labelLimit=300,
        symbolOpacity=1,
        symbolType="stroke",
        symbolStrokeWidth=2.5,
    )
    x = alt.X(
        "traffic:Q",
        title=language.say("requests a day"),
        scale=plain(type="log", domain=[traffic[0], traffic[-1]], nice=False),
        axis=plain(values=_decades(traffic), format=PLAIN_NUMBER),
    )
    extent = Extent.of(table["value"].to_list())
    title = axis_title(Message("Cost of a month"), currency, language)
    base = alt.Chart(table).encode(x=x, color=color)
    here = alt.Chart(pl.DataFrame({"traffic": [comparison.requests_per_day]})).mark_rule(
        color=INK, strokeDash=[4, 3]
    )
    evens = _break_even_per_day(comparison)
    even = alt.Chart(pl.DataFrame({"traffic": evens}, schema={"traffic": pl.Float64})).mark_rule(
        color=INK, strokeDash=[1, 2]
    )
    costs = alt.layer(
        base.mark_area(opacity=0.2, clip=True).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=1.6, clip=True).encode(
            y=alt.Y("value:Q", **value_axis(title, extent))
        ),
        here.encode(x=x),
        even.encode(x=x),
    ).properties(width=WIDTH, height=HEIGHT)
    chances = alt.layer(
        base.mark_line(strokeWidth=1.6).encode(
            y=alt.Y(
                "chance:Q",
                title=language.say("cheapest, chance [%]"),
                scale=plain(domain=[0, 100]),
                axis=plain(values=[0, 50, 100]),
            )
        ),
        here.encode(x=x),
        even.encode(x=x),
    ).properties(width=WIDTH, height=SMALL_HEIGHT)
    reading = Message(
        "A line per choice that was measured, with its interval. Below: how likely it is the "
        "cheapest of all, which changes where the lowest lines cross. A line ends where its "
        "endpoint does not hold more. Dashed: the traffic of the table."
    )
    chart = alt.vconcat(costs, chances, spacing=18, title=panel_title(comparison.work.name))
    dotted = Message("Dotted: the break-even of serverless and instance.") if evens else None
    sentences = [reading, dotted, break_even_sentence(comparison), extent.remark]
    return draw(chart, name, Message("Cost over traffic"), sentences, language)


def _break_even_per_day(comparison: Comparison) -> list[float]:
    found = comparison.break_even
    if found is None or not found[2].exists:
        return []
    return [found[2].requests_per_month / DAYS_PER_MONTH]


def _traffic(comparison: Comparison) -> np.ndarray:
    """Around the traffic that is asked for and the break-even."""
    points = [comparison.requests_per_day, *_break_even_per_day(comparison)]
    return np.geomspace(max(1.0, min(points) / AROUND), max(points) * AROUND, POINTS)


def _decades(traffic: np.ndarray) -> list[float]:
    low, high = float(traffic[0]), float(traffic[-1])
    return [number for number in round_numbers(low, high) if np.log10(number) % 1 == 0]


def _lines(
    choices: Sequence[Choice], traffic: np.ndarray, confidence: float, language: Language
) -> pl.DataFrame:
    """Amount, interval and chance of every choice at each traffic that it can hold."""
    monthly = traffic * DAYS_PER_MONTH
    draws = np.array([choice.offer.monthly(monthly) for choice in choices])
    for place, choice in enumerate(choices):
        if choice.kind is Kind.SERVERLESS:
            too_much = [choice.offer.holds(float(amount)) is False for amount in monthly]
            draws[place, :, too_much] = np.inf
    is_cheapest = draws[:, 1:] == draws[:, 1:].min(axis=0)
    chances = 100 * is_cheapest.mean(axis=1)
    rows = []
    for place, choice in enumerate(choices):
        for column, requests in enumerate(traffic):
            interval = choice.offer.interval(draws[place, :, column], confidence)
            if isfinite(interval.value):
                rows.append(
                    {
                        "choice": language.told(choice.name),
                        "traffic": float(requests),
                        "value": interval.value,
                        "low": interval.value if interval.low is None else interval.low,
                        "high": interval.value if interval.high is None else interval.high,
                        "chance": float(chances[place, column]),
                    }
                )
    return pl.DataFrame(rows, infer_schema_length=None)
