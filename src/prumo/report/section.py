"""The sections of the page, in reading order; each only where there is something to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prumo.message import Message, Series
from prumo.quantity import MISSING
from prumo.report.convergence import convergence_tables
from prumo.report.equality import HEADS, equality_rows, method, network_title, verdict
from prumo.report.forecast import check_sentences
from prumo.report.label import metric_title
from prumo.report.profile import missing_profiles, profile_tables
from prumo.report.scaling import scaling_rows, scaling_sentences
from prumo.report.scenario_table import failure_groups, metric_tables, scenario_rows
from prumo.report.sentence import sentences
from prumo.report.setting import setting
from prumo.report.variation import variation_tables
from prumo.results.folder import STUDY_FILE
from prumo.study import Imported
from prumo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.record import RunRecord
    from prumo.results.tables import Results

    Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading that can be folded."""

    name: str
    """Where links go to."""
    title: str
    template: str
    values: dict[str, Any] = field(default_factory=dict)


def sections_of(
    results: Results, report: Report, figures: Figures, language: Language
) -> list[Section]:
    """What there is to say, the answer first and what it rests on later."""
    found = [
        _warnings(report, language),
        _figure(figures, "bars"),
        _money(report, figures, language),
        _scenarios(report, language),
        _figure(figures, "boxes"),
        _figure(figures, "runs"),
        _variation(report, figures, language),
        _figure(figures, "effects"),
        _sizes(report, figures, language),
        _figure(figures, "utilisation"),
        _figure(figures, "usage"),
        _loss(report, figures, language),
        _equality(report, language),
        _profiles(report, figures, language),
        _forecast(report, figures, language),
        _failures(report, language),
        _metrics(report, language),
        _setting(results, language),
        _repeat(results, language),
    ]
    return [section for section in found if section is not None]


def _drawn(figures: Figures, name: str) -> list[Figure]:
    """A figure of this name, with the further ones that it goes on in."""
    return [figure for key, figure in figures.items() if key.split("-")[0] == name]


def _figure(figures: Figures, name: str) -> Section | None:
    drawn = _drawn(figures, name)
    if not drawn:
        return None
    return Section(name, drawn[0].title, "figure", {"figures": drawn})


def _warnings(report: Report, language: Language) -> Section | None:
    if not report.warnings:
        return None
    return Section("warnings", language.say("Before you rely on this"), "warnings")


def _money(report: Report, figures: Figures, language: Language) -> Section | None:
    if report.unpriced:
        remark = Message(
            "The study names prices ({prices}) that are not kept with these results: "
            "`prumo reprice` keeps them, and amounts appear here.",
            {"prices": Series(report.unpriced)},
        )
        values: dict[str, Any] = {"sentences": [remark], "figure": None, "sources": []}
        return Section("money", language.say("Money"), "money", values)
    if report.cost is None:
        return None
    # What the summary box says already is not said twice.
    above = sentences(report)
    values = {
        "sentences": [said for said in report.cost.sentences() if said not in above],
        "figure": figures.get("pareto"),
        "sources": report.cost.costing.sources(),
    }
    return Section("money", language.say("Money"), "money", values)


def _scenarios(report: Report, language: Language) -> Section | None:
    if not report.selected:
        return None
    values = {
        "metrics": [language.told(metric_title(name)) for name in report.selected],
        "scenarios": scenario_rows(report, language),
    }
    return Section("scenarios", language.say("Scenarios"), "scenarios", values)


def _variation(report: Report, figures: Figures, language: Language) -> Section | None:
    tables = variation_tables(report.variations, language)
    if not tables:
        return None
    values = {"figure": figures.get("variation"), "tables": tables}
    title = language.say("Where the variation comes from")
    return Section("variation", title, "variation", values)


def _sizes(report: Report, figures: Figures, language: Language) -> Section | None:
    figure, fits = figures.get("batch"), scaling_rows(report.fits, language)
    if figure is None and not fits:
        return None
    known = metric_title(report.main_metric or "")
    law = language.say(Message("{metric} by size", {"metric": known}))
    sentences = scaling_sentences(report.fits)
    values = {"figure": figure, "sentences": sentences, "fits": fits, "title": law}
    return Section("batch", law if figure is None else figure.title, "batch", values)


def _loss(report: Report, figures: Figures, language: Language) -> Section | None:
    figure = figures.get("loss")
    tables = convergence_tables(report, language)
    if figure is None and not tables:
        return None
    values = {"figure": figure, "tables": tables}
    return Section("loss", language.say("Loss during training"), "loss", values)


def _equality(report: Report, language: Language) -> Section | None:
    if report.equality is None:
        return None
    equality = {
        "verdict": verdict(report.equality),
        "method": method(report.equality),
        "heads": HEADS,
        "networks": [
            (network_title(network), equality_rows(network, language))
            for network in report.equality.networks
        ],
    }
    return Section("equality", language.say("The same network"), "equality", {"equality": equality})


def _profiles(report: Report, figures: Figures, language: Language) -> Section | None:
    tables, missing = profile_tables(report, language), missing_profiles(report)
    if not tables and not missing:
        return None
    figure = figures.get("profiles")
    values = {"figure": figure, "profiles": tables, "missing_profiles": missing}
    title = language.say("Operations of a step") if figure is None else figure.title
    return Section("profiles", title, "profiles", values)


def _forecast(report: Report, figures: Figures, language: Language) -> Section | None:
    if report.forecast is None or not (said := check_sentences(report.forecast)):
        return None
    values = {"figures": _drawn(figures, "forecast"), "sentences": said}
    return Section("forecast", language.say("Forecast against fact"), "forecast", values)


def _failures(report: Report, language: Language) -> Section | None:
    groups = failure_groups(report)
    if not groups:
        return None
    return Section("failures", language.say("Failures"), "failures", {"failures": groups})


def _metrics(report: Report, language: Language) -> Section | None:
    tables = metric_tables(report, language)
    if not tables:
        return None
    values = {"tables": tables, "missing": MISSING}
    return Section("metrics", language.say("All metrics"), "metrics", values)


def _setting(results: Results, language: Language) -> Section | None:
    facts = setting(results.records)
    if not facts:
        return None
    values = {"setting": facts, "parameters": _common_parameters(results.records)}
    return Section("setting", language.say("Machine, versions and data"), "setting", values)


def _repeat(results: Results, language: Language) -> Section | None:
    is_imported = results.study is not None and isinstance(results.study.workload, Imported)
    if is_imported or not (results.path / STUDY_FILE).is_file():
        return None
    values = {
        "plan": {name: value for name, value in results.plan.items() if not _is_nested(value)},
        "packages": _packages(results.records),
        "folder": results.path.resolve().name,
        "version": __version__,
    }
    return Section("repeat", language.say("How to repeat this"), "repeat", values)


def _common_parameters(records: tuple[RunRecord, ...]) -> dict[str, str]:
    if not records:
        return {}
    common = dict(records[0].parameters)
    for record in records[1:]:
        common = {
            name: value for name, value in common.items() if record.parameters.get(name) == value
        }
    return {name: _parameter(value) for name, value in common.items()}


def _parameter(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _packages(records: tuple[RunRecord, ...]) -> dict[str, list[str]]:
    packages: dict[str, list[str]] = {}
    for record in records:
        found = record.environment.get("packages")
        if isinstance(found, dict) and found:
            name = str(record.environment.get("name") or "environment")
            packages.setdefault(
                name, [f"{package} {version}" for package, version in found.items()]
            )
    return packages


def _is_nested(value: object) -> bool:
    return isinstance(value, (dict, list))
