"""One image on its way through the server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from prumo.model.preprocessing.bad_image import BadImageError

if TYPE_CHECKING:
    import numpy as np

    from prumo.model.preprocessing import PreparedImage


@dataclass(frozen=True)
class Outcome:
    """What the network said of an image, and how long that took."""

    prepared: PreparedImage
    scores: np.ndarray | None
    """A row of the network's output; None where the network should not judge the image."""
    heat_map: np.ndarray | None
    """From 0 to 1; None where it was not asked for or cannot be made."""
    queue_seconds: float
    predict_seconds: float
    batch_size: int
    """Images that were computed together; 0 where none was."""


@dataclass(slots=True, eq=False)
class Job:
    """An image, who waits for it, and how far it is. One thread at a time has it in hand."""

    image: bytes | np.ndarray | None
    """None where the network's input itself was given, which is `prepared` then."""
    wants_heat_map: bool
    prepared: PreparedImage | None = None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    future: asyncio.Future[Outcome | BadImageError] = field(init=False)
    waits_since: float = field(default_factory=perf_counter)
    queue_seconds: float = 0.0
    is_computing: bool = False
    is_abandoned: bool = False
    """Nobody waits for it any more."""

    def __post_init__(self) -> None:
        self.future = self.loop.create_future()

    def stop_waiting(self) -> None:
        """Its turn has come."""
        self.queue_seconds += perf_counter() - self.waits_since

    def wait_again(self) -> None:
        """It stands in a queue from now on."""
        self.waits_since = perf_counter()


def abandon(job: Job) -> None:
    """Nobody waits for it from now on; in the thread of its loop."""
    job.is_abandoned = True
    if job.future.done() and not job.future.cancelled():
        # Otherwise asyncio would log a failure as unseen, though another of the request was told.
        job.future.exception()


def settle(job: Job, outcome: Outcome | Exception) -> None:
    """Tell whoever waits; from any thread."""
    if not job.is_abandoned:
        job.loop.call_soon_threadsafe(_settle_here, job, outcome)


def _settle_here(job: Job, outcome: Outcome | Exception) -> None:
    if job.future.done() or job.is_abandoned:
        return
    if isinstance(outcome, Outcome | BadImageError):
        job.future.set_result(outcome)
    else:
        job.future.set_exception(outcome)
