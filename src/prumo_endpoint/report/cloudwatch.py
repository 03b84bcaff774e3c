"""The section of a report on what CloudWatch measured of a SageMaker endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rich.text import Text

from prumo.message import Message
from prumo.quantity import MISSING
from prumo.report.sections.section import PageSection, Section, TextTable
from prumo_endpoint.report.table import print_table
from prumo_endpoint.sagemaker.cloudwatch import CLOUDWATCH_FILE, METRICS, Point, read_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results

TITLE = Message("CloudWatch: means that SageMaker measured")


@dataclass(frozen=True)
class CloudWatchSection(Section):
    """ModelLatency, OverheadLatency and ModelSetupTime by scenario."""

    name = "cloudwatch"
    points: dict[str, list[Point]]
    """By scenario."""
    missing: int

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The points of all finished runs."""
        points: dict[str, list[Point]] = {}
        missing = 0.0
        for record in results.records:
            path = results.path / "runs" / record.run / CLOUDWATCH_FILE
            if record.verdict == "finished" and path.exists():
                points.setdefault(record.scenario, []).extend(read_points(path))
                missing += record.metrics.get("cloudwatch_missing", 0.0)
        return cls(report, points, int(missing))

    def table(self, language: Language) -> TextTable:
        """A row per scenario: the mean of each metric."""
        rows = []
        for scenario, points in self.points.items():
            cells = [scenario, str(sum(p.samples for p in points if p.metric == "ModelLatency"))]
            for name in METRICS:
                of_metric = [point for point in points if point.metric == name]
                if not of_metric:
                    cells.append(MISSING)
                    continue
                samples = sum(point.samples for point in of_metric)
                total = sum(point.mean_seconds * point.samples for point in of_metric)
                cells.append(language.quantity(total / samples, "s"))
            rows.append(tuple(cells))
        heads = (*language.each("scenario", "answered"), *METRICS)
        return TextTable(self.name, language.say(TITLE), heads, tuple(rows), words=1)

    def remarks(self) -> list[Message]:
        """What can and cannot be said of single requests."""
        sole = sum(
            point.request is not None and point.metric == "ModelLatency"
            for points in self.points.values()
            for point in points
        )
        remarks = [
            Message(
                "CloudWatch keeps one point a minute. {sole} of these requests were alone in their "
                "minute, so that its point is theirs; the others share points and cannot be told "
                "apart.",
                {"sole": sole},
            )
        ]
        if self.missing:
            remarks.append(
                Message(
                    "CloudWatch had no points of {missing} answers when the runs stopped waiting "
                    "for them.",
                    {"missing": self.missing},
                )
            )
        return remarks

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The table and its limits."""
        if not self.points:
            return None
        values = {"table": self.table(language), "remarks": self.remarks()}
        return PageSection(self.name, language.say(TITLE), "table", values)

    def print(self, console: Console, language: Language, /) -> None:
        """The same."""
        if not self.points:
            return
        print_table(self.table(language), console)
        for remark in self.remarks():
            console.print(Text(language.say(remark)))

    def tables(self, language: Language, /) -> list[TextTable]:
        """The same for documents."""
        return [self.table(language)] if self.points else []
