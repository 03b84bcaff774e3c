"""Logs of trainings that others made: read, and imported as runs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StorageError
from prumo.results.folder import JOURNAL_FILE, LOG_FILE, ResultsFolder
from prumo.results.record import RunRecord, Verdict
from prumo.run.journal import journal_metrics, read_events
from prumo.run.verdict import WORTHLESS, find_anomalies
from prumo.study import Run, Scenario
from prumo_worker.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
"""How both libraries print a figure."""

_NAME = re.compile(
    r"train_(?P<network>[A-Za-z0-9_.-]+)_(?P<mode>CPU|GPU)_(?P<batch>\d+)\.log", re.IGNORECASE
)

# A single step is the warm-up: with one more there is a time to speak of.
_FEWEST_STEPS = 2


@dataclass(frozen=True)
class LoggedStep:
    """One step as a log tells it."""

    number: int
    loss: float
    seconds: float | None
    """Of one step; None where the log has no time, or none that can be believed."""
    iterations: int = 1
    """How many steps the line stands for: its own and those since the line before."""


@dataclass(frozen=True)
class LogKind:
    """How one library writes its log."""

    name: str
    """As the command line calls it: `caffe-log`."""
    framework: str
    title: str
    """As people write the library's name."""
    step: Callable[[str], LoggedStep | None]
    """The step that a line tells of; none for every other line."""
    note: str = ""
    """What a reader of the figures must know."""
    device: re.Pattern[str] | None = None
    """What the library prints of its device, cpu or gpu in the first group; none where nothing."""


@dataclass(frozen=True)
class Log:
    """All steps of one training, and what was trained."""

    kind: LogKind
    file: Path
    factors: dict[str, Any]
    steps: tuple[LoggedStep, ...]
    sha256: str

    @property
    def batch_size(self) -> int:
        """Images per step."""
        return int(self.factors["batch_size"])


def read_log(kind: LogKind, file: Path) -> Log:
    """Read a log named `train_NETWORK_MODE_BATCH.log`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    factors = _factors(kind, file)
    text = content.decode(errors="replace")
    steps = tuple(_steps(kind, text.splitlines()))
    if not steps:
        raise InputError(
            f"{file}: no step with its loss and time is in it; is it a whole "
            f"{kind.name.replace('-', ' ')}?"
        )
    _require_figures(file, steps)
    _require_device(kind, file, text, factors["machine"])
    return Log(kind, file, factors, steps, hashlib.sha256(content).hexdigest())


def _require_figures(file: Path, steps: Iterable[LoggedStep]) -> None:
    timed = sum(step.iterations for step in steps if step.seconds is not None)
    if timed < _FEWEST_STEPS:
        raise InputError(
            f"{file}: the log is cut: it has the loss and time of {timed} "
            f"step{'' if timed == 1 else 's'}, and {_FEWEST_STEPS} are the fewest"
        )


def _require_device(kind: LogKind, file: Path, text: str, device: str) -> None:
    """Refuse a log that says another device than its name; the last training in it counts."""
    said = kind.device.findall(text) if kind.device else []
    if said and said[-1].lower() != device:
        raise InputError(
            f"{file}: the name says {device.upper()}, and the training in it used {said[-1]}"
        )


def _steps(kind: LogKind, lines: Iterable[str]) -> Iterable[LoggedStep]:
    """The steps of the last training in a log; a number that goes back is a new beginning."""
    steps: list[LoggedStep] = []
    for step in filter(None, map(kind.step, lines)):
        if steps and step.number < steps[-1].number:
            steps.clear()
        if steps and step.number == steps[-1].number:
            steps.pop()
        steps.append(step)
    return _with_iterations(steps)


def _with_iterations(steps: list[LoggedStep]) -> Iterator[LoggedStep]:
    """The steps with how many each stands for, as many logs tell only every twentieth."""
    if not steps:
        return
    distances = [after.number - before.number for before, after in pairwise(steps)]
    # A training that goes on from a snapshot does not begin at 0.
    first = max(1, min([steps[0].number, *distances[:1]]))
    for step, iterations in zip(steps, [first, *distances], strict=True):
        yield replace(step, iterations=iterations)


def _factors(kind: LogKind, file: Path) -> dict[str, Any]:
    name = _NAME.fullmatch(file.name)
    if not name or not int(name["batch"]):
        raise InputError(
            f"{file}: the file name must say what was trained: "
            "train_NETWORK_MODE_BATCH.log, such as train_alexnet_GPU_064.log"
        )
    return {
        "framework": kind.framework,
        "machine": name["mode"].lower(),
        "network": name["network"],
        "batch_size": int(name["batch"]),
    }


_CAFFE_LINE = re.compile(
    rf"Iteration (?P<step>\d+) \({NUMBER} iter/s, (?P<seconds>{NUMBER})s/(?P<count>\d+) iters\), "
    rf"loss = (?P<loss>{NUMBER})"
)
# `Use CPU.` and `Using GPUs 0, 1`.
_DEVICE = re.compile(r"\] Us(?:e|ing) (CPU|GPU)")


def read_caffe_step(line: str) -> LoggedStep | None:
    """The step of a line; iteration 0 has no time, as nothing has been timed by then."""
    found = _CAFFE_LINE.search(line)
    if not found:
        return None
    number = int(found["step"])
    seconds = float(found["seconds"]) / max(1, int(found["count"]))
    return LoggedStep(number, float(found["loss"]), seconds if number else None)


CAFFE = LogKind(
    name="caffe-log",
    framework="caffe",
    title="Caffe",
    step=read_caffe_step,
    note="iteration 0 is not in the times: what Caffe prints for it is not a time of a step",
    device=_DEVICE,
)


_LINE = re.compile(
    rf"INFO:tensorflow:global step (?P<step>\d+): loss = (?P<loss>{NUMBER}) "
    rf"\((?P<seconds>{NUMBER}) sec/step\)"
)


def read_tensorflow_step(line: str) -> LoggedStep | None:
    """The step of a line."""
    found = _LINE.search(line)
    if not found:
        return None
    return LoggedStep(int(found["step"]), float(found["loss"]), float(found["seconds"]))


TENSORFLOW = LogKind(
    name="tensorflow-log",
    framework="tensorflow",
    title="TensorFlow-Slim",
    step=read_tensorflow_step,
)


KINDS: Mapping[str, LogKind] = MappingProxyType({kind.name: kind for kind in (CAFFE, TENSORFLOW)})


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
