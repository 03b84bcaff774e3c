"""What a report says, put together once for the terminal, the page and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.effect import is_balanced, main_effects, varying
from prumo.analyse.evidence import Evidence
from prumo.analyse.metric import headlines, in_reading_order
from prumo.analyse.profile import scenario_profile
from prumo.analyse.summary import summarise
from prumo.analyse.unproven import unproven
from prumo.analyse.warning import find_warnings
from prumo.errors import InputError, did_you_mean
from prumo.results.record import Verdict
from prumo.study import Adaptive, plan_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.analyse.effect import LevelMean
    from prumo.analyse.profile import ScenarioProfile
    from prumo.analyse.warning import ResultWarning
    from prumo.results.equality import Equality
    from prumo.results.profile import Profile
    from prumo.results.tables import Results, Unreadable


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

    @property
    def main_metric(self) -> str | None:
        """The metric that sentences and figures are about; None when no run finished."""
        return self.selected[0] if self.selected else None

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
    runs = results.runs()
    summary = summarise(runs, results.factors, in_reading_order(results.metrics), confidence)
    measured = summary["metric"].unique(maintain_order=True).to_list()
    asked = _known(metrics, results.metrics) or _headlines(results, measured)
    selected = tuple(metric for metric in asked if metric in measured)
    main = selected[0] if selected else None
    apart = tuple(varying(runs, results.factors))
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
    )


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


def _known(metrics: Sequence[str], known: Sequence[str]) -> list[str]:
    for metric in metrics:
        if metric not in known:
            raise InputError(f"no run has a metric '{metric}': {did_you_mean(metric, known)}")
    return list(dict.fromkeys(metrics))


def _headlines(results: Results, measured: Sequence[str]) -> list[str]:
    chosen = headlines(measured)
    replications = results.study.replications if results.study is not None else 1
    if isinstance(replications, Adaptive) and replications.metric in measured:
        # The metric that decided how often scenarios ran is what the study is about.
        return [replications.metric, *(name for name in chosen if name != replications.metric)]
    return chosen


def _planned_runs(results: Results) -> int:
    unreadable = sum(item.is_run for item in results.unreadable)
    seen = len(results.records) + unreadable + len(results.unfinished)
    if results.study is None:
        return seen
    return max(seen, plan_of(results.study).runs_minimum)
