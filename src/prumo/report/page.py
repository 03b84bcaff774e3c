"""One HTML page that opens anywhere: styles and figures inside, no script, no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from prumo.analyse.metric import Metric, metric_of
from prumo.report.equality import HEADS, equality_rows, method, verdict
from prumo.report.failure import failure_groups
from prumo.report.figures.effects import effects_figure
from prumo.report.figures.panels import loss_figure, usage_figure
from prumo.report.figures.profiles import profiles_figure
from prumo.report.figures.scenarios import scenarios_figure
from prumo.report.file import write_file
from prumo.report.label import levels_label
from prumo.report.number import MISSING, scale_of
from prumo.report.profile import missing_profiles, profile_tables
from prumo.report.sentence import sentences
from prumo.report.setting import setting
from prumo.results.folder import STUDY_FILE
from prumo.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.results.record import RunRecord
    from prumo.results.tables import Results

FACTORS_FOR_EFFECTS = 2


@dataclass(frozen=True)
class Cell:
    """A mean with its interval, as text."""

    mean: str
    interval: str


@dataclass(frozen=True)
class ScenarioRow:
    """One scenario in the first table."""

    name: str
    levels: list[str]
    finished: int
    ended: int
    cells: list[Cell]


@dataclass(frozen=True)
class MetricTable:
    """Every statistic of one metric."""

    metric: Metric
    rows: list[dict[str, str]]


def write_page(results: Results, report: Report, path: Path) -> None:
    """Write the report of these results as one HTML file."""
    write_file(path, page(results, report))


def page(results: Results, report: Report) -> str:
    """The report as the text of an HTML page."""
    environment = Environment(
        loader=PackageLoader("prumo.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    lead, *rest = sentences(report)
    figures = [_embedded(figure) for figure in _figures(results, report)]
    text: str = environment.get_template("report.html").render(
        report=report,
        description=results.study.description if results.study is not None else "",
        lead=lead,
        sentences=rest,
        confidence=f"{100 * report.confidence:g} %",
        metrics=[metric_of(name) for name in report.selected],
        scenarios=_scenario_rows(report),
        main_figure=figures[:1],
        figures=figures[1:],
        tables=_metric_tables(report),
        equality=_equality(report),
        profiles=profile_tables(report),
        missing_profiles=missing_profiles(report),
        profile_figure=_profile_figure(report),
        failures=failure_groups(report),
        setting=setting(results.records),
        parameters=_common_parameters(results.records),
        plan={name: value for name, value in results.plan.items() if not _is_nested(value)},
        packages=_packages(results.records),
        repeatable=(results.path / STUDY_FILE).is_file(),
        folder=results.path.resolve().name,
        version=__version__,
        missing=MISSING,
    )
    return text


def _embedded(figure: Figure) -> tuple[Figure, Markup]:
    return figure, Markup(figure.svg)  # noqa: S704 (our own SVG)


def _profile_figure(report: Report) -> list[tuple[Figure, Markup]]:
    if not report.profiles:
        return []
    return [_embedded(profiles_figure(report.profiles, report.runs, report.varying))]


def _code(text: str) -> Markup:
    """Escaped text in which what stands between backticks is code."""
    parts = text.split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _figures(results: Results, report: Report) -> list[Figure]:
    metric = report.main_metric
    if metric is None:
        return []
    rows = report.metric_summary(metric)
    figures: list[Figure | None] = [
        scenarios_figure(report.finished, rows, report.varying, metric, report.confidence)
    ]
    if len(report.compared) >= FACTORS_FOR_EFFECTS:
        figures.append(
            effects_figure(report.effects, metric, report.confidence, balanced=report.balanced)
        )
    figures += [usage_figure(results, report.varying), loss_figure(results, report.varying)]
    return [figure for figure in figures if figure is not None]


def _scenario_rows(report: Report) -> list[ScenarioRow]:
    means = {(row["scenario"], row["metric"]): row for row in report.summary.iter_rows(named=True)}
    rows = []
    for (name,), runs in report.runs.group_by("scenario", maintain_order=True):
        scenario = str(name)
        levels = runs.row(0, named=True)
        rows.append(
            ScenarioRow(
                name=scenario,
                levels=[levels_label(levels, [factor]) for factor in report.varying],
                finished=int((runs["verdict"] == "finished").sum()),
                ended=runs.height,
                cells=[_cell(means.get((scenario, metric))) for metric in report.selected],
            )
        )
    return rows


def _equality(report: Report) -> dict[str, Any] | None:
    if report.equality is None:
        return None
    return {
        "verdict": verdict(report.equality),
        "method": method(report.equality),
        "heads": HEADS,
        "networks": [(network, equality_rows(network)) for network in report.equality.networks],
    }


def _cell(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell(MISSING, "")
    scale = scale_of(row["mean"], row["unit"])
    if row["ci_low"] is None:
        return Cell(scale.text(row["mean"]), "1 run, no interval")
    return Cell(scale.text(row["mean"]), scale.interval(row["ci_low"], row["ci_high"]))


def _metric_tables(report: Report) -> list[MetricTable]:
    names = report.summary["metric"].unique(maintain_order=True).to_list()
    ordered = [*report.selected, *(name for name in names if name not in report.selected)]
    return [
        MetricTable(
            metric_of(name),
            [_statistics(row, report) for row in report.metric_summary(name).iter_rows(named=True)],
        )
        for name in ordered
    ]


def _statistics(row: dict[str, Any], report: Report) -> dict[str, str]:
    scale = scale_of(row["mean"], row["unit"])
    return {
        "scenario": row["scenario"],
        "levels": levels_label(row, report.varying),
        "n": str(row["n"]),
        "mean": scale.text(row["mean"]),
        "deviation": scale.number(row["standard_deviation"]),
        "interval": scale.interval(row["ci_low"], row["ci_high"]),
        "median": scale.number(row["median"]),
        "minimum": scale.number(row["minimum"]),
        "maximum": scale.number(row["maximum"]),
    }


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
