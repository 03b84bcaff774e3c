"""Runs handed to MLflow: each becomes an MLflow run, once however often it is exported."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.errors import UnavailableError
from prumo.money.cost import kept_costing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.progress import Progress
    from prumo.results.record import RunRecord
    from prumo.results.tables import Results

TAG = "prumo."
# What MLflow allows in names, without the slash, which its file store takes for a folder.
NOT_IN_NAMES = re.compile(r"[^\w\-. :]", re.ASCII)
LONGEST_VALUE = 5000
CURVES = ("loss", "accuracy")

# The tag that is set last: a run without it was not handed over whole.
DIGEST = f"{TAG}digest"
RUN, STUDY = f"{TAG}run", f"{TAG}study"
# The most that MLflow takes in one call, by its REST API.
METRICS_AT_ONCE, OTHERS_AT_ONCE = 1000, 100
RUNS_AT_ONCE = 1000
STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "timeout": "KILLED"}
SETTINGS = {
    # Whoever names a folder wants it, though MLflow would rather have a database.
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # By default a server that is not there is asked for minutes.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
}


def export_to_mlflow(
    results: Results, tracking_uri: str, experiment: str, progress: Progress
) -> Exported:
    """Hand every run that ended to MLflow; those that are there already are left alone."""
    client = _client(tracking_uri)
    exported = Exported(tracking_uri, experiment)
    with _explained(tracking_uri):
        found = client.get_experiment_by_name(experiment)
        number = str(found.experiment_id if found else client.create_experiment(experiment))
        there = _there(client, number, results.study_name)
        for run in tracked_runs(results):
            known = there.get(run.name)
            if known is not None and known.data.tags.get(DIGEST) == run.digest:
                exported.kept.append(run.name)
                continue
            progress.show("handing runs over", run.name)
            if known is not None:
                client.delete_run(known.info.run_id)
            _write(client, number, run)
            (exported.added if known is None else exported.replaced).append(run.name)
    return exported


def _client(tracking_uri: str) -> Any:  # noqa: ANN401 (MLflow has no types)
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        from mlflow import MlflowClient  # noqa: PLC0415 (an extra, and slow to import)
    except ImportError as error:
        raise UnavailableError(
            "MLflow is not installed here; pip install 'prumo[mlflow]' brings it."
        ) from error
    with _explained(tracking_uri):
        return MlflowClient(tracking_uri=tracking_uri)


@contextmanager
def _explained(tracking_uri: str) -> Iterator[None]:
    """MLflow's own errors in words for a user."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415 (an extra, and slow to import)

    try:
        yield
    except MlflowException as error:
        first_line = str(error).strip().partition("\n")[0]
        raise UnavailableError(
            f"MLflow at '{tracking_uri}' cannot be used: {first_line}\n"
            "Give the address of a server (http://…) or a folder. A database such as sqlite:///… "
            "needs the whole of MLflow: pip install mlflow."
        ) from error


def _there(client: Any, experiment: str, study: str) -> dict[str, Any]:  # noqa: ANN401 (MLflow)
    """The runs of this study that MLflow has, by Prumo's names."""
    runs: list[Any] = []
    token = None
    while token != "":
        page = client.search_runs([experiment], max_results=RUNS_AT_ONCE, page_token=token)
        runs += page
        token = page.token or ""
    return {run.data.tags[RUN]: run for run in runs if run.data.tags.get(STUDY) == study}


def _write(client: Any, experiment: str, run: TrackedRun) -> None:  # noqa: ANN401 (MLflow)
    from mlflow.entities import Metric, Param, RunTag  # noqa: PLC0415 (an extra)

    created = client.create_run(experiment, start_time=run.started_ms, run_name=run.name)
    number = created.info.run_id
    ended_ms = run.started_ms + int(1000 * run.seconds)
    metrics = [Metric(name, value, ended_ms, 0) for name, value in run.metrics.items()]
    metrics += [Metric(point.name, point.value, ended_ms, point.step) for point in run.curves]
    for kind, items, most in (
        ("metrics", metrics, METRICS_AT_ONCE),
        ("params", [Param(*item) for item in run.parameters.items()], OTHERS_AT_ONCE),
        ("tags", [RunTag(*item) for item in run.tags.items()], OTHERS_AT_ONCE),
    ):
        for start in range(0, len(items), most):
            client.log_batch(number, **{kind: items[start : start + most]})
    client.set_terminated(number, STATUS.get(run.verdict, "FAILED"), ended_ms)
    client.set_tag(number, DIGEST, run.digest)


@dataclass(frozen=True)
class Point:
    """A value of a curve; the step counts from 1, as workers count."""

    name: str
    value: float
    step: int


@dataclass(frozen=True)
class TrackedRun:
    """All that is handed over of one run."""

    name: str
    verdict: str
    started_ms: int
    seconds: float
    parameters: dict[str, str]
    metrics: dict[str, float]
    curves: tuple[Point, ...]
    tags: dict[str, str]

    @property
    def digest(self) -> str:
        """A mark that changes when anything of the run does."""
        text = json.dumps(asdict(self), sort_keys=True)
        return sha256(text.encode()).hexdigest()


def tracked_runs(results: Results) -> Iterator[TrackedRun]:
    """Every run that ended, with what it costs where the results have prices."""
    costing = kept_costing(results)
    rows = {row["run"]: row for row in costing.runs.iter_rows(named=True)}
    for record in results.records:
        row = rows[record.run]
        figures = {name: row[name] for name in (*results.metrics, *costing.metrics)}
        started = datetime.fromisoformat(record.started).timestamp() if record.started else 0
        yield TrackedRun(
            name=record.run,
            verdict=record.verdict.value,
            started_ms=int(started * 1000),
            seconds=record.wall_seconds or 0.0,
            parameters=_texts({**record.parameters, **record.factors}),
            metrics={_name(name): value for name, value in figures.items() if value is not None},
            curves=_curves(results, record.run),
            tags=_texts(_tags(record)),
        )


def _tags(record: RunRecord) -> dict[str, Any]:
    facts = {
        "study": record.study,
        "run": record.run,
        "scenario": record.scenario,
        "replication": record.replication,
        "fingerprint": record.fingerprint,
        "verdict": record.verdict.value,
        "reason": record.reason,
        "device": record.device,
        "threads": record.threads,
        "imported": record.imported,
        "anomalies": ", ".join(record.anomalies),
        **{f"version.{name}": version for name, version in record.versions.items()},
    }
    return {f"{TAG}{name}": value for name, value in facts.items() if value not in ("", None)}


def _curves(results: Results, run: str) -> tuple[Point, ...]:
    """Loss by step, and loss and accuracy by epoch, as far as the run reported them."""
    steps = results.steps(run).filter(pl.col("epoch") > 0).select("loss").collect()
    epochs = results.epochs(run).select("epoch", *CURVES).collect()
    curves = [("step_loss", list(range(1, steps.height + 1)), steps["loss"])]
    curves += [(f"epoch_{name}", epochs["epoch"].to_list(), epochs[name]) for name in CURVES]
    return tuple(
        Point(name, value, place)
        for name, places, values in curves
        for place, value in zip(places, values, strict=True)
        if value is not None
    )


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {_name(name): str(value)[:LONGEST_VALUE] for name, value in values.items()}


def _name(name: str) -> str:
    return NOT_IN_NAMES.sub("_", name).strip() or "_"


@dataclass(frozen=True)
class Exported:
    """What became of the runs, by name."""

    tracking_uri: str
    experiment: str
    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """There before with other figures, or not whole."""
    kept: list[str] = field(default_factory=list)
    """There before, and the same."""
