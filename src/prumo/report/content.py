"""What all sections of a report share: the runs, their summary, and which metrics to show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.money.cost import kept_costing
from prumo.report.cost import cost_report
from prumo.statistics.metric import headlines, in_reading_order
from prumo.statistics.summary import is_balanced, main_effects, summarise, varying
from prumo.study import Adaptive, Imported, plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.cost import CostReport
    from prumo.results.tables import Results
    from prumo.statistics.summary import LevelMean


@dataclass(frozen=True)
class RunCounts:
    """How many runs there are that no table of finished and failed runs shows."""

    planned: int
    unreadable: int = 0
    """Folders that cannot be read and stand where a run should."""
    unfinished: int = 0
    imported: int = 0
    """Runs that were not measured but read from the logs of other trainings."""


@dataclass(frozen=True)
class Report:
    """The tables of one study that every section draws on."""

    study_name: str
    confidence: float
    factors: tuple[str, ...]
    selected: tuple[str, ...]
    """The metrics to show first, the main one before the others."""
    runs: pl.DataFrame
    summary: pl.DataFrame
    failures: pl.DataFrame
    counts: RunCounts
    cost: CostReport | None = None
    """What the runs cost at the prices kept with them; None where they have none."""
    requests_per_day: float | None = None
    """The traffic to answer for; None leaves it to the workload."""

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

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The factors with more than one level: those that tell scenarios apart."""
        return tuple(varying(self.runs, self.factors))

    @cached_property
    def effects(self) -> list[LevelMean]:
        """The means of the main metric at each level of each factor."""
        if self.main_metric is None:
            return []
        return main_effects(self.summary, self.varying, self.main_metric, self.confidence)

    @property
    def balanced(self) -> bool:
        """Whether every combination of levels has a mean of the main metric."""
        metric = self.main_metric
        return metric is not None and is_balanced(self.summary, self.varying, metric)

    @property
    def compared(self) -> tuple[str, ...]:
        """The factors with figures at more than one level."""
        return tuple(dict.fromkeys(effect.factor for effect in self.effects))

    @cached_property
    def finished(self) -> pl.DataFrame:
        """The runs whose figures hold."""
        return self.runs.filter(pl.col("verdict") == "finished")

    def metric_summary(self, metric: str) -> pl.DataFrame:
        """The rows of the summary about one metric."""
        return self.summary.filter(pl.col("metric") == metric)


def assemble(results: Results, metrics: Sequence[str], confidence: float) -> Report:
    """The tables of a report; without metrics, a sensible choice of them is shown."""
    costing = kept_costing(results)
    runs = costing.runs
    known = [name for name in runs.columns if name in {*results.metrics, *costing.metrics}]
    summary = summarise(runs, results.factors, in_reading_order(known), confidence, results.spreads)
    measured = summary["metric"].unique(maintain_order=True).to_list()
    asked = _known(metrics, known) or _in_table_order(
        headline_metrics(results, measured), costing.cost_metric
    )
    return Report(
        study_name=results.study_name,
        confidence=confidence,
        factors=results.factors,
        selected=tuple(metric for metric in asked if metric in measured),
        runs=runs,
        summary=summary,
        failures=results.failures(),
        counts=_counts(results),
        cost=cost_report(costing, results.factors, confidence) if costing.metrics else None,
    )


def headline_metrics(results: Results, measured: Sequence[str]) -> list[str]:
    """The metrics to show without being asked, the one that the study is about first."""
    chosen = headlines(measured)
    if results.study is None:
        return chosen
    # It decides how often scenarios run, or is what the workload is about, or the time paid for.
    goal, workload = results.study.replications, results.study.workload
    subject = workload.main_metric or results.study.cost.metric
    if isinstance(goal, Adaptive):
        subject = goal.metric
    if subject is None or subject not in measured:
        return chosen
    return [subject, *(name for name in chosen if name != subject)]


def _in_table_order(metrics: Sequence[str], cost_metric: str | None) -> list[str]:
    """The money right after what a study is about; the process's time only where it is that."""
    if not metrics:
        return []
    first, *rest = metrics
    money = [cost_metric] if cost_metric in rest else []
    return [first, *money, *(name for name in rest if name not in {cost_metric, "wall_seconds"})]


def _known(metrics: Sequence[str], known: Sequence[str]) -> list[str]:
    for metric in metrics:
        if metric not in known:
            raise InputError(f"no run has a metric '{metric}': {did_you_mean(metric, known)}")
    return list(dict.fromkeys(metrics))


def _counts(results: Results) -> RunCounts:
    unreadable = sum(item.is_run for item in results.unreadable)
    planned = len(results.records) + unreadable + len(results.unfinished)
    if results.study is not None and not isinstance(results.study.workload, Imported):
        planned = max(planned, plan_of(results.study).runs_minimum)
    return RunCounts(
        planned=planned,
        unreadable=unreadable,
        unfinished=len(results.unfinished),
        imported=sum(bool(record.imported) for record in results.records),
    )
