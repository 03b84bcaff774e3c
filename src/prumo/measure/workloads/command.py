"""Any program of the user's own as a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prumo.environments.worker_source import worker_path
from prumo.machine.cpu import read_cpu
from prumo.measure.journal import Event, journal_metrics
from prumo.measure.launch import Launch, thread_environment
from prumo.measure.output_metrics import read_output_metrics
from prumo.results.folder import JOURNAL_FILE
from prumo.study import Command, invocation_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from prumo.study import Run, Scenario, Study
    from prumo.study.architecture import Architecture


class CommandWorkload:
    """Starts the study's command with its levels filled in; reads figures from what it prints."""

    speaks_protocol = False
    sees_all_images = True

    def __init__(self, study: Study) -> None:
        if not isinstance(study.workload, Command):
            raise TypeError(f"{study.name} is not a study of commands")
        self._command = study.workload
        self._study = study

    def prepare(self, runs: Sequence[Run]) -> None:
        """A command finds its own data."""

    def architectures(self, scenarios: Iterable[Scenario]) -> dict[Architecture, tuple[str, ...]]:
        """None: what a command trains, if it does, is its own affair."""
        del scenarios
        return {}

    def launch(self, run: Run, folder: Path) -> Launch:
        """Fill the command in for a run."""
        filled = invocation_for(self._command, run)
        threads = self._study.measure.threads or read_cpu().usable_cores
        environment = (
            dict(os.environ)
            | thread_environment(threads)
            | {"PYTHONPATH": _with_probe(), "PRUMO_JOURNAL": str(folder / JOURNAL_FILE)}
            | dict(filled.environment)
        )
        return Launch(
            command=list(filled.words),
            directory=self._study.folder / filled.directory,
            environment=environment,
            threads=threads,
        )

    def metrics(self, events: list[Event], log: Path) -> dict[str, float]:
        """What the command printed, and above it what it told the probe."""
        wanted = self._command.metrics
        printed = read_output_metrics(
            log, json_lines=wanted.json_lines, patterns=wanted.patterns, keep=wanted.keep
        )
        return printed | journal_metrics(events)


def _with_probe() -> str:
    """The user's own PYTHONPATH, with `prumo_worker.probe` to be found behind it."""
    own = os.environ.get("PYTHONPATH")
    return f"{own}{os.pathsep}{worker_path()}" if own else str(worker_path())
