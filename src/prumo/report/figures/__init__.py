"""One file per figure; each gives static SVG that needs no script and no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.report.figures.batch import batch_figure
from prumo.report.figures.forecast import forecast_figures
from prumo.report.figures.loss import loss_figure, usage_figure
from prumo.report.figures.pareto import pareto_figure
from prumo.report.figures.profiles import profiles_figure, utilisation_figures
from prumo.report.figures.scenarios import (
    bars_figures,
    boxes_figures,
    has_many_runs,
    scenarios_figures,
)
from prumo.report.figures.variation import effects_figure, variation_figure

if TYPE_CHECKING:
    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results


FACTORS_FOR_EFFECTS = 2
RATES_FOR_PARETO = 2


def figures_of(results: Results, report: Report, language: Language) -> list[Figure]:
    """What can be drawn of these results."""
    figures = [
        *_bars(report, language),
        _pareto(report, language),
        *_runs(report, language),
        variation_figure(report.variations, language),
        _effects(report, language),
        batch_figure(report.finished, report.varying, report.confidence, language),
        *utilisation_figures(report.summary, report.varying, language),
        usage_figure(results.usage_over_time(), report.finished, report.varying, language),
        loss_figure(report.losses, report.finished, report.varying, language),
        _profiles(report, language),
        *_forecast(report, language),
    ]
    return [figure for figure in figures if figure is not None]


def _bars(report: Report, language: Language) -> list[Figure]:
    """Bars start at zero, so they can only show what is never negative."""
    metrics = [
        metric
        for metric in report.main_metrics
        if min(report.metric_summary(metric)["mean"].to_list()) >= 0
    ]
    if not metrics:
        return []
    return bars_figures(report.summary, report.varying, metrics, report.confidence, language)


def _pareto(report: Report, language: Language) -> Figure | None:
    if report.cost is None or report.cost_metric is None:
        return None
    costing = report.cost.costing
    # At one price for all, money is time in another unit.
    if len(set(costing.rates.values())) < RATES_FOR_PARETO:
        return None
    return pareto_figure(
        report.cost.points,
        report.cost.summary,
        report.varying,
        (costing.time_metric, report.cost_metric),
        language,
    )


def _runs(report: Report, language: Language) -> list[Figure]:
    metric = report.main_metric
    if metric is None:
        return []
    if has_many_runs(report.finished, metric):
        return boxes_figures(report.finished, report.varying, metric, language)
    return scenarios_figures(
        report.finished,
        report.metric_summary(metric),
        report.varying,
        metric,
        report.confidence,
        language,
    )


def _effects(report: Report, language: Language) -> Figure | None:
    if report.main_metric is None or len(report.compared) < FACTORS_FOR_EFFECTS:
        return None
    return effects_figure(
        report.effects, report.main_metric, report.confidence, language, balanced=report.balanced
    )


def _profiles(report: Report, language: Language) -> Figure | None:
    if not report.profiles:
        return None
    return profiles_figure(report.profiles, report.runs, report.varying, language)


def _forecast(report: Report, language: Language) -> list[Figure]:
    if report.forecast is None:
        return []
    return forecast_figures(report.forecast, report.finished, report.varying, language)
