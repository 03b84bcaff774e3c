"""What a study's runs cost: tables and sentences for a terminal, and plain values for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.money.pareto import pareto
from prumo.report.cost_sentences import (
    cost_remarks,
    machine_sentences,
    pareto_sentences,
    source_sentences,
    total_sentences,
    unpriced_sentences,
)
from prumo.report.label import levels_label, metric_title
from prumo.statistics.metric import Kind, metric_of
from prumo.statistics.summary import summarise, varying

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from prumo.money.cost import Costing
    from prumo.money.pareto import ParetoPoint
    from prumo.report.language import Language

    Row = dict[str, Any]

WHAT_IF = Message(
    "What if: the measured times of these runs at another price. On another machine they would "
    "also take another time; only a run there tells it."
)


@dataclass(frozen=True)
class CostReport:
    """One costing of a study, summarised."""

    title: str
    """What was asked for, or empty where amounts are those of the prices kept."""
    is_what_if: bool
    """Whether runs are priced as if they had been on another machine."""
    costing: Costing
    factors: tuple[str, ...]
    varying: tuple[str, ...]
    confidence: float
    summary: pl.DataFrame
    """Of the billed time and every amount."""
    points: list[ParetoPoint]

    def machine_sentences(self) -> list[Message]:
        """By how much machines differ in cost and in time for the same work."""
        money = self.costing.cost_metric
        return machine_sentences(self.costing, self.factors, money, self.confidence)

    def totals(self) -> list[Message]:
        """What all runs cost together, with the price where it was asked for."""
        if not self.title:
            return total_sentences(self.costing)
        return [
            Message("{price}: {total}", {"price": self.title, "total": total})
            for total in total_sentences(self.costing)
        ]

    def sentences(self) -> list[Message]:
        """What the amounts say."""
        told = [WHAT_IF] if self.is_what_if else []
        told += self.totals()
        told += self.machine_sentences()
        costing = self.costing
        # At one price for all, the cheapest is the fastest: a front of one says nothing.
        if len(set(costing.rates.values())) > 1:
            told += pareto_sentences(self.points)
        return [*told, *unpriced_sentences(costing), *cost_remarks(costing)]


def cost_report(
    costing: Costing,
    factors: Sequence[str],
    confidence: float,
    title: str = "",
    *,
    is_what_if: bool = False,
) -> CostReport:
    """Summarise a costing."""
    metrics = [costing.time_metric, *costing.metrics]
    money = costing.cost_metric
    return CostReport(
        title=title,
        is_what_if=is_what_if,
        costing=costing,
        factors=tuple(factors),
        varying=tuple(varying(costing.runs, factors)),
        confidence=confidence,
        summary=summarise(costing.runs, factors, metrics, confidence),
        points=pareto(costing.runs, costing.time_metric, money, factors, confidence)
        if money
        else [],
    )


def print_costs(reports: Sequence[CostReport], console: Console, language: Language) -> None:
    """A row per scenario, then where the prices come from and what the amounts say."""
    if len(reports) > 1:
        columns = [(report, report.costing.cost_metric or "") for report in reports]
        console.print(_table("", columns, language))
    else:
        for metrics in _shown(reports[0].costing):
            columns = [(reports[0], metric) for metric in metrics]
            console.print(_table(reports[0].title, columns, language))
    told = [source for report in reports for source in source_sentences(report.costing)]
    told += [sentence for report in reports for sentence in report.sentences()]
    for text in dict.fromkeys(map(language.say, told)):
        console.print(Text(text))


def cost_document(report: CostReport, language: Language) -> dict[str, Any]:
    """Everything the report says, ready for JSON."""
    costing = report.costing
    return {
        "price": report.title or None,
        "billed": costing.time_metric,
        "settings": costing.settings.model_dump(mode="json"),
        "rates": {name: rate.model_dump(mode="json") for name, rate in costing.rates.items()},
        "exchange": costing.exchange.model_dump(mode="json") if costing.exchange else None,
        "summary": report.summary.rows(named=True),
        "pareto": [
            {
                "scenario": point.scenario,
                "on_front": point.on_front,
                "chance_dominated": point.chance_dominated,
                "standing": point.standing.value,
            }
            for point in report.points
        ],
        "sentences": [language.say(sentence) for sentence in report.sentences()],
    }


def cost_csv(reports: Sequence[CostReport]) -> str:
    """The summaries one below the other, the price first."""
    tables = [
        report.summary.select(pl.lit(report.title).alias("price"), pl.all()) for report in reports
    ]
    return pl.concat(tables).write_csv()


def _table(title: str, columns: Sequence[tuple[CostReport, str]], language: Language) -> Table:
    """A row per scenario, a column per amount; under no common title, each names its price."""
    told = Text(title) if title else None
    table = Table(title=told, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(language.say("scenario"))
    table.add_column(language.say("levels"), overflow="fold")
    table.add_column(language.say("n"), justify="right")
    for report, metric in columns:
        price = "" if title == report.title else f"{report.title}: "
        table.add_column(price + _heading(metric, language), justify="right")
    rows = [_by_scenario(report) for report, _ in columns]
    for name, found in rows[0].items():
        first = next(iter(found.values()))
        table.add_row(
            name,
            Text(levels_label(first, columns[0][0].varying)),
            str(first["n"]),
            *(
                _cell(row[name].get(metric), report, language)
                for row, (report, metric) in zip(rows, columns, strict=True)
            ),
        )
    return table


def _shown(costing: Costing) -> Iterator[list[str]]:
    """What a table shows: time and money, in all currencies only of a run; then energy."""
    amounts = [name for name in costing.metrics if metric_of(name).kind is Kind.MONEY]
    in_front = [
        name
        for name in amounts
        if metric_of(name).headline or metric_of(name).unit == costing.currency
    ]
    yield [costing.time_metric, *in_front]
    if energies := [name for name in costing.metrics if name not in amounts]:
        yield energies


def _heading(metric: str, language: Language) -> str:
    known = metric_of(metric)
    title = language.told(metric_title(known.name))
    return f"{title} ({known.unit})" if known.kind is Kind.MONEY else title


def _by_scenario(report: CostReport) -> dict[str, dict[str, Row]]:
    """Scenario → metric → its row of the summary."""
    found: dict[str, dict[str, Row]] = {}
    for row in report.summary.iter_rows(named=True):
        found.setdefault(row["scenario"], {})[row["metric"]] = row
    return found


def _cell(row: Row | None, report: CostReport, language: Language) -> Text:
    """A mean, and the interval of what the study is about."""
    if row is None:
        return Text(language.quantity(None, ""))
    scale = language.scale(row["mean"], row["unit"], row["metric"])
    told = scale.text(row["mean"])
    main = {report.costing.time_metric, report.costing.cost_metric}
    if row["metric"] not in main or row["ci_low"] is None:
        return Text(told)
    return Text(f"{told} {scale.interval(row['ci_low'], row['ci_high'])}")
