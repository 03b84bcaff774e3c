"""What differs between kinds of work: how a run is started and where its figures are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.run.journal import Event
    from prumo.run.worker import Launch
    from prumo.study import Run, Scenario, Study
    from prumo.study.architecture import Architecture


class Workload(Protocol):
    """One kind of work, for the runs of one study."""

    speaks_protocol: bool
    """Whether what it starts is a worker, which must say `finished` itself."""
    sees_all_images: bool
    """Whether a training that names its data must see all of them in every epoch."""

    def prepare(self, runs: Sequence[Run]) -> None:
        """Make ready what these runs share; PrumoError when one of them could never work."""

    def architectures(self, scenarios: Iterable[Scenario]) -> dict[Architecture, tuple[str, ...]]:
        """The networks that these scenarios train, with their frameworks; none for other work."""

    def launch(self, run: Run, folder: Path) -> Launch:
        """What to start for a run; UnavailableError when that cannot be had here."""

    def metrics(self, events: list[Event], log: Path) -> dict[str, float]:
        """The figures of a run that ended."""


def open_workload(study: Study, progress: Progress) -> Workload:
    """The workload of a study; `progress` hears about set-ups on the way."""
    if study.workload.kind == "training":
        from prumo.run.workloads.training import TrainingWorkload  # noqa: PLC0415

        return TrainingWorkload(study, progress)
    if study.workload.kind == "retina":
        from prumo_retina.workload import RetinaWorkload  # noqa: PLC0415

        return RetinaWorkload(study, progress)
    from prumo.run.workloads.command import CommandWorkload  # noqa: PLC0415

    return CommandWorkload(study)
