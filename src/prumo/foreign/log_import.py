"""Bring the logs of other trainings into a results folder, as runs that were not measured here."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StorageError
from prumo.foreign.logs import Log, read_log
from prumo.results.folder import JOURNAL_FILE, LOG_FILE, ResultsFolder
from prumo.results.record import RunRecord, Verdict
from prumo.run.journal import journal_metrics, read_events
from prumo.run.verdict import find_anomalies
from prumo.study import Run, Scenario
from prumo_worker.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.foreign.logs import LoggedStep, LogKind


def import_logs(
    kind: LogKind, files: Sequence[Path], results: Path, epoch_images: int | None = None
) -> list[RunRecord]:
    """Make a run of every log; all are read before anything is written.

    Args:
        kind: which library wrote the logs.
        files: the logs, named `train_NETWORK_MODE_BATCH.log`.
        results: the folder that the runs go into, made where it is missing.
        epoch_images: images of one epoch, to divide the steps into epochs; all are one without.
    """
    logs = [read_log(kind, file) for file in files]
    study = results.resolve().name
    folder = ResultsFolder(results.absolute())
    folder.create()
    with folder.locked():
        _refuse_known(logs, _records(folder))
        return [_import(log, folder, study, epoch_images) for log in logs]


def _import(log: Log, folder: ResultsFolder, study: str, epoch_images: int | None) -> RunRecord:
    records = _records(folder)
    imported = f"{log.kind.name} {log.file.name}"
    mark = hashlib.sha256(json.dumps([imported, log.factors]).encode()).hexdigest()[:16]
    run = _place(log.factors, records)
    path = folder.begin(run.name)
    _write(log, path, epoch_images)
    events = read_events(path / JOURNAL_FILE)
    metrics = journal_metrics(events)
    anomalies = find_anomalies(events, metrics, ())
    reason = next(filter(None, (anomaly.worthless for anomaly in anomalies)), "")
    record = RunRecord(
        run=run.name,
        scenario=run.scenario.name,
        replication=run.replication,
        study=study,
        factors=log.factors,
        parameters=log.factors,
        fingerprint=mark,
        verdict=Verdict.INVALID if reason else Verdict.FINISHED,
        reason=reason,
        notes=[log.kind.note] if log.kind.note else [],
        anomalies=list(anomalies),
        imported=imported,
        log_sha256=log.sha256,
        order=1 + max((known.order for known in records), default=0),
        metrics=metrics,
    )
    folder.finish(record)
    return record


def _refuse_known(logs: Sequence[Log], records: Sequence[RunRecord]) -> None:
    """Refuse a log that is there already: it would be a replication of itself."""
    known = {record.log_sha256: record.run for record in records}
    for log in logs:
        if log.sha256 in known:
            raise InputError(f"{log.file}: this log is there already, as {known[log.sha256]}")
        known[log.sha256] = str(log.file)


def _records(folder: ResultsFolder) -> list[RunRecord]:
    records = [record for path in folder.run_paths() if (record := folder.record(path.name))]
    for record in records:
        if not record.imported:
            raise InputError(
                f"{folder.path} holds runs that were measured ({record.run}); imported ones go "
                "into a folder of their own"
            )
    return records


def _place(factors: dict[str, Any], records: list[RunRecord]) -> Run:
    """The next replication of the scenario with these levels, or the first of a new one."""
    same = [record for record in records if record.factors == factors]
    numbers = [int(record.scenario.removeprefix("C")) for record in same or records]
    number = numbers[0] if same else 1 + max(numbers, default=0)
    replication = 1 + max((record.replication for record in same), default=0)
    return Run(Scenario(number, factors, factors), replication)


def _write(log: Log, path: Path, epoch_images: int | None) -> None:
    length = _epoch_length(log, epoch_images)
    try:
        shutil.copyfile(log.file, path / LOG_FILE)
        journal = Journal(path / JOURNAL_FILE)
        journal.events("step", [_step_row(step, log.batch_size, length) for step in log.steps])
        for number, epoch in _epochs(log, length).items():
            journal.event(
                "epoch",
                epoch=number,
                seconds=epoch.seconds,
                images=epoch.steps * log.batch_size,
                loss=epoch.summed_loss / epoch.steps,
            )
        journal.event("finished")
        journal.close()
    except OSError as error:
        raise StorageError.on_writing(path, error) from error


def _epoch_length(log: Log, epoch_images: int | None) -> int:
    """The steps of one epoch; without its images all steps are one."""
    if epoch_images is None:
        return max(1, log.steps[-1].number)
    # As the trainings behind such logs count: the rest of an incomplete batch is left out.
    return max(1, epoch_images // log.batch_size)


def _step_row(step: LoggedStep, batch_size: int, length: int) -> dict[str, Any]:
    """A step that was told; those without a time are epoch 0, which no figure counts."""
    told = {"loss": step.loss, "images": batch_size}
    epoch, place = divmod(max(0, step.number - 1), length)
    if step.seconds is None:
        return {"epoch": 0, "step": place + 1, **told}
    return {"epoch": epoch + 1, "step": place + 1, **told, "seconds": step.seconds}


@dataclass
class _Epoch:
    seconds: float = 0.0
    steps: int = 0
    summed_loss: float = 0.0


def _epochs(log: Log, length: int) -> dict[int, _Epoch]:
    """The timed steps by epoch; a line that stands for several steps may reach into the next."""
    epochs: dict[int, _Epoch] = {}
    for step in log.steps:
        done = max(0, step.number - step.iterations)
        while step.seconds is not None and done < step.number:
            number = done // length + 1
            count = min(step.number, number * length) - done
            epoch = epochs.setdefault(number, _Epoch())
            epoch.steps += count
            epoch.seconds += count * step.seconds
            epoch.summed_loss += count * step.loss
            done += count
    return epochs
