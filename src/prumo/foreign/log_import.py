"""Logs of trainings that others made become runs of a results folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prumo.errors import InputError, StorageError
from prumo.foreign.logs import Log, LoggedStep, LogKind, read_log
from prumo.results.folder import JOURNAL_FILE, LOG_FILE, ResultsFolder
from prumo.results.record import RunRecord, Verdict
from prumo.run.journal import journal_metrics, read_events
from prumo.run.verdict import WORTHLESS, find_anomalies
from prumo.study import Run, Scenario
from prumo_worker.journal import Journal


def import_logs(
    kind: LogKind, files: Sequence[Path], results: Path, epoch_images: int | None = None
) -> list[RunRecord]:
    """Make a run of every log; all are read before anything is written.

    The images of one epoch divide the steps into epochs; without them all steps are one.
    """
    logs = [read_log(kind, file) for file in files]
    study = results.resolve().name
    folder = ResultsFolder(results.absolute())
    folder.create()
    with folder.locked():
        known = {record.log_sha256: record.run for record in _records(folder)}
        for log in logs:
            # It would be a replication of itself.
            if log.sha256 in known:
                raise InputError(f"{log.file}: this log is there already, as {known[log.sha256]}")
            known[log.sha256] = str(log.file)
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
    reason = next((WORTHLESS[anomaly] for anomaly in anomalies if anomaly in WORTHLESS), "")
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
    if epoch_images is None:
        length = max(1, log.steps[-1].number)
    else:
        # As the trainings behind such logs count: the rest of an incomplete batch is left out.
        length = max(1, epoch_images // log.batch_size)
    try:
        shutil.copyfile(log.file, path / LOG_FILE)
        journal = Journal(path / JOURNAL_FILE)
        journal.events("step", [_step_row(step, log.batch_size, length) for step in log.steps])
        for number, (steps, seconds, summed_loss) in _epochs(log, length).items():
            journal.event(
                "epoch",
                epoch=number,
                seconds=seconds,
                images=steps * log.batch_size,
                loss=summed_loss / steps,
            )
        journal.event("finished")
        journal.close()
    except OSError as error:
        raise StorageError.on_writing(path, error) from error


def _step_row(step: LoggedStep, batch_size: int, length: int) -> dict[str, Any]:
    """A step that was told; those without a time are epoch 0, which no figure counts."""
    told = {"loss": step.loss, "images": batch_size}
    epoch, place = divmod(max(0, step.number - 1), length)
    if step.seconds is None:
        return {"epoch": 0, "step": place + 1, **told}
    return {"epoch": epoch + 1, "step": place + 1, **told, "seconds": step.seconds}


def _epochs(log: Log, length: int) -> dict[int, tuple[int, float, float]]:
    """The timed steps by epoch, with their seconds and summed loss.

    A line that stands for several steps may reach into the next epoch.
    """
    epochs: dict[int, tuple[int, float, float]] = {}
    for step in log.steps:
        done = max(0, step.number - step.iterations)
        while step.seconds is not None and done < step.number:
            number = done // length + 1
            count = min(step.number, number * length) - done
            steps, seconds, loss = epochs.get(number, (0, 0.0, 0.0))
            seconds, loss = seconds + count * step.seconds, loss + count * step.loss
            epochs[number] = steps + count, seconds, loss
            done += count
    return epochs
