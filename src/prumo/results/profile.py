"""What the profilers of frameworks saw: the `profile` events of runs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.results.folder import JOURNAL_FILE

if TYPE_CHECKING:
    from pathlib import Path

_MARK = re.compile(rb'"event"\s*:\s*"profile"')


@dataclass(frozen=True)
class OperationShare:
    """One operation in the profile of a run, all its calls together."""

    operation: str
    calls: int
    seconds: float
    share: float
    """Of all operations' own time."""


@dataclass(frozen=True)
class FunctionShare:
    """One function of the process, as Linux's own profiler saw it in all threads."""

    function: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Profile:
    """The operations of a few steps, the longest first; or why there are none."""

    steps: int
    rows: tuple[OperationShare, ...]
    reason: str = ""
    functions: tuple[FunctionShare, ...] = ()
    """Empty where perf is missing."""


def read_profile(run_path: Path) -> Profile | None:
    """The last profile in a run's journal; none where no profile was asked for."""
    try:
        journal = (run_path / JOURNAL_FILE).read_bytes()
        # One look at the whole file: most runs have thousands of steps and no profile.
        if not _MARK.search(journal):
            return None
        found = [line for line in journal.splitlines() if _MARK.search(line)]
        return _profile(json.loads(found[-1]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _profile(event: dict[str, Any]) -> Profile:
    rows = [
        OperationShare(
            str(row["operation"]), int(row["calls"]), float(row["seconds"]), float(row["share"])
        )
        for row in event["rows"]
    ]
    functions = [
        FunctionShare(str(row["function"]), float(row["seconds"]), float(row["share"]))
        for row in event.get("functions", [])
    ]
    return Profile(
        steps=int(event.get("steps", 0)),
        rows=tuple(rows),
        reason=str(event.get("reason", "")),
        functions=tuple(functions),
    )
