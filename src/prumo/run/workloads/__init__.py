"""How the runs of a study are prepared, started and read: one launcher per kind of workload."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

from prumo.errors import InputError, PluginError
from prumo.run.journal import Event, journal_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.run.preflight import Preflight
    from prumo.run.worker import Launch
    from prumo.study import Run, Scenario, Study
    from prumo.study.network import Architecture


class Launcher(ABC):
    """Starts the runs of one study; what it starts is measured by whoever asked for it.

    A kind of workload names its launcher as `module:class` (`prumo.study.workload.Workload`).
    The smallest one says what to start:

        class SortingLauncher(Launcher):
            speaks_protocol = False

            def launch(self, run, folder):
                rows = run.scenario.parameters["rows"]
                return Launch(
                    command=[sys.executable, "-m", "my_package.sort", str(rows)],
                    directory=self.study.folder.absolute(),
                    environment={**os.environ, "PRUMO_JOURNAL": str(folder / JOURNAL_FILE)},
                )

    The program reports its figures with `prumo_worker.probe.metric(sort_seconds=…)`, or in any
    language with lines of JSON in the journal (docs/contracts.md). `metrics` reads them.
    """

    speaks_protocol: ClassVar[bool] = True
    """Whether what it starts writes the event `finished`; a run without one has crashed then."""
    sees_all_images: ClassVar[bool] = True
    """Whether a run that reports its data must have seen all of its images in every epoch."""

    def __init__(self, study: Study, progress: Progress) -> None:
        """Check cheaply what all runs need; `progress` receives reports of set-ups."""
        self.study = study
        self.progress = progress

    def prepare(self, runs: Sequence[Run]) -> None:
        """Make ready what these runs share; PrumoError when one of them could never work.

        Called once, before the first run is started.
        """
        del runs

    def preflight(
        self, runs: Sequence[Run], results: Path, max_cost_usd: float | None
    ) -> Preflight | None:
        """What these runs would start elsewhere and cost; None where they cost nothing.

        Called after `prepare`, and before anything that costs money is started: the user is shown
        it and agrees, or nothing is started. `results` is the results folder. A launcher that
        spends stops when `max_cost_usd` is reached: `launch` raises BudgetError.
        """
        del runs, results, max_cost_usd
        return None

    def close(self) -> None:  # noqa: B027 (most launchers hold nothing)
        """Remove what the runs shared. Called once, also after an error or Ctrl-C."""

    def architectures(self, scenarios: Iterable[Scenario]) -> dict[Architecture, tuple[str, ...]]:
        """The networks that these scenarios train, with the frameworks that are to be compared.

        Their equality is proven before the first run. None where frameworks are not compared.
        """
        del scenarios
        return {}

    @abstractmethod
    def launch(self, run: Run, folder: Path) -> Launch:
        """What to start for a run with this folder; UnavailableError when this machine cannot."""

    def metrics(self, events: list[Event], log: Path) -> dict[str, float]:
        """The figures of a run that ended, from its journal's events and what it printed."""
        del log
        return journal_metrics(events)


def open_workload(study: Study, progress: Progress) -> Launcher:
    """The launcher of a study's workload."""
    name = study.workload.launcher
    if not name:
        raise InputError(f"no run of the kind `{study.workload.kind}` can be started")
    try:
        launcher = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise PluginError(
            f"the launcher {name} of the workload '{study.workload.kind}' cannot be loaded: {error}"
        ) from error
    if not (isinstance(launcher, type) and issubclass(launcher, Launcher)):
        raise PluginError(f"{name} is no subclass of prumo.run.workloads.Launcher")
    return launcher(study, progress)
