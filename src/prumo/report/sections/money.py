"""Money: what runs cost, and what was forecast of time and money against what came true."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Self

import altair as alt
import polars as pl

from prumo.forecast.document import forecast_against_fact, read_forecast
from prumo.message import Message, Series
from prumo.money.study_prices import named_prices, read_prices
from prumo.report.cost import cost_document
from prumo.report.cost_sentences import source_sentences
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    Extent,
    axis_title,
    draw_rows,
    label_axis,
    layout,
    mark_levels,
    row_columns,
    value_axis,
)
from prumo.report.figures.pareto import pareto_figures
from prumo.report.forecast import check_sentences
from prumo.report.sections.section import PageSection, Section
from prumo.report.sentence import sentences
from prumo.statistics.metric import Kind, metric_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results

ROW_PIXELS = 19
PLOT_PIXELS = 640
BAND = "#b8c4ce"
INSIDE, OUTSIDE = Message("fact, inside the interval"), Message("fact, outside of it")
READING = Message(
    "Mean time of a run. Grey: the interval of the forecast, with a line at what was expected. "
    "Points: the mean of the runs that came after it."
)


@dataclass(frozen=True)
class MoneySection(Section):
    """What the runs cost at the prices kept with them."""

    name = "money"
    unpriced: tuple[str, ...] = ()
    """The prices that the study names and nobody kept with the results."""

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The amounts of a report, and the prices that are missing."""
        if results.study is None or read_prices(results.path) is not None:
            return cls(report)
        return cls(report, tuple(dict.fromkeys(named_prices(results.study).values())))

    def figures(self, language: Language, /) -> list[Figure]:
        """Time against money."""
        cost, metric = self.report.cost, self.report.cost_metric
        # At one price for all, money is time in another unit.
        if cost is None or metric is None or len(set(cost.costing.rates.values())) <= 1:
            return []
        metrics = (cost.costing.time_metric, metric)
        return pareto_figures(cost.points, cost.summary, self.report.varying, metrics, language)

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figure, what the amounts say, and where the prices come from."""
        cost = self.report.cost
        values: dict[str, Any]
        if self.unpriced:
            remark = Message(
                "The study names prices ({prices}) that are not kept with these results: "
                "`prumo reprice` keeps them, and amounts appear here.",
                {"prices": Series(self.unpriced)},
            )
            values = {"sentences": [remark], "sources": []}
        elif cost is None:
            return None
        else:
            # What the summary box says already is not said twice.
            above = sentences(self.report)
            values = {
                "sentences": [said for said in cost.sentences() if said not in above],
                "sources": source_sentences(cost.costing),
            }
        return PageSection(self.name, language.say("Money"), "money", values)

    def document(self, language: Language, /) -> dict[str, Any]:
        """The amounts with the prices that they came from."""
        cost = self.report.cost
        return {
            "cost": None if cost is None else cost_document(cost, language),
            "unpriced": list(self.unpriced),
        }

    def frames(self) -> dict[str, pl.DataFrame]:
        """The amounts of each run, where there are any."""
        runs = self.report.runs
        money = [name for name in runs.columns if metric_of(name).kind is Kind.MONEY]
        if not money:
            return {}
        columns = ["run", "scenario", "replication", *self.report.factors, "verdict", *money]
        return {"cost": runs.select(columns)}


@dataclass(frozen=True)
class ForecastSection(Section):
    """What was forecast against what came true."""

    name = "forecast"
    check: pl.DataFrame | None
    """None where nobody made a forecast."""

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The forecast that is kept with the results."""
        forecast = read_forecast(results.path)
        return cls(report, None if forecast is None else forecast_against_fact(forecast, results))

    def figures(self, language: Language, /) -> list[Figure]:
        """Each scenario's forecast with its interval, and its runs."""
        if self.check is None:
            return []
        report = self.report
        return forecast_figures(self.check, report.finished, report.varying, language)

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """How often it came true, and the figures."""
        if self.check is None or not (said := check_sentences(self.check)):
            return None
        title = language.say("Forecast against fact")
        return PageSection(self.name, title, "forecast", {"sentences": said})

    def document(self, _language: Language, /) -> dict[str, Any]:
        """A row for each scenario that was forecast and ran."""
        return {"forecast": None if self.check is None else self.check.rows(named=True)}


def forecast_figures(
    check: pl.DataFrame, runs: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """A band per scenario with the fact on it; none while no forecast scenario has run."""
    known = check.filter(pl.col("scenario").is_in(runs["scenario"].unique().to_list()))
    if known.is_empty():
        return []
    scale = language.scale(median(known["fact_seconds"].to_list()), "s")
    inside, outside = language.say(INSIDE), language.say(OUTSIDE)
    table = known.select(
        "scenario",
        expected=pl.col("forecast_seconds") / scale.factor,
        low=pl.col("low_seconds") / scale.factor,
        high=pl.col("high_seconds") / scale.factor,
        value=pl.col("fact_seconds") / scale.factor,
        verdict=pl.when("inside").then(pl.lit(inside)).otherwise(pl.lit(outside)),
    )
    extent = Extent.of([*table["value"], *table["expected"]], [*table["low"], *table["high"]])
    title = axis_title(Message("Mean time of a run"), scale.unit, language)
    x = alt.X("value:Q", **value_axis(title, extent))
    scenarios = runs.filter(pl.col("scenario").is_in(known["scenario"].to_list()))
    return draw_rows(
        lambda panel: _plot(row_columns(table, panel), x, [inside, outside]),
        layout(scenarios, factors),
        "forecast",
        Message("Forecast against fact"),
        [READING, extent.remark],
        language,
    )


def _plot(table: pl.DataFrame, x: Any, verdicts: list[str]) -> Any:  # noqa: ANN401 (Altair)
    base = alt.Chart(table).encode(y=label_axis())
    legend = {"title": None, "symbolOpacity": 1, "labelLimit": 0}
    shapes = ["circle", "diamond"]
    return alt.layer(
        base.mark_bar(height=9, color=BAND).encode(x="low:Q", x2="high:Q"),
        base.mark_tick(size=11, thickness=1.5, color=INK).encode(x="expected:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x,
            color=mark_levels(alt.Color, "verdict:N", verdicts, PALETTE, **legend),
            shape=mark_levels(alt.Shape, "verdict:N", verdicts, shapes, **legend),
        ),
    ).properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))
