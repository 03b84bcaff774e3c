"""`prumo run`: carry out what is missing of a study."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.progress import open_progress
from prumo.cli.study_file import load_study, scale_option
from prumo.execute.execution import Selection
from prumo.execute.study_run import default_results, missing_runs, run_study
from prumo.results.record import Verdict

if TYPE_CHECKING:
    from prumo.study import Run

INTERRUPTED = 130
SOME_FAILED = 1


@click.command(
    epilog="Example:  prumo run study.yaml --only 'batch_size <= 64 and network == rede1'"
)
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--results",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where run folders go.  [default: results/NAME, or results/NAME-SCALE]",
)
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
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run what is still missing of STUDY, each run in a process of its own.

    Runs that finished are never run again: call it as often as you like, on one results folder.
    Missing environments are set up on the way. Where frameworks are compared, `prumo check` comes
    first, once. Ctrl-C stops the current run, keeps everything
    that finished, and says how to go on.

    Exit codes: 0 all finished or honestly unavailable, 1 some failed, 2 bad input, 130 interrupted.
    """
    study = load_study(study_file, scale)
    folder = results or default_results(study)
    selection = Selection(scenarios, only, replications, retry_failed)
    if dry_run:
        for run in missing_runs(study, folder, selection):
            click.echo(_planned(run, as_json=as_json))
        return
    again = ["prumo", "run", str(study_file), "--results", str(folder)]
    again += ["--scale", scale] if scale else []
    again += [] if check else ["--no-check"]
    with open_progress(again, folder, as_json=as_json) as listener:
        ended = run_study(study, folder, listener, selection, check=check)
    if ended.interrupted:
        sys.exit(INTERRUPTED)
    if any(Verdict(verdict).is_failure for verdict in ended.verdicts):
        sys.exit(SOME_FAILED)


def _planned(run: Run, *, as_json: bool) -> str:
    """A run that would be started, in a line."""
    factors = dict(run.scenario.factors)
    if as_json:
        told = {"event": "planned", "run": run.name, "factors": factors}
        return json.dumps(told, ensure_ascii=False)
    levels = " ".join(f"{name}={level}" for name, level in factors.items())
    return f"{run.name}\t{levels}"
