"""Any program of the user's own as a run, and its figures in what it prints."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from statistics import fmean
from typing import TYPE_CHECKING

from prumo.environments.store import worker_path
from prumo.machine.cpu import read_cpu
from prumo.results.folder import JOURNAL_FILE
from prumo.run.journal import Event, journal_metrics
from prumo.run.worker import Launch, thread_environment
from prumo.run.workloads import Launcher
from prumo.study import Command, invocation_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.study import Run, Study
    from prumo.study.command import Keep, Metrics


KEEPERS: dict[Keep, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "mean": fmean,
    "min": min,
    "max": max,
    "sum": sum,
}


def read_output_metrics(log: Path, wanted: Metrics) -> dict[str, float]:
    """The figures in a log; of a figure printed several times, what is to be kept.

    Values that are not finite are returned too: the verdict needs to see them.
    """
    values: dict[str, list[float]] = {}
    compiled = [re.compile(pattern) for pattern in wanted.patterns]
    for line in _lines(log):
        found = _from_json(line) if wanted.json_lines else {}
        for pattern in compiled:
            for match in pattern.finditer(line):
                for name, text in match.groupdict().items():
                    with suppress(TypeError, ValueError):
                        found[name] = float(text)
        for name, value in found.items():
            values.setdefault(name, []).append(value)
    return {name: KEEPERS[wanted.keep.get(name, "last")](series) for name, series in values.items()}


def _lines(log: Path) -> Iterator[str]:
    """The lines of a log; none where a run could not even begin one."""
    with suppress(FileNotFoundError), log.open(encoding="utf-8", errors="replace") as lines:
        yield from lines


def _from_json(line: str) -> dict[str, float]:
    if not line.lstrip().startswith("{"):
        return {}
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    found = {}
    for name, value in content.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            with suppress(OverflowError):
                found[name] = float(value)
    return found


class CommandLauncher(Launcher):
    """Starts the study's command with its levels filled in; reads figures from what it prints."""

    speaks_protocol = False

    def __init__(self, study: Study, progress: Progress) -> None:
        if not isinstance(study.workload, Command):
            raise TypeError(f"{study.name} is not a study of commands")
        super().__init__(study, progress)
        self._command = study.workload

    def launch(self, run: Run, folder: Path) -> Launch:
        """Fill the command in for a run."""
        filled = invocation_for(self._command, run)
        # Behind the user's own packages, `prumo_worker.probe` can be imported.
        packages = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(worker_path()))))
        threads = self.study.measure.threads or read_cpu().usable_cores
        environment = (
            dict(os.environ)
            | thread_environment(threads)
            | {"PYTHONPATH": packages, "PRUMO_JOURNAL": str(folder / JOURNAL_FILE)}
            | dict(filled.environment)
        )
        return Launch(
            command=list(filled.words),
            directory=self.study.folder / filled.directory,
            environment=environment,
            threads=threads,
        )

    def metrics(self, events: list[Event], log: Path) -> dict[str, float]:
        """What the command printed, and above it what it reported through the probe."""
        return read_output_metrics(log, self._command.metrics) | journal_metrics(events)
