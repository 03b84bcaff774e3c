"""What a report says, put together once for the terminal, the page and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.forecast.accuracy import forecast_against_fact
from prumo.forecast.document import read_forecast
from prumo.money.cost import kept_costing
from prumo.money.kept_prices import named_prices
from prumo.report.cost import cost_report
from prumo.report.find_warnings import Evidence, find_warnings
from prumo.results.record import Verdict
from prumo.statistics.convergence import convergences, losses_of
from prumo.statistics.effect import is_balanced, main_effects, varying
from prumo.statistics.equality import unproven
from prumo.statistics.metric import headlines, in_reading_order
from prumo.statistics.profile import scenario_profile
from prumo.statistics.scaling import scaling_fits
from prumo.statistics.summary import summarise
from prumo.statistics.variation import variation
from prumo.study import Adaptive, Imported, plan_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.report.cost import CostReport
    from prumo.report.warnings import ResultWarning
    from prumo.results.equality import Equality
    from prumo.results.events import Profile
    from prumo.results.tables import Results, Unreadable
    from prumo.statistics.convergence import Convergence, Losses
    from prumo.statistics.effect import LevelMean
    from prumo.statistics.profile import ScenarioProfile
    from prumo.statistics.scaling import ScalingFit
    from prumo.statistics.variation import Variation


@dataclass(frozen=True)
class Report:
    """The tables and findings of one study."""

    study_name: str
    confidence: float
    factors: tuple[str, ...]
    varying: tuple[str, ...]
    """The factors with more than one level: those that tell scenarios apart."""
    selected: tuple[str, ...]
    """The metrics to show first, the main one before the others."""
    runs: pl.DataFrame
    summary: pl.DataFrame
    effects: list[LevelMean]
    balanced: bool
    failures: pl.DataFrame
    unreadable: tuple[Unreadable, ...]
    unfinished: tuple[str, ...]
    planned_runs: int
    imported_runs: int
    """Runs that were not measured but read from the logs of other trainings."""
    warnings: list[ResultWarning]
    equality: Equality | None
    """The proof that compared frameworks train the same networks; None where nobody checked."""
    profiles: list[ScenarioProfile]
    """Where the time of a step goes, for scenarios that were profiled."""
    unprofiled: dict[str, list[str]]
    """Why a profiler that was asked for gave nothing → the scenarios where it did not."""
    cost: CostReport | None
    """What the runs cost at the prices kept with them; None where they have none."""
    unpriced: tuple[str, ...]
    """The prices that the study names and nobody kept with the results."""
    variations: tuple[Variation, ...]
    """Where the variation of the main metric comes from, and of the cost where there is one."""
    fits: list[ScalingFit]
    """How the main metric goes with batch sizes, image sizes and other numbers."""
    losses: Losses
    convergences: list[Convergence]
    forecast: pl.DataFrame | None
    """What was forecast against what came true; None where nobody made a forecast."""

    @property
    def main_metric(self) -> str | None:
        """The metric that sentences and figures are about; None when no run finished."""
        return self.selected[0] if self.selected else None

    @property
    def cost_metric(self) -> str | None:
        """The amount that the study is about; None where nothing is priced."""
        metric = self.cost.costing.cost_metric if self.cost is not None else None
        return metric if metric in self.summary["metric"] else None

    @property
    def main_metrics(self) -> tuple[str, ...]:
        """The main metric, and the amount where it is another one."""
        both = dict.fromkeys((self.main_metric, self.cost_metric))
        return tuple(metric for metric in both if metric is not None)

    @property
    def compared(self) -> tuple[str, ...]:
        """The factors with figures at more than one level."""
        return tuple(dict.fromkeys(effect.factor for effect in self.effects))

    @property
    def unreadable_runs(self) -> int:
        """How many of the unreadable folders stand where a run should."""
        return sum(item.is_run for item in self.unreadable)

    @property
    def finished(self) -> pl.DataFrame:
        """The runs whose figures hold."""
        return self.runs.filter(pl.col("verdict") == "finished")

    def metric_summary(self, metric: str) -> pl.DataFrame:
        """The rows of the summary about one metric."""
        return self.summary.filter(pl.col("metric") == metric)


def assemble(results: Results, metrics: Sequence[str], confidence: float) -> Report:
    """Compute everything a report says; without metrics, a sensible choice of them is shown."""
    costing = kept_costing(results)
    runs = costing.runs
    known = [name for name in runs.columns if name in {*results.metrics, *costing.metrics}]
    summary = summarise(runs, results.factors, in_reading_order(known), confidence, results.spreads)
    measured = summary["metric"].unique(maintain_order=True).to_list()
    asked = _known(metrics, known) or _in_table_order(
        headline_metrics(results, measured), costing.cost_metric
    )
    selected = tuple(metric for metric in asked if metric in measured)
    main = selected[0] if selected else None
    apart = tuple(varying(runs, results.factors))
    losses = losses_of(results.epochs(), results.steps())
    forecast = read_forecast(results.path)
    profiles = _profiles(results)
    return Report(
        study_name=results.study_name,
        confidence=confidence,
        factors=results.factors,
        varying=apart,
        selected=selected,
        runs=runs,
        summary=summary,
        effects=main_effects(summary, apart, main, confidence) if main else [],
        balanced=is_balanced(summary, apart, main) if main else False,
        failures=results.failures(),
        unreadable=results.unreadable,
        unfinished=results.unfinished,
        planned_runs=_planned_runs(results),
        imported_runs=sum(bool(record.imported) for record in results.records),
        warnings=find_warnings(
            Evidence(
                runs=runs,
                conditions=results.conditions(),
                metric=main,
                confidence=confidence,
                unreadable=[item.path.parent.name for item in results.unreadable],
                unfinished=results.unfinished,
                spreads=results.spreads,
                unproven=unproven(results.records, results.equality),
            )
        ),
        equality=results.equality,
        profiles=[
            profile
            for name, several in profiles.items()
            if (profile := scenario_profile(name, several)) is not None
        ],
        unprofiled=_unprofiled(profiles),
        cost=cost_report(costing, results.factors, confidence) if costing.metrics else None,
        unpriced=_unpriced(results),
        variations=tuple(
            variation(runs, apart, metric)
            for metric in dict.fromkeys((main, costing.cost_metric))
            if metric is not None and metric in measured
        ),
        fits=scaling_fits(runs, results.factors, main, confidence) if main else [],
        losses=losses,
        convergences=convergences(runs, results.factors, losses, confidence),
        forecast=None if forecast is None else forecast_against_fact(forecast, results),
    )


def headline_metrics(results: Results, measured: Sequence[str]) -> list[str]:
    """The metrics to show without being asked, the one that the study is about first."""
    chosen = headlines(measured)
    subject = _subject(results)
    if subject is None or subject not in measured:
        return chosen
    return [subject, *(name for name in chosen if name != subject)]


def _subject(results: Results) -> str | None:
    """The metric that decides how often scenarios run, or else the time that is paid for."""
    if results.study is None:
        return None
    replications = results.study.replications
    if isinstance(replications, Adaptive):
        return replications.metric
    return results.study.cost.metric


def _in_table_order(metrics: Sequence[str], cost_metric: str | None) -> list[str]:
    """The money right after what a study is about; the process's time only where it is that."""
    if not metrics:
        return []
    first, *rest = metrics
    money = [cost_metric] if cost_metric in rest else []
    return [first, *money, *(name for name in rest if name not in {cost_metric, "wall_seconds"})]


def _profiles(results: Results) -> dict[str, list[Profile]]:
    """The profiles of finished runs by scenario: what a failed run did says nothing of the rest."""
    profiles = results.profiles()
    by_scenario: dict[str, list[Profile]] = {}
    for record in results.records:
        if record.run in profiles and record.verdict is Verdict.FINISHED:
            by_scenario.setdefault(record.scenario, []).append(profiles[record.run])
    return by_scenario


def _unprofiled(profiles: Mapping[str, Sequence[Profile]]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for scenario, several in profiles.items():
        for reason in dict.fromkeys(profile.reason for profile in several if profile.reason):
            reasons.setdefault(reason, []).append(scenario)
    return reasons


def _unpriced(results: Results) -> tuple[str, ...]:
    if results.study is None or results.prices is not None:
        return ()
    return tuple(dict.fromkeys(named_prices(results.study).values()))


def _known(metrics: Sequence[str], known: Sequence[str]) -> list[str]:
    for metric in metrics:
        if metric not in known:
            raise InputError(f"no run has a metric '{metric}': {did_you_mean(metric, known)}")
    return list(dict.fromkeys(metrics))


def _planned_runs(results: Results) -> int:
    unreadable = sum(item.is_run for item in results.unreadable)
    seen = len(results.records) + unreadable + len(results.unfinished)
    if results.study is None or isinstance(results.study.workload, Imported):
        return seen
    return max(seen, plan_of(results.study).runs_minimum)
