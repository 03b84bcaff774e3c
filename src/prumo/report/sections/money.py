"""Money: what runs cost, and what was forecast of time and money against what came true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from prumo.forecast.accuracy import forecast_against_fact
from prumo.forecast.document import read_forecast
from prumo.message import Message, Series
from prumo.money.kept_prices import named_prices
from prumo.report.cost import cost_document
from prumo.report.figures.forecast import forecast_figures
from prumo.report.figures.pareto import pareto_figure
from prumo.report.forecast import check_sentences
from prumo.report.sections.section import PageSection, Section
from prumo.report.sentence import sentences
from prumo.statistics.metric import Kind, metric_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results

RATES_FOR_PARETO = 2


@dataclass(frozen=True)
class MoneySection(Section):
    """What the runs cost at the prices kept with them."""

    name = "money"
    report: Report
    unpriced: tuple[str, ...] = ()
    """The prices that the study names and nobody kept with the results."""

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The amounts of a report, and the prices that are missing."""
        if results.study is None or results.prices is not None:
            return cls(report)
        return cls(report, tuple(dict.fromkeys(named_prices(results.study).values())))

    def figures(self, language: Language, /) -> list[Figure]:
        """Time against money."""
        cost, metric = self.report.cost, self.report.cost_metric
        # At one price for all, money is time in another unit.
        if (
            cost is None
            or metric is None
            or len(set(cost.costing.rates.values())) < RATES_FOR_PARETO
        ):
            return []
        metrics = (cost.costing.time_metric, metric)
        figure = pareto_figure(cost.points, cost.summary, self.report.varying, metrics, language)
        return [] if figure is None else [figure]

    def page(self, figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figure, what the amounts say, and where the prices come from."""
        cost = self.report.cost
        values: dict[str, Any]
        if self.unpriced:
            remark = Message(
                "The study names prices ({prices}) that are not kept with these results: "
                "`prumo reprice` keeps them, and amounts appear here.",
                {"prices": Series(self.unpriced)},
            )
            values = {"sentences": [remark], "figure": None, "sources": []}
        elif cost is None:
            return None
        else:
            # What the summary box says already is not said twice.
            above = sentences(self.report)
            values = {
                "sentences": [said for said in cost.sentences() if said not in above],
                "figure": figures[0] if figures else None,
                "sources": cost.costing.sources(),
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
    report: Report
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

    def page(self, figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """How often it came true, and the figures."""
        if self.check is None or not (said := check_sentences(self.check)):
            return None
        values = {"figures": figures, "sentences": said}
        return PageSection(self.name, language.say("Forecast against fact"), "forecast", values)

    def document(self, _language: Language, /) -> dict[str, Any]:
        """A row for each scenario that was forecast and ran."""
        return {"forecast": None if self.check is None else self.check.rows(named=True)}
