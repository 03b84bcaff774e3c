"""One instance from its start to its end; its start is timed in phases."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prumo.errors import PrumoError
from prumo_endpoint.exchange import HEALTHY, PING, exchange
from prumo_endpoint.serverless import WARM_UP_HEADER
from prumo_endpoint.serverless.proxy import NO_ANSWER, Failure
from prumo_endpoint.serverless.worker import WorkerError
from prumo_endpoint.targets import DIED, OUT_OF_MEMORY, START_FAILED, START_TIMEOUT, Boot

if TYPE_CHECKING:
    import asyncio

    from prumo_endpoint.exchange import Exchange
    from prumo_endpoint.serverless import Settings
    from prumo_endpoint.serverless.proxy import InstanceConnection
    from prumo_endpoint.serverless.worker import Worker

MEMORY_WAS_FULL = "its memory was full, and the kernel killed a process of it"
_PING_SECONDS = 10.0
_END_SECONDS = 1.0
_LOOK_SECONDS = 0.02
# Looking more often would cost an instance with a small share of a processor too much of it.
_FIRST_LOOK_SECONDS = 0.005
_LOOK_SHARE = 0.02


@dataclass(eq=False)
class Instance:
    """A worker, when its start reached which phase, and the connection that is kept open to it."""

    name: str
    worker: Worker
    requested: float
    """When the request came that caused its start, by the clock `time.perf_counter`."""
    boot_id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    started: float | None = None
    listening: float | None = None
    ready: float | None = None
    warm_up_seconds: float | None = None
    """The part of the time before `ready` that the server says it has spent so."""
    answered: float | None = None
    failure: Failure | None = None
    connection: InstanceConnection | None = None
    idle_timer: asyncio.TimerHandle | None = None

    def boot(self, settings: Settings) -> None:
        """Start it and wait until /ping answers 200.

        Raises:
            Failure: It does not become ready.
        """
        try:
            self.worker.start()
            self.started = time.perf_counter()
            self._wait_until_ready(settings)
        except Failure:
            raise
        except (WorkerError, PrumoError) as error:
            raise Failure(START_FAILED, str(error)) from error
        except Exception as error:
            # Whatever it is, somebody waits for an answer.
            raise Failure(START_FAILED, f"{type(error).__name__}: {error}") from error

    def explained(self, failure: Failure) -> Failure:
        """The reason behind an answer that did not come: perhaps the worker has ended."""
        until = time.monotonic() + _END_SECONDS
        while (ending := self.worker.ending()) is None and failure.kind == NO_ANSWER:
            if self.worker.is_out_of_memory() or time.monotonic() > until:
                break
            time.sleep(_LOOK_SECONDS)
        return self._reason(ending) or failure

    def record(self) -> Boot:
        """What is known of its start, and whether it failed since."""
        return Boot(
            self.boot_id,
            _difference(self.requested, self.ready),
            self.name,
            start_seconds=_difference(self.requested, self.started),
            listen_seconds=_difference(self.started, self.listening),
            load_seconds=self._load_seconds(),
            warm_up_seconds=self.warm_up_seconds,
            first_answer_seconds=_difference(self.ready, self.answered),
            failure=self.failure.kind if self.failure else "",
            failure_message=self.failure.message if self.failure else "",
        )

    def _load_seconds(self) -> float | None:
        until_ready = _difference(self.listening, self.ready)
        return until_ready if until_ready is None else until_ready - (self.warm_up_seconds or 0.0)

    def _wait_until_ready(self, settings: Settings) -> None:
        give_up = self.requested + settings.start_seconds
        while True:
            now = time.perf_counter()
            if now > give_up:
                raise Failure(
                    START_TIMEOUT,
                    f"not ready within {settings.start_seconds:g} s",
                    self.worker.last_output(),
                )
            ping = exchange(self.worker.address, PING, min(_PING_SECONDS, give_up - now))
            # Docker accepts connections for a server that does not listen yet, and closes them.
            if ping.status is not None or ping.is_late:
                self.listening = self.listening or now
            if ping.status == HEALTHY:
                self.ready = time.perf_counter()
                self.warm_up_seconds = _warm_up_seconds(ping, self.ready - (self.listening or now))
                return
            if self.listening is None or ping.status is None:
                self._require_alive()
            time.sleep(max(_FIRST_LOOK_SECONDS, _LOOK_SHARE * (now - self.requested)))

    def _require_alive(self) -> None:
        reason = self._reason(self.worker.ending())
        if reason is not None:
            kind = START_FAILED if reason.kind == DIED else reason.kind
            raise Failure(kind, reason.message, reason.last_output)

    def _reason(self, ending: str | None) -> Failure | None:
        if self.worker.is_out_of_memory():
            return Failure(OUT_OF_MEMORY, MEMORY_WAS_FULL, self.worker.last_output())
        if ending is not None:
            return Failure(DIED, ending, self.worker.last_output())
        return None


def _warm_up_seconds(ping: Exchange, most: float) -> float | None:
    """What the server says, as far as it fell between listening and ready; None if nothing."""
    try:
        seconds = float(ping.headers[WARM_UP_HEADER])
    except (KeyError, ValueError):
        return None
    return min(seconds, most) if seconds >= 0 else None


def _difference(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else end - begin
