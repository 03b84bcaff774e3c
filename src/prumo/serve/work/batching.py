"""What waits, and what is done next: the line in which requests stand."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from prumo.serve.http.refusal import queue_full, too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prumo.serve.settings import Settings
    from prumo.serve.work.job import Job

Call: TypeAlias = "Callable[[], None]"


class Line:
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
        self._waiting_images = 0
        self._is_closed = False

    @property
    def waiting_images(self) -> int:
        """Those that were let in and are not being computed yet."""
        return self._waiting_images

    def let_in(self, images: int) -> None:
        """Keep places for the images of a request.

        Raises:
            Refusal: There are not that many places, now or ever.
        """
        if images > self._limit:
            raise too_large(f"{images} images in one request: at most {self._limit} are taken")
        with self._changed:
            if self._waiting_images + images > self._limit:
                raise queue_full(f"{self._waiting_images} images wait already; try again later")
            self._waiting_images += images

    def leave(self) -> None:
        """An image goes without having been computed."""
        with self._changed:
            self._waiting_images -= 1

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
        """A fair share of what is ready, so that no worker goes without."""
        share = -(-len(self._ready) // self._workers)
        batch = [self._ready.popleft() for _ in range(min(share, self._max_batch))]
        self._waiting_images -= len(batch)
        return batch
