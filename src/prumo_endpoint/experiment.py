"""One run of the workload `requests`, in a process of its own.

    python -m prumo_endpoint.experiment TASK

Calibrates the load generator, starts the target, carries out the scenario, stops the target, and
reports to the journal as any worker does. Each request is a row of `requests.csv` in the run's
folder; `load.json` beside it has the calibration and the starts of instances.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import PrumoError, UnavailableError
from prumo.exit_codes import ExitCode
from prumo.files import write_json
from prumo.progress import LineProgress
from prumo.results.record import Verdict
from prumo.supervise.interruption import sigterm_as_interrupt
from prumo_endpoint.exchange import HEALTHY, PING, exchange
from prumo_endpoint.launcher import read_payloads
from prumo_endpoint.load.calibration import FIRST_RATE, calibrate
from prumo_endpoint.load.generator import Generator
from prumo_endpoint.load.request_table import (
    NOT_COUNTED,
    REQUESTS_FILE,
    RequestTable,
    figures,
    ramp_phase,
)
from prumo_endpoint.load.sent import prepared_request
from prumo_endpoint.resources import proportional_cpus
from prumo_endpoint.sagemaker.account import BAD_CREDENTIALS
from prumo_endpoint.scenarios import Load, run_scenario
from prumo_endpoint.targets import (
    TargetOptions,
    is_image,
    make_target,
    split_command,
    target_kind,
)
from prumo_endpoint.workload import RequestsParameters
from prumo_worker.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.progress import Progress
    from prumo_endpoint.load.request_table import Row
    from prumo_endpoint.targets import Server, Target

LOAD_FILE = "load.json"
FORMAT = 1
READY_SECONDS = 180.0
PING_SECONDS = 2.0
_POLL_SECONDS = 0.02
OUT_OF_MEMORY = "out_of_memory"


def main(task_file: str) -> int:
    """Carry out the run that a task file describes."""
    path = Path(task_file)
    task = json.loads(path.read_text("utf-8"))
    metrics: dict[str, float] = {}
    with closing(Journal(task["journal"])) as journal, sigterm_as_interrupt():
        try:
            metrics, failure = experiment(task, path.parent, LineProgress(_print))
        except UnavailableError as error:
            failure = (Verdict.UNAVAILABLE, str(error))
        except PrumoError as error:
            failure = (Verdict.CRASHED, str(error))
        if failure is not None:
            journal.event("metric", **metrics)
            journal.event("failed", kind=failure[0], message=failure[1])
            return ExitCode.FINDINGS
        journal.event("finished", metrics=metrics)
    return ExitCode.DONE


def experiment(
    task: Mapping[str, Any], folder: Path, progress: Progress
) -> tuple[dict[str, float], tuple[Verdict, str] | None]:
    """The metrics of a run, and why they are worth nothing, if so."""
    # Those that the study does not give and that have no default are absent.
    parameters = dict.fromkeys(RequestsParameters.model_fields) | task["parameters"]
    payloads = read_payloads([Path(each) for each in task["payloads"]], task["content_type"])
    target = _target(parameters)
    with target.running() as server:
        _await_ready(server, progress)
        requests = [
            prepared_request(server.address, body.content, body.content_type)
            for _, body in payloads
        ]
        progress.show("calibrating the load generator")
        calibration = calibrate(max(requests, key=len))
        sizes = [(name, len(body.content)) for name, body in payloads]
        on_demand = server.instances is not None or server.starts_on_demand
        known_boots = task.get("known_boots")
        if known_boots is None and server.instances is not None:
            known_boots = ()
        with (
            RequestTable(
                folder / REQUESTS_FILE,
                sizes,
                starts_on_demand=on_demand,
                known_boots=known_boots,
            ) as table,
            Generator(
                server.address,
                requests,
                connections=parameters["connections"],
                answer_seconds=parameters["answer_seconds"],
            ) as generator,
        ):
            most_failures = parameters["stop_after_failures"]
            stop = partial(table.has_failed, most_failures or sys.maxsize)
            began, began_at = time.perf_counter(), time.time()
            load = Load(generator, table, server, parameters, progress, began, stop)
            further = run_scenario(load)
            table.write_all()
        boots = server.instances.boots() if server.instances is not None else []
        write_json(
            folder / LOAD_FILE,
            {
                "format": FORMAT,
                "target": target.name,
                "calibration": calibration.as_dict(),
                "boots": [asdict(boot) for boot in boots],
            },
        )
        if server.service_metrics is not None:
            further |= server.service_metrics.collect(table.rows, began_at, folder)
    rows = table.rows
    if further.get("highest_rate"):
        # Rates that were too high say nothing about the one that keeps the goal.
        phase = ramp_phase(further["highest_rate"])
        rows = [row for row in rows if row.phase == phase]
    metrics = figures(rows) | further
    if parameters["model"] is not None:
        metrics["model_bytes"] = _size_bytes(Path(parameters["model"]))
    metrics |= {f"generator_{name}": value for name, value in calibration.as_dict().items()}
    return metrics, _worthless(rows, metrics, parameters)


def _size_bytes(model: Path) -> int:
    files = [model] if model.is_file() else (each for each in model.rglob("*") if each.is_file())
    return sum(each.stat().st_size for each in files)


def _target(parameters: Mapping[str, Any]) -> Target:
    kind, address = parameters["target"], parameters.get("address")
    options = target_options(kind, parameters)
    if address is not None:
        words = split_command(address) if kind == "process" else [address]
        return make_target(kind, words, options)
    return make_target(kind, serve_command(parameters), options)


def target_options(kind: str, parameters: Mapping[str, Any]) -> TargetOptions:
    """What the target is to keep to; a study has been refused that asks for more than it can."""
    is_trace = parameters["experiment"] == "trace"
    speed = parameters["trace_speed"] if is_trace else 1.0
    wanted: dict[str, Any] = {
        "memory_mb": parameters.get("memory_mb"),
        "cpus": parameters.get("cpus"),
        "cpus_per_gb": parameters.get("cpus_per_gb"),
        "max_concurrency": parameters.get("max_concurrency"),
        "idle_seconds": parameters["idle_timeout_seconds"] / speed,
        "region": parameters.get("region"),
    }
    if is_image(kind, parameters.get("address") or ""):
        model = parameters.get("model")
        wanted["model"] = None if model is None else Path(model)
        wanted["network"] = parameters.get("container_network")
    known = target_kind(kind).options
    if wanted["cpus_per_gb"] is not None and "cpus_per_gb" not in known:
        wanted["cpus"] = proportional_cpus(wanted["memory_mb"], wanted["cpus_per_gb"])
    return TargetOptions(**{name: value for name, value in wanted.items() if name in known})


def serve_command(parameters: Mapping[str, Any]) -> list[str]:
    """The command by which Prumo serves the model of a run."""
    words = [sys.executable, "-m", "prumo", "serve", str(parameters["model"])]
    named = {"--runtime": "runtime", "--stack": "stack", "--max-wait-ms": "batch_wait_ms"}
    for option, name in named.items():
        if parameters.get(name) is not None:
            words += [option, str(parameters[name])]
    return [*words, "--log-level", "warning"]


def _await_ready(server: Server, progress: Progress) -> None:
    """Wait for /ping; an endpoint that starts on demand is asked as it is."""
    if server.process is None:
        return
    progress.show("waiting for /ping")
    end = time.monotonic() + READY_SECONDS
    while exchange(server.address, PING, PING_SECONDS).status != HEALTHY:
        ending = server.process.start_error or server.process.ending()
        if ending or time.monotonic() > end:
            how = ending or f"is not ready after {READY_SECONDS:.0f} s"
            raise PrumoError(f"the server {how}: {server.process.last_output()}")
        time.sleep(_POLL_SECONDS)


def _worthless(
    rows: Sequence[Row],
    metrics: Mapping[str, float],
    parameters: Mapping[str, Any],
) -> tuple[Verdict, str] | None:
    if without := sum(row.reason in BAD_CREDENTIALS for row in rows):
        return Verdict.INVALID, (
            f"the AWS credentials did not work for {without} of {len(rows)} requests; renew them "
            "and run it again"
        )
    if not metrics["inferences"]:
        if any(row.reason == OUT_OF_MEMORY for row in rows):
            return Verdict.OUT_OF_MEMORY, "every instance ran out of memory"
        outcomes = Counter(row.reason or row.outcome for row in rows)
        listed = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        return Verdict.CRASHED, f"no request was answered: {listed or 'none was sent'}"
    if parameters["experiment"] == "cold-start" and (reason := _not_proven_cold(rows)):
        return Verdict.INVALID, reason
    reason = _generator_fault(metrics, parameters["most_lateness_share"])
    return (Verdict.INVALID, reason) if reason else None


def _generator_fault(metrics: Mapping[str, float], most_lateness_share: float) -> str:
    """Why the figures may be those of the load generator; empty where they are not."""
    honest = metrics["generator_honest_requests_per_second"]
    offered = metrics.get("highest_rate") or metrics.get("offered_per_second") or 0.0
    if offered > (honest or FIRST_RATE):
        held = f"{honest:.4g}" if honest else f"fewer than {FIRST_RATE:.4g}"
        return (
            f"{offered:.4g} requests/s were asked for, and the load generator holds {held} here: "
            "the figures may be its own limit"
        )
    share = metrics["lateness_share"]
    if share > most_lateness_share:
        return (
            f"the load generator was late by {share:.0%} of the latency, more than "
            f"{most_lateness_share:.0%}: this machine is too slow or too busy to send so many "
            "requests"
        )
    return ""


def _not_proven_cold(rows: Sequence[Row]) -> str:
    """Which answers may be warm ones; empty where each has proven that an instance was started."""
    answered = [row for row in rows if row.phase not in NOT_COUNTED and row.is_answered]
    reasons = Counter(_warmth(row) for row in answered if not row.is_cold)
    if not reasons:
        return ""
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return f"{reasons.total()} of {len(answered)} requests were not proven cold: {listed}"


def _warmth(row: Row) -> str:
    if not row.boot_id:
        return "without a boot id in the answer"
    if row.is_cold is None:
        return "by the first start that answered, which may be an old one"
    return "answered by a start that had answered before (`idle_seconds` may be too short)"


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
