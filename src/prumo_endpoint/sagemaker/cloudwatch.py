"""What CloudWatch knows of a run's requests: one point a minute, in microseconds, minutes late.

A point is attributed to a request only where its minute holds one sample and one request.
"""

from __future__ import annotations

import csv
import os
import time
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from prumo_endpoint.sagemaker.account import Account, AccountError, aws_errors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_endpoint.load.request_table import Row

CLOUDWATCH_FILE = "cloudwatch.csv"
PATIENCE_VARIABLE = "PRUMO_CLOUDWATCH_SECONDS"
PATIENCE_SECONDS = 180.0
"""How long late points are waited for. The endpoint is paid for meanwhile."""
METRICS = {
    "ModelLatency": "model_latency_seconds",
    "OverheadLatency": "overhead_latency_seconds",
    "ModelSetupTime": "model_setup_seconds",
}
"""CloudWatch's name → the metric of a run: the mean over all samples."""
MISSING = "cloudwatch_missing"
_MICROSECONDS = 1e6
_MINUTE = 60
_POLL_SECONDS = 10.0
_STATISTICS = ["SampleCount", "Sum", "Minimum", "Maximum"]


@dataclass(frozen=True)
class Point:
    """One minute of one metric."""

    minute: str
    """When it began, UTC."""
    metric: str
    samples: int
    mean_seconds: float
    min_seconds: float
    max_seconds: float
    requests: int
    """Requests of the run that were under way in this minute."""
    request: int | None
    """The only request that it can be of; None where there is more than one."""


class CloudWatch:
    """The metrics of one endpoint."""

    def __init__(
        self, account: Account, endpoint: str, variants: Sequence[str], *, progress: Progress
    ) -> None:
        self._account = account
        self._endpoint = endpoint
        self._variants = variants
        self._progress = progress

    def collect(self, rows: Sequence[Row], began: float, folder: Path) -> dict[str, float]:
        """Wait for the points of these requests, keep them, and give their means."""
        answered = sum(row.is_answered for row in rows)
        if not answered:
            return {}
        patience = float(os.environ.get(PATIENCE_VARIABLE, PATIENCE_SECONDS))
        until = time.monotonic() + patience
        points: list[Point] = []
        seen, complaint = 0, ""
        while True:
            try:
                points = self._points(rows, began)
            except AccountError as error:
                if str(error) != complaint:
                    complaint = str(error)
                    self._progress.say(f"no points of CloudWatch: {complaint}")
                if error.is_refusal:
                    break
            seen = sum(point.samples for point in points if point.metric == "ModelLatency")
            remaining = until - time.monotonic()
            if seen >= answered or remaining <= 0:
                break
            self._progress.show("waiting for CloudWatch", f"{seen} of {answered} requests")
            time.sleep(min(_POLL_SECONDS, max(0.1, remaining)))
        write_points(folder / CLOUDWATCH_FILE, points)
        figures = _means(points)
        missing = max(0, answered - seen)
        if missing:
            self._progress.say(f"CloudWatch has nothing on {missing} requests by now")
        return figures | {MISSING: float(missing)}

    def _points(self, rows: Sequence[Row], began: float) -> list[Point]:
        first = began + min(row.start_seconds for row in rows)
        last = began + max(row.end_seconds for row in rows)
        start = datetime.fromtimestamp(first // _MINUTE * _MINUTE, UTC)
        end = datetime.fromtimestamp(last // _MINUTE * _MINUTE, UTC) + timedelta(minutes=2)
        client = self._account.client("cloudwatch")
        points = []
        for name in METRICS:
            for variant in self._variants:
                dimensions = {"EndpointName": self._endpoint, "VariantName": variant}
                with aws_errors("CloudWatch"):
                    said = client.get_metric_statistics(
                        Namespace="AWS/SageMaker",
                        MetricName=name,
                        Dimensions=[{"Name": n, "Value": v} for n, v in dimensions.items()],
                        StartTime=start,
                        EndTime=end,
                        Period=_MINUTE,
                        Statistics=_STATISTICS,
                    )
                points += [
                    _point(name, said_point, rows, began) for said_point in said["Datapoints"]
                ]
        return sorted(points, key=lambda point: (point.minute, point.metric))


def _point(
    metric: str, said: dict[str, float | datetime], rows: Sequence[Row], began: float
) -> Point:
    minute, samples = said["Timestamp"], said["SampleCount"]
    assert isinstance(minute, datetime)  # noqa: S101 (as boto3 promises)
    start = minute.timestamp() - began
    inside = [
        row for row in rows if row.start_seconds < start + _MINUTE and row.end_seconds >= start
    ]
    is_sole = samples == 1 and len(inside) == 1
    whole = is_sole and inside[0].start_seconds >= start and inside[0].end_seconds < start + _MINUTE
    seconds = {name: float(said[name]) / _MICROSECONDS for name in _STATISTICS}  # type: ignore[arg-type]  # only Timestamp is no number
    count = int(float(samples))  # type: ignore[arg-type]  # likewise
    return Point(
        minute=minute.astimezone(UTC).isoformat(timespec="seconds"),
        metric=metric,
        samples=count,
        mean_seconds=seconds["Sum"] / count,
        min_seconds=seconds["Minimum"],
        max_seconds=seconds["Maximum"],
        requests=len(inside),
        request=inside[0].request if whole else None,
    )


def _means(points: Sequence[Point]) -> dict[str, float]:
    figures = {}
    for name, metric in METRICS.items():
        of_metric = [point for point in points if point.metric == name]
        if samples := sum(point.samples for point in of_metric):
            total = sum(point.mean_seconds * point.samples for point in of_metric)
            figures[metric] = total / samples
    return figures


def write_points(path: Path, points: Sequence[Point]) -> None:
    """Keep points as a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Point)])
        writer.writeheader()
        writer.writerows(map(asdict, points))


def read_points(path: Path) -> list[Point]:
    """The points of a run."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Point(
                minute=row["minute"],
                metric=row["metric"],
                samples=int(row["samples"]),
                mean_seconds=float(row["mean_seconds"]),
                min_seconds=float(row["min_seconds"]),
                max_seconds=float(row["max_seconds"]),
                requests=int(row["requests"]),
                request=int(row["request"]) if row["request"] else None,
            )
            for row in csv.DictReader(file)
        ]
