"""Carry out a study on this machine: folder, lock, executor, all together."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.execute.execution import Execution, Selection
from prumo.execute.local import LocalExecutor
from prumo.measure.interruption import sigterm_as_interrupt
from prumo.results.folder import ResultsFolder

if TYPE_CHECKING:
    from prumo.execute.event import Listener, StudyEnded
    from prumo.study import Run, Study

EVERYTHING = Selection()


def default_results(study: Study) -> Path:
    """Where a study's results go when nothing else is said."""
    return Path("results") / study.name


def run_study(
    study: Study, results: Path, listener: Listener, selection: Selection = EVERYTHING
) -> StudyEnded:
    """Run what is missing of a study into a results folder."""
    folder = ResultsFolder(results.absolute())
    folder.create()
    with folder.locked(), sigterm_as_interrupt():
        execution = Execution(study, folder, selection)
        with closing(LocalExecutor(study, folder, listener)) as executor:
            return execution.carry_out(executor, listener)


def missing_runs(study: Study, results: Path, selection: Selection = EVERYTHING) -> list[Run]:
    """What `run_study` would start, without starting or writing anything."""
    folder = ResultsFolder(results.absolute())
    return Execution(study, folder, selection).schedule.pending()
