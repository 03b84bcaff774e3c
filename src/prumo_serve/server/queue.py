"""The queue of requests: what waits, and what is computed next."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from prumo_serve.preprocessing.decoding import BadImageError
from prumo_serve.server.refusal import queue_full, too_large

if TYPE_CHECKING:
    import numpy as np

    from prumo_serve.server.settings import Settings
    from prumo_serve.task import PreparedImage


Call: TypeAlias = "Callable[[], None]"


class RequestQueue:
    """Work for a fixed number of threads, none of which ever waits while there is some.

    First all that waits is decoded, then what is decoded is shared out in batches among the
    workers: so batches grow with the load and nobody waits for a batch when there is none.
    """

    def __init__(self, settings: Settings) -> None:
        self._workers = settings.workers
        self._max_batch = settings.max_batch
        self._max_wait_seconds = settings.max_wait_seconds
        self._limit = settings.limits.queued_images
        self._changed = threading.Condition()
        self._calls: deque[Call] = deque()
        self._ready: deque[Job] = deque()
        self._is_closed = False
        self._taken_batches = 0
        self.waiting_images = 0
        """Those that were accepted and are not being computed yet."""

    def reserve(self, images: int) -> None:
        """Reserve places for the images of a request, or refuse it."""
        if images > self._limit:
            raise too_large(f"{images} images in one request: at most {self._limit} are taken")
        with self._changed:
            if self.waiting_images + images > self._limit:
                raise queue_full(f"{self.waiting_images} images wait already; try again later")
            self.waiting_images += images

    def release(self) -> None:
        """Free the place of an image that is not computed."""
        with self._changed:
            self.waiting_images -= 1

    def put_call(self, call: Call) -> None:
        """Anything that a thread should do, such as decoding an image."""
        with self._changed:
            self._calls.append(call)
            self._changed.notify()

    def put_ready(self, jobs: Sequence[Job]) -> None:
        """Images that the network can be asked about as they are."""
        with self._changed:
            self._ready.extend(jobs)
            self._changed.notify()

    def put_decoded(self, job: Job) -> None:
        """The same by a worker, who wakes nobody because it takes the next thing itself."""
        with self._changed:
            self._ready.append(job)

    def take(self) -> Call | list[Job] | None:
        """The next thing to do, waited for; None when there will be no more."""
        with self._changed:
            while True:
                task = self._next()
                if task is not None:
                    if self._ready or self._calls:
                        self._changed.notify()
                    return task
                if self._is_closed:
                    return None
                self._changed.wait(self._remaining_wait_seconds() if self._ready else None)

    @contextmanager
    def computing(self) -> Iterator[bool]:
        """While a taken batch is computed; whether it is alone: no other is, no image waits.

        Every batch that is taken must be computed, even if nothing is left to do for it.
        """
        with self._changed:
            is_alone = self._taken_batches == 1 and self.waiting_images <= 0
        try:
            yield is_alone
        finally:
            with self._changed:
                self._taken_batches -= 1

    def close(self) -> None:
        """Let the threads end once nothing is left to do."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _next(self) -> Call | list[Job] | None:
        if self._ready and self._is_batch_due():
            return self._batch()
        return self._calls.popleft() if self._calls else None

    def _is_batch_due(self) -> bool:
        if self._calls:
            return len(self._ready) >= self._max_batch * self._workers
        return (
            len(self._ready) >= self._max_batch
            or self._is_closed
            or self._remaining_wait_seconds() <= 0
        )

    def _remaining_wait_seconds(self) -> float:
        return self._max_wait_seconds - (perf_counter() - self._ready[0].waits_since)

    def _batch(self) -> list[Job]:
        """A fair share of what is ready, so that no worker goes without.

        Half of it where batches need not be full: those who ask again as soon as they are answered
        would else leave all workers idle at once.
        """
        turns = 1 if self._max_wait_seconds else 2
        share = -(-len(self._ready) // (turns * self._workers))
        batch = [self._ready.popleft() for _ in range(min(share, self._max_batch))]
        self.waiting_images -= len(batch)
        self._taken_batches += 1
        return batch


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
    threads: int = 0
    """That computed them."""


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


def abandon(job: Job) -> None:
    """Nobody waits for it from now on; in the thread of its loop."""
    job.is_abandoned = True
    if job.future.done() and not job.future.cancelled():
        # Otherwise asyncio would log this failure as unseen, though the request raised another one.
        job.future.exception()


def settle(job: Job, outcome: Outcome | Exception) -> None:
    """Hand the outcome to whoever waits; from any thread."""
    if not job.is_abandoned:
        job.loop.call_soon_threadsafe(_settle_here, job, outcome)


def _settle_here(job: Job, outcome: Outcome | Exception) -> None:
    if job.future.done() or job.is_abandoned:
        return
    if isinstance(outcome, Outcome | BadImageError):
        job.future.set_result(outcome)
    else:
        job.future.set_exception(outcome)
