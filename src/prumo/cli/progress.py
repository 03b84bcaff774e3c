"""How the progress of an execution is shown: a live line, plain lines, or JSON."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from prumo.execute.event import (
    Activity,
    Event,
    Remark,
    RunAdvanced,
    RunEnded,
    RunStarted,
    StudyEnded,
    StudyStarted,
)
from prumo.execute.remaining import Remaining
from prumo.results.record import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.progress import Progress, TaskID

    from prumo.execute.event import Listener
    from prumo.results.record import RunRecord

EVENT_NAMES = {
    StudyStarted: "study_started",
    Remark: "remark",
    Activity: "activity",
    RunStarted: "run_started",
    RunAdvanced: "run_advanced",
    RunEnded: "run_ended",
    StudyEnded: "study_ended",
}
MARKS = {Verdict.FINISHED: "✓", Verdict.UNAVAILABLE: "○", Verdict.INTERRUPTED: "■"}


@contextmanager
def open_progress(again: Sequence[str], results: Path, *, as_json: bool) -> Iterator[Listener]:
    """A listener that fits where the output goes; `again` are the words to go on with."""
    if as_json:
        yield JsonProgress()
    elif sys.stdout.isatty():
        from rich.progress import (  # noqa: PLC0415 (only a terminal needs it)
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        # Once a second: a livelier bar would disturb what it shows.
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            refresh_per_second=1,
        ) as bar:
            yield LiveProgress(bar, again, results)
    else:
        yield PlainProgress(again, results)


class PlainProgress:
    """One line per run that ended."""

    def __init__(self, again: Sequence[str], results: Path) -> None:
        self._again = shlex.join(again)
        self._results = results
        self._remaining = Remaining((), {})

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case StudyStarted():
                self._remaining = Remaining(event.pending, event.seconds)
                self._print(_beginning(event))
            case Remark(text):
                self._print(text)
            case RunStarted(run):
                self._remaining.started(run)
            case RunEnded(record):
                self._remaining.ended(record.run, record.scenario, _taught_seconds(record))
                self._print(f"[{self._remaining.done}/{self._remaining.total}] {_ending(record)}")
            case StudyEnded():
                for line in _closing(event, self._again, self._results):
                    self._print(line)
        self._refresh(event)

    def _print(self, text: str) -> None:
        click.echo(text)

    def _refresh(self, event: Event) -> None:
        """Plain lines have nothing to refresh."""


class LiveProgress(PlainProgress):
    """The same lines above a bar with the current run and the time left."""

    def __init__(self, bar: Progress, again: Sequence[str], results: Path) -> None:
        super().__init__(again, results)
        self._bar = bar
        self._task: TaskID = bar.add_task("starting", total=None, left="")

    def _print(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def _refresh(self, event: Event) -> None:
        match event:
            case RunStarted(run):
                self._bar.update(self._task, description=run.name)
            case Activity(text, detail):
                description = f"{text}: {detail}" if detail else text
                self._bar.update(self._task, description=description)
            case RunAdvanced(run, done, epochs) if done:
                of = f"/{epochs}" if epochs else ""
                self._bar.update(self._task, description=f"{run.name} epoch {done}{of}")
            case StudyEnded():
                self._bar.update(self._task, visible=False)
        seconds = self._remaining.seconds()
        self._bar.update(
            self._task,
            completed=self._remaining.done,
            total=self._remaining.total,
            left=f"about {_clock(seconds)} left" if seconds else "",
        )


class JsonProgress:
    """One JSON object per event; how far an activity is, is no event."""

    def __init__(self) -> None:
        self._activity = ""

    def __call__(self, event: Event) -> None:
        """Print an event."""
        if isinstance(event, Activity):
            if event.text == self._activity:
                return
            self._activity = event.text
        click.echo(json.dumps(_as_dict(event), ensure_ascii=False))


def _as_dict(event: Event) -> dict[str, object]:
    match event:
        case StudyStarted():
            told: dict[str, object] = {
                "study": event.study,
                "results": str(event.results),
                "kept": event.kept,
                "pending": [run.name for run in event.pending],
            }
        case Remark(text) | Activity(text):
            told = {"text": text}
        case RunStarted(run):
            told = {"run": run.name, "factors": dict(run.scenario.factors)}
        case RunAdvanced(run, done, epochs):
            told = {"run": run.name, "epochs_done": done, "epochs": epochs}
        case RunEnded(record):
            fields = {"run", "verdict", "reason", "wall_seconds", "metrics"}
            told = record.model_dump(mode="json", include=fields)
        case StudyEnded():
            told = {
                "results": str(event.results),
                "verdicts": event.verdicts,
                "interrupted": event.interrupted,
            }
    return {"event": EVENT_NAMES[type(event)], **told}


def _beginning(event: StudyStarted) -> str:
    kept = f", {event.kept} already there" if event.kept else ""
    runs = "1 run" if len(event.pending) == 1 else f"{len(event.pending)} runs"
    return f"{event.study}: {runs} to do{kept} → {event.results}"


def _ending(record: RunRecord) -> str:
    levels = " ".join(f"{name}={level}" for name, level in record.factors.items())
    mark = MARKS.get(record.verdict, "✗")
    text = f"{mark} {record.run}  {record.verdict.value}  {levels}"
    if record.wall_seconds:
        text += f"  {_clock(record.wall_seconds)}"
    return f"{text}  {record.reason}" if record.reason else text


def _closing(event: StudyEnded, again: str, results: Path) -> Iterator[str]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(event.verdicts.items()))
    yield f"runs: {counts or 'none'}"
    if event.interrupted:
        yield "stopped; everything that finished is kept"
        yield f"go on with:  {again}"
        return
    if any(Verdict(verdict).is_failure for verdict in event.verdicts):
        yield f"try failed ones again with:  {again} --retry-failed"
    yield f"report with:  prumo report {results}"


def _taught_seconds(record: RunRecord) -> float | None:
    return record.wall_seconds or None


def _clock(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 (a minute)
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
