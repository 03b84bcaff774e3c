"""`prumo run`: carry out what is missing of a study."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from prumo.cli.progress import open_progress
from prumo.execute.execution import Selection
from prumo.execute.study_run import default_results, missing_runs, run_study
from prumo.results.record import Verdict
from prumo.study import load

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
    help="Where run folders go.  [default: results/NAME]",
)
@click.option("--only", default="", metavar="RULE", help="Only scenarios for which RULE holds.")
@click.option(
    "--scenario", "scenarios", multiple=True, metavar="C3", help="Only this one; repeatable."
)
@click.option(
    "--replications", type=click.IntRange(min=1), help="Instead of the study's own number."
)
@click.option("--retry-failed", is_flag=True, help="Run again what failed; old runs are kept.")
@click.option("--dry-run", is_flag=True, help="Only list what would be started.")
@click.option("--json", "as_json", is_flag=True, help="One JSON event per line, for programs.")
def command(  # noqa: PLR0913 (each option is an argument)
    study_file: Path,
    results: Path | None,
    only: str,
    scenarios: tuple[str, ...],
    replications: int | None,
    retry_failed: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run what is still missing of STUDY, each run in a process of its own.

    Runs that finished are never run again: call it as often as you like, on one results folder.
    Missing environments are set up on the way. Ctrl-C stops the current run, keeps everything
    that finished, and says how to go on.

    Exit codes: 0 all finished or honestly unavailable, 1 some failed, 2 bad input, 130 interrupted.
    """
    study = load(study_file)
    folder = results or default_results(study)
    selection = Selection(scenarios, only, replications, retry_failed)
    if dry_run:
        for run in missing_runs(study, folder, selection):
            levels = " ".join(f"{name}={level}" for name, level in run.scenario.factors.items())
            click.echo(f"{run.name}\t{levels}")
        return
    with open_progress(study_file, folder, as_json=as_json) as listener:
        ended = run_study(study, folder, listener, selection)
    if ended.interrupted:
        sys.exit(INTERRUPTED)
    if any(Verdict(verdict).is_failure for verdict in ended.verdicts):
        sys.exit(SOME_FAILED)
