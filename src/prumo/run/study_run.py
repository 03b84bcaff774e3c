"""Carry out a study: folder, lock, prices, proof of equality, executor."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError, UnequalError
from prumo.money.study_prices import keep_prices
from prumo.results.folder import ResultsFolder
from prumo.results.record import trained_architectures
from prumo.run.events import ListenerProgress, Remark
from prumo.run.execution import Execution, Selection
from prumo.run.executors import DEFAULT_EXECUTOR, executor_class
from prumo.study import Imported
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.run.events import Listener, StudyEnded
    from prumo.study import Run, Study
    from prumo.study.network import Architecture

EVERYTHING = Selection()

UNCHECKED = (
    "NOT CHECKED: nothing proves that the frameworks of this study train the same networks. "
    "`prumo check` does it."
)
UNEQUAL = (
    "the frameworks of this study do not train the same networks, so comparing them would mean "
    "nothing. `prumo run --no-check` measures them all the same."
)


def default_results(study: Study) -> Path:
    """Where a study's results go when nothing else is said."""
    return Path("results") / study.name


def run_study(  # noqa: PLR0913 (each is an option of its own)
    study: Study,
    results: Path,
    listener: Listener,
    selection: Selection = EVERYTHING,
    *,
    check: bool = True,
    executor_name: str = DEFAULT_EXECUTOR,
    expected_seconds: Mapping[str, float] | None = None,
) -> StudyEnded:
    """Run what is missing of a study into a results folder.

    Where frameworks are compared, their networks are first proven equal, unless `check` is off.
    For a scenario without an earlier run, `expected_seconds` is the first guess of its duration.
    """
    _refuse_imported(study)
    kind = executor_class(executor_name)
    folder = ResultsFolder(results.absolute())
    folder.create()
    with folder.locked(), sigterm_as_interrupt():
        execution = Execution(study, folder, selection, expected_seconds)
        for remark in keep_prices(study, results):
            listener(Remark(remark))
        with closing(kind(study, folder, listener)) as executor:
            try:
                if pending := execution.schedule.pending():
                    # The data first: wrong files are reported before an environment is made.
                    executor.prepare(pending)
                    planned = executor.architectures(pending)
                    _require_equality(study, planned, execution, listener, check=check)
            except KeyboardInterrupt:
                return execution.end(listener, interrupted=True)
            return execution.carry_out(executor, listener)


def missing_runs(study: Study, results: Path, selection: Selection = EVERYTHING) -> list[Run]:
    """What `run_study` would start, without starting or writing anything."""
    _refuse_imported(study)
    folder = ResultsFolder(results.absolute())
    return Execution(study, folder, selection).schedule.pending()


def _refuse_imported(study: Study) -> None:
    if isinstance(study.workload, Imported):
        raise InputError(
            f"the runs of {study.name} were imported from elsewhere: there is nothing to start. "
            "`prumo report` and `prumo audit` read them."
        )


def _require_equality(
    study: Study,
    planned: Mapping[Architecture, Sequence[str]],
    execution: Execution,
    listener: Listener,
    *,
    check: bool,
) -> None:
    """Stop where frameworks differ that these runs compare, also with earlier ones."""
    if not planned:
        return
    # NumPy is slow to import, and only comparisons need it.
    from prumo.run.equality import check_equality, compared_frameworks  # noqa: PLC0415

    wanted = compared_frameworks(planned, trained_architectures(execution.records))
    if not wanted:
        return
    if not check:
        listener(Remark(UNCHECKED))
        return
    equality = check_equality(study, wanted, execution.path, ListenerProgress(listener))
    differences = [
        f"{network.title}: {row.framework}: {finding}"
        for network in equality.networks
        for row in network.differences
        if row.framework in wanted[network.architecture]
        for finding in row.findings
    ]
    if differences:
        raise UnequalError("\n".join([UNEQUAL, *differences]))
