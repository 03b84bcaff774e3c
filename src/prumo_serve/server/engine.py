"""The threads that decode images and ask the network about them, in batches."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from prumo_serve.server.queue import Job, Outcome, RequestQueue, abandon, settle
from prumo_serve.server.refusal import not_ready, took_too_long, waited_too_long

if TYPE_CHECKING:
    from prumo_serve.preprocessing.decoding import BadImageError
    from prumo_serve.server.model_holder import ModelHolder
    from prumo_serve.server.settings import Settings
    from prumo_serve.task import PreparedImage

# Within the 30 s that SageMaker leaves, after the requests have been waited for.
_END_SECONDS = 2.0
_LOG = logging.getLogger("prumo_serve.server")
_Result = TypeVar("_Result")


class Engine:
    """A fixed number of threads, and nothing else that computes."""

    def __init__(
        self, model: ModelHolder, settings: Settings, count: Callable[[Outcome], None]
    ) -> None:
        self._model = model
        self._count = count
        self._timeout_seconds = settings.limits.timeout_seconds
        self.queue = RequestQueue(settings)
        self._threads = [
            threading.Thread(target=self._work, name=f"prumo-worker-{number}", daemon=True)
            for number in range(1, settings.workers + 1)
        ]
        for thread in self._threads:
            thread.start()

    async def ask(
        self,
        images: Sequence[bytes | np.ndarray],
        prepared: Sequence[PreparedImage] = (),
        *,
        heat_maps: bool = False,
    ) -> list[Outcome | BadImageError]:
        """What the network says of each image, or why that one cannot be read; or a refusal.

        Those that are prepared are in the network's form already.
        """
        if self._model.is_broken:
            raise not_ready("the network has failed and is being loaded again")
        self.queue.reserve(len(images) + len(prepared))
        jobs = [Job(image, heat_maps) for image in images]
        for job in jobs:
            self.queue.put_call(partial(self._prepare, job))
        if prepared:
            ready = [Job(None, wants_heat_map=False, prepared=image) for image in prepared]
            self.queue.put_ready(ready)
            jobs += ready
        return await self._outcomes(jobs)

    async def call(self, function: Callable[[], _Result]) -> _Result:
        """Do something in a worker's thread that would hold up all other requests here."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()
        self.queue.put_call(partial(_call, function, loop, future))
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await future
        except TimeoutError:
            raise waited_too_long("the time limit came before the request's turn") from None

    @property
    def is_busy(self) -> bool:
        """Whether a thread has not ended yet."""
        return any(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        """Do what is still to be done, then end; what nobody waits for may be left undone."""
        self.queue.close()
        end = monotonic() + _END_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - monotonic()))

    async def _outcomes(self, jobs: Sequence[Job]) -> list[Outcome | BadImageError]:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                outcomes = [await job.future for job in jobs]
        except TimeoutError:
            limit = f"the limit of {self._timeout_seconds:g} s"
            if any(job.is_computing for job in jobs):
                raise took_too_long(f"computing the answer took longer than {limit}") from None
            raise waited_too_long(f"{limit} came before the request's turn") from None
        finally:
            for job in jobs:
                abandon(job)
        for outcome in outcomes:
            if isinstance(outcome, Outcome):
                self._count(outcome)
        return outcomes

    def _work(self) -> None:
        while (task := self.queue.take()) is not None:
            if isinstance(task, list):
                self._compute([job for job in task if not job.is_abandoned])
            else:
                task()

    def _prepare(self, job: Job) -> None:
        """Decode an image; one that the network should not judge is settled already."""
        if job.is_abandoned or job.image is None:
            self.queue.release()
            return
        job.stop_waiting()
        try:
            prepared = self._model.current.preprocessing.prepared(job.image)
        except Exception as error:  # noqa: BLE001 (a worker must outlive whatever an image does)
            self.queue.release()
            settle(job, error)
            return
        job.image = None
        if prepared.pixels is None:
            self.queue.release()
            settle(job, Outcome(prepared, None, None, job.queue_seconds, 0.0, 0))
            return
        job.prepared = prepared
        job.waits_since = perf_counter()
        self.queue.put_decoded(job)

    def _compute(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            job.stop_waiting()
            job.is_computing = True
        try:
            for job, outcome in zip(jobs, self._computed(jobs), strict=True):
                settle(job, outcome)
        except Exception as error:  # noqa: BLE001 (a worker must outlive its network)
            _LOG.error("the network failed: %s: %s", type(error).__name__, error)
            for job in jobs:
                settle(job, not_ready("the network failed"))
            self._model.examine()

    def _computed(self, jobs: Sequence[Job]) -> list[Outcome]:
        prepared = [job.prepared for job in jobs if job.prepared is not None]
        pixels = [image.pixels for image in prepared if image.pixels is not None]
        with self.queue.computing() as is_alone:
            if not pixels:
                return []
            # Stacking copies, and most batches of a server that few use are of one image.
            batch = np.stack(pixels) if len(pixels) > 1 else pixels[0][None]
            wants_heat_map = [job.wants_heat_map for job in jobs]
            model = self._model.current
            began = perf_counter()
            scores, heat_maps, threads = model.computed(batch, wants_heat_map, is_alone=is_alone)
            predict_seconds = perf_counter() - began
        return [
            Outcome(image, row, heat_map, job.queue_seconds, predict_seconds, len(jobs), threads)
            for job, image, row, heat_map in zip(jobs, prepared, scores, heat_maps, strict=True)
        ]


def _call(
    function: Callable[[], _Result],
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[_Result],
) -> None:
    """Run a function here and hand its result, or what it raised, to whoever waits there."""
    if future.cancelled():
        return
    try:
        result = function()
    except Exception as error:  # noqa: BLE001 (it is raised again where it is waited for)
        loop.call_soon_threadsafe(_unless_done, future, partial(future.set_exception, error))
    else:
        loop.call_soon_threadsafe(_unless_done, future, partial(future.set_result, result))


def _unless_done(future: asyncio.Future[_Result], finish: Callable[[], None]) -> None:
    if not future.done():
        finish()
