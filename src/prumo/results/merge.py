"""Bring the runs of another results folder into this one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prumo.errors import InputError, PrumoError
from prumo.results.record import Verdict
from prumo.results.tables import read_study
from prumo.study import fingerprint

if TYPE_CHECKING:
    from prumo.results.folder import ResultsFolder, Runs
    from prumo.study import Study

STANDING = dict.fromkeys(Verdict, 1) | {
    Verdict.FINISHED: 2,
    Verdict.UNAVAILABLE: 0,
    Verdict.INTERRUPTED: 0,
}


@dataclass
class Merged:
    """What a merge did, by run name."""

    taken: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Runs of which this folder already had one as good."""
    unreadable: list[str] = field(default_factory=list)
    """Runs of the other folder without a record that can be read: they were not taken."""
    set_aside: list[str] = field(default_factory=list)
    """Runs of this folder that had failed or could not be read: they are under `attempts`."""


def merge(source: ResultsFolder, target: ResultsFolder) -> Merged:
    """Copy runs that are missing here or say more than the one here; finished ones stay.

    Raises:
        InputError: A run is of another study, or of another version of it; nothing was merged.
    """
    theirs, ours = source.runs(), target.runs()
    _refuse_other_study(source, target, theirs, ours)
    merged = Merged(unreadable=[*theirs.unfinished, *theirs.unreadable])
    for name, record in theirs.records.items():
        here = ours.records.get(name)
        if here is not None and STANDING[here.verdict] >= STANDING[record.verdict]:
            merged.kept.append(name)
            continue
        worth_keeping = name in ours.unreadable or (here is not None and here.verdict.is_failure)
        target.take_in(source.run_path(name), set_old_aside=worth_keeping)
        merged.taken.append(name)
        if worth_keeping:
            merged.set_aside.append(name)
    return merged


def _refuse_other_study(
    source: ResultsFolder, target: ResultsFolder, theirs: Runs, ours: Runs
) -> None:
    study = _study(target)
    names = {study.name} if study else {record.study for record in ours.records.values()}
    if study:
        wanted = {record.scenario for record in theirs.records.values()}
        planned = (scenario for scenario in study.scenarios() if scenario.name in wanted)
        known = {scenario.name: fingerprint(study, scenario) for scenario in planned}
    else:
        known = {record.scenario: record.fingerprint for record in ours.records.values()}
    for name, record in theirs.records.items():
        if names and record.study not in names:
            difference = f"it is of the study {record.study}, not of {', '.join(sorted(names))}"
        elif study and record.scenario not in known:
            difference = f"the study has no scenario {record.scenario}"
        elif known.get(record.scenario, record.fingerprint) != record.fingerprint:
            difference = f"{record.scenario} is something else there"
        else:
            continue
        raise InputError(
            f"{name} in {source.path} is a run of another study or version of it than in "
            f"{target.path}: {difference}; nothing was merged"
        )


def _study(folder: ResultsFolder) -> Study | None:
    try:
        return read_study(folder.path)
    except PrumoError:
        return None
