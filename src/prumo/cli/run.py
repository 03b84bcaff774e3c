"""`prumo run`: carry out what is missing of a study, with progress as text, live, or as JSON."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import levels_text, print_json
from prumo.cli.numbers import FiniteFloatRange
from prumo.cli.options import load_study, results_option, scale_option
from prumo.exit_codes import ExitCode
from prumo.run import DEFAULT_EXECUTOR
from prumo.run.events import (
    Activity,
    Event,
    Remark,
    RunEnded,
    RunProgress,
    RunStarted,
    StudyEnded,
    StudyStarted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from rich.progress import Progress, TaskID

    from prumo.results.record import RunRecord

MARKS = {"finished": "✓", "unavailable": "○", "interrupted": "■"}


@click.command(
    epilog="Example:  prumo run study.yaml --only 'batch_size <= 64 and network == rede1'"
)
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path))
@results_option("Where run folders go.  [default: results/NAME, or results/NAME-SCALE]")
@scale_option
@click.option("--only", default="", metavar="RULE", help="Only scenarios for which RULE holds.")
@click.option(
    "--scenario", "scenarios", multiple=True, metavar="C3", help="Only this one; repeatable."
)
@click.option(
    "--replications", type=click.IntRange(min=1), help="Instead of the study's own number."
)
@click.option("--retry-failed", is_flag=True, help="Run again what failed; old runs are kept.")
@click.option(
    "--check/--no-check",
    default=True,
    help="Whether to prove first that compared frameworks train the same networks.",
)
@click.option(
    "--executor",
    default=DEFAULT_EXECUTOR,
    metavar="NAME",
    show_default=True,
    help="Where to carry out the runs; packages can add more.",
)
@click.option("--yes", is_flag=True, help="Start what costs money without asking.")
@click.option(
    "--max-cost",
    type=FiniteFloatRange(0, min_open=True),
    metavar="USD",
    help="The most that this study may cost where it is paid for; it stops there.",
)
@click.option("--dry-run", is_flag=True, help="Only list what would be started.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line, for programs.")
def command(  # noqa: PLR0913 (each option is an argument)
    study_file: Path,
    results: Path | None,
    scale: str | None,
    only: str,
    scenarios: tuple[str, ...],
    replications: int | None,
    retry_failed: bool,
    check: bool,
    executor: str,
    yes: bool,
    max_cost: float | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run what is still missing of STUDY, each run in its own process.

    Runs that finished are never run again: call it as often as you like, on one results folder.
    Missing environments are set up on the way. Where frameworks are compared, `prumo check` comes
    first, once. Ctrl-C stops the current run, keeps everything
    that finished, and says how to go on. Runs that cost money, as on SageMaker, begin with a
    preflight: what is started, what it costs, and a question, unless --yes is given.

    Exit codes: 0 all finished or honestly unavailable, 1 some failed, 2 bad input, 130 interrupted.
    """
    from prumo.forecast.document import expected_seconds
    from prumo.results.record import Verdict
    from prumo.run.execution import Selection, default_results, missing_runs, run_study
    from prumo.run.preflight import Spending

    study = load_study(study_file, scale)
    folder = results or default_results(study)
    selection = Selection(scenarios, only, replications, retry_failed)
    if dry_run:
        for run in missing_runs(study, folder, selection):
            factors = dict(run.scenario.factors)
            if as_json:
                print_json({"event": "planned", "run": run.name, "factors": factors}, one_line=True)
            else:
                click.echo(f"{run.name}\t{levels_text(factors)}")
        return
    again = ["prumo", "run", str(study_file), "--results", str(folder)]
    again += ["--scale", scale] if scale else []
    again += [] if check else ["--no-check"]
    again += [] if executor == DEFAULT_EXECUTOR else ["--executor", executor]
    with open_progress(again, folder, as_json=as_json) as listener:
        ended = run_study(
            study,
            folder,
            listener,
            selection,
            check=check,
            executor_name=executor,
            expected_seconds=expected_seconds(folder),
            spending=Spending(lambda _: yes or asked(listener), max_cost),
        )
    if ended.interrupted:
        sys.exit(ExitCode.INTERRUPTED)
    if any(Verdict(verdict).is_failure for verdict in ended.verdicts):
        sys.exit(ExitCode.FINDINGS)


def asked(listener: PlainProgress | JsonProgress) -> bool:
    """Whether the user agrees, at a terminal."""
    if not sys.stdin.isatty():
        return False
    with listener.paused():
        return click.confirm("Start it?", err=True)


@contextmanager
def open_progress(
    again: Sequence[str], results: Path, *, as_json: bool
) -> Iterator[PlainProgress | JsonProgress]:
    """A listener that fits where the output goes; `again` are the words to go on with."""
    if as_json:
        yield JsonProgress()
    elif sys.stdout.isatty():
        from rich.progress import (
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
        from prumo.run.schedule import Remaining

        self._again = shlex.join(again)
        self._results = results
        self._remaining = Remaining((), {})

    def __call__(self, event: Event) -> None:
        """Show an event."""
        from prumo.run.schedule import Remaining

        match event:
            case StudyStarted():
                self._remaining = Remaining(event.pending, event.seconds)
                self._print(_beginning(event))
            case Remark(text):
                self._print(text)
            case RunStarted(run):
                self._remaining.started(run)
            case RunEnded(record):
                self._remaining.ended(record.run, record.scenario, record.wall_seconds or None)
                self._print(f"[{self._remaining.done}/{self._remaining.total}] {_ending(record)}")
            case StudyEnded():
                for line in _closing(event, self._again, self._results):
                    self._print(line)
        self._refresh(event)

    def paused(self) -> AbstractContextManager[None]:
        """While the user is asked something."""
        return nullcontext()

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

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The bar is gone meanwhile."""
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def _print(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def _refresh(self, event: Event) -> None:
        match event:
            case RunStarted(run):
                self._bar.update(self._task, description=run.name)
            case Activity(text, detail):
                description = f"{text}: {detail}" if detail else text
                self._bar.update(self._task, description=description)
            case RunProgress(run, done, epochs) if done:
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

    def paused(self) -> AbstractContextManager[None]:
        """While the user is asked something."""
        return nullcontext()

    def __call__(self, event: Event) -> None:
        """Print an event."""
        if isinstance(event, Activity):
            if event.text == self._activity:
                return
            self._activity = event.text
        print_json(_as_dict(event), one_line=True)


def _as_dict(event: Event) -> dict[str, object]:
    content: dict[str, object]
    match event:
        case StudyStarted():
            pending = [run.name for run in event.pending]
            content = {"study": event.study, "results": str(event.results), "kept": event.kept}
            name, content = "study_started", content | {"pending": pending}
        case Remark(text):
            name, content = "remark", {"text": text}
        case Activity(text):
            name, content = "activity", {"text": text}
        case RunStarted(run):
            factors = dict(run.scenario.factors)
            name, content = "run_started", {"run": run.name, "factors": factors}
        case RunProgress(run, done, epochs):
            content = {"run": run.name, "epochs_done": done, "epochs": epochs}
            name = "run_advanced"
        case RunEnded(record):
            fields = {"run", "verdict", "reason", "wall_seconds", "metrics"}
            name, content = "run_ended", record.model_dump(mode="json", include=fields)
        case StudyEnded():
            content = {"verdicts": event.verdicts, "interrupted": event.interrupted}
            name, content = "study_ended", {"results": str(event.results), **content}
    return {"event": name, **content}


def _beginning(event: StudyStarted) -> str:
    kept = f", {event.kept} already there" if event.kept else ""
    runs = "1 run" if len(event.pending) == 1 else f"{len(event.pending)} runs"
    return f"{event.study}: {runs} to do{kept} → {event.results}"


def _ending(record: RunRecord) -> str:
    mark = MARKS.get(record.verdict, "✗")
    text = f"{mark} {record.run}  {record.verdict.value}  {levels_text(record.factors)}"
    if record.wall_seconds:
        text += f"  {_clock(record.wall_seconds)}"
    return f"{text}  {record.reason}" if record.reason else text


def _closing(event: StudyEnded, again: str, results: Path) -> Iterator[str]:
    from prumo.results.record import Verdict

    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(event.verdicts.items()))
    yield f"runs: {counts or 'none'}"
    if event.interrupted:
        yield "stopped; everything that finished is kept"
        yield f"go on with:  {again}"
        return
    if any(Verdict(verdict).is_failure for verdict in event.verdicts):
        yield f"try failed ones again with:  {again} --retry-failed"
    yield f"report with:  prumo report {results}"


def _clock(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 (a minute)
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
