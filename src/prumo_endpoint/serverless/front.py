"""The front of a local serverless endpoint, `python -m prumo_endpoint.serverless.front`.

Its standard input is the pipe from Prumo: first a line with its settings, then orders. Each is
answered by a line of JSON on its standard output. When the pipe closes, Prumo is gone or has
finished, and the front ends all instances and itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import PrumoError
from prumo.machine.kernel import CLEANUP_VARIABLE
from prumo_endpoint.exchange import LOCAL_HOST
from prumo_endpoint.serverless import (
    BOOT_ID_HEADER,
    BOOTS,
    COLD_HEADER,
    COLD_START_HEADER,
    INSTANCE_HEADER,
    STOP_IDLE,
    Settings,
)
from prumo_endpoint.serverless.instance import (
    MEMORY_WAS_FULL,
    Instance,
)
from prumo_endpoint.serverless.proxy import (
    NO_ANSWER,
    ClientConnection,
    Failure,
    InstanceConnection,
    Request,
    Response,
    error_response,
)
from prumo_endpoint.serverless.worker import ContainerWorkers, ProcessWorkers
from prumo_endpoint.targets import OUT_OF_MEMORY, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from prumo_endpoint.serverless.worker import Workers
    from prumo_endpoint.targets import Boot

# A server may close a connection that was idle for a while, just when the next request is sent.
_REUSE_SECONDS = 1.0
_BACKLOG = 1024
_SERVER_ERROR = 500
_MORE_THREADS = 8


class Front:
    """Passes each request to an idle instance, or starts one for it, or refuses it with 429."""

    def __init__(self, settings: Settings, workers: Workers) -> None:
        self._settings = settings
        self._workers = workers
        self._instances: dict[str, Instance] = {}
        """Those that start or run, by their names; not those that are being stopped."""
        self._idle: list[Instance] = []
        """The one that was used last is used next, so that others can time out."""
        self._booted: list[Instance] = []
        self._stopping: dict[asyncio.Task[None], Instance] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self._loop = asyncio.get_running_loop()

    def handle(self, client: ClientConnection, request: Request) -> None:
        """Have a request answered, or refuse it."""
        call = _Call(client, request)
        if self._is_closing:
            # On a connection that a client kept: an instance that starts now would stay.
            client.answer(error_response(503, "closing", "the endpoint is being closed"))
        elif self._idle:
            self._pass_on(call, self._taken())
        elif ready := self._ready_for_ping(request):
            self._in_background(self._ping(call, ready))
        elif len(self._instances) < self._settings.max_concurrency:
            self._in_background(self._boot(call, self._new_instance(call)))
        else:
            message = f"all {self._settings.max_concurrency} instances are busy"
            client.answer(error_response(429, "throttled", message))

    def boots(self) -> list[Boot]:
        """All starts so far."""
        return [instance.record() for instance in self._booted]

    async def stop_idle(self) -> None:
        """Stop idle instances, and wait for those that are being stopped already."""
        while self._idle:
            self._stop(self._taken())
        await asyncio.gather(*self._stopping)

    async def close(self) -> None:
        """End all instances at once, and start no other."""
        self._is_closing = True
        alive = [*self._instances.values(), *self._stopping.values()]
        for instance in alive:
            if instance.idle_timer is not None:
                instance.idle_timer.cancel()
        await asyncio.gather(
            *(asyncio.to_thread(each.worker.stop, is_killed=True) for each in alive)
        )
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*self._stopping)

    def _taken(self) -> Instance:
        instance = self._idle.pop()
        if instance.idle_timer is not None:
            instance.idle_timer.cancel()
        return instance

    def _release(self, instance: Instance) -> None:
        """It waits for the next request."""
        self._idle.append(instance)
        seconds = self._settings.idle_seconds
        instance.idle_timer = self._loop.call_later(seconds, self._retire, instance)

    def _retire(self, instance: Instance) -> None:
        self._idle.remove(instance)
        self._stop(instance)

    def _stop(self, instance: Instance) -> None:
        """Stop an instance that is not idle, or not idle any more."""
        del self._instances[instance.name]
        if instance.connection is not None:
            instance.connection.close()
        task = self._loop.create_task(asyncio.to_thread(instance.worker.stop))
        self._stopping[task] = instance
        task.add_done_callback(self._stopping.pop)

    def _new_instance(self, call: _Call) -> Instance:
        names = map(str, range(1, self._settings.max_concurrency + 1))
        name = next(name for name in names if name not in self._instances)
        instance = Instance(name, self._workers.new(), call.request.came)
        self._instances[name] = instance
        self._booted.append(instance)
        return instance

    async def _boot(self, call: _Call, instance: Instance) -> None:
        call.is_cold = True
        try:
            await asyncio.to_thread(instance.boot, self._settings)
        except Failure as failure:
            self._give_up(call, instance, failure)
        else:
            await self._connect_and_send(call, instance)

    def _pass_on(self, call: _Call, instance: Instance) -> None:
        connection = instance.connection
        if (
            connection is not None
            and connection.is_open
            and time.perf_counter() - connection.used < _REUSE_SECONDS
        ):
            self._send(call, instance, connection)
        else:
            self._in_background(self._connect_and_send(call, instance))

    async def _connect_and_send(self, call: _Call, instance: Instance) -> None:
        if instance.connection is not None:
            instance.connection.close()
        try:
            instance.connection = await self._connected(instance)
        except OSError as error:
            await self._answer_unreachable(call, instance, Failure(NO_ANSWER, str(error)))
        else:
            self._send(call, instance, instance.connection)

    def _send(self, call: _Call, instance: Instance, connection: InstanceConnection) -> None:
        def done(result: Response | Failure) -> None:
            if isinstance(result, Failure):
                self._in_background(self._answer_failure(call, instance, result))
            elif result.status >= _SERVER_ERROR:
                self._in_background(self._answer_error(call, instance, result))
            else:
                self._answer(call, instance, result)

        self._exchange(connection, call.request, done)

    def _exchange(
        self,
        connection: InstanceConnection,
        request: Request,
        done: Callable[[Response | Failure], None],
    ) -> None:
        """Send a request; its answer, or that none came in time, goes to `done`."""
        seconds = self._settings.invocation_seconds
        late = Failure(TIMEOUT, f"no answer within {seconds:g} s")
        timer = self._loop.call_later(seconds, connection.fail, late)

        def finished(result: Response | Failure) -> None:
            timer.cancel()
            done(result)

        connection.send(request, finished)

    async def _connected(self, instance: Instance) -> InstanceConnection:
        address = instance.worker.address
        _, connection = await self._loop.create_connection(
            InstanceConnection, address.host, address.port
        )
        return connection

    def _answer(self, call: _Call, instance: Instance, response: Response) -> None:
        """Pass an answer on; the instance is free before the client can know of the answer."""
        if call.is_cold:
            instance.answered = time.perf_counter()
            self._in_background(asyncio.to_thread(self._workers.prepare))
        self._release(instance)
        call.client.answer(response, _headers(call, instance))

    async def _answer_error(self, call: _Call, instance: Instance, response: Response) -> None:
        """A server that goes on after one of its processes was killed may answer so."""
        if await asyncio.to_thread(instance.worker.is_out_of_memory):
            self._give_up(call, instance, Failure(OUT_OF_MEMORY, MEMORY_WAS_FULL))
        else:
            self._answer(call, instance, response)

    async def _answer_failure(self, call: _Call, instance: Instance, failure: Failure) -> None:
        reason = await asyncio.to_thread(instance.explained, failure)
        if reason.kind == NO_ANSWER:
            self._answer(call, instance, reason.response())
        else:
            self._give_up(call, instance, reason)

    async def _answer_unreachable(self, call: _Call, instance: Instance, failure: Failure) -> None:
        """An instance that ended while it was idle is replaced: the request never reached it."""
        reason = await asyncio.to_thread(instance.explained, failure)
        if call.is_cold or reason.kind == NO_ANSWER:
            await self._answer_failure(call, instance, reason)
            return
        instance.failure = reason
        self._stop(instance)
        self.handle(call.client, call.request)

    def _give_up(self, call: _Call, instance: Instance, failure: Failure) -> None:
        """Answer with the failure of an instance, and have no more of it."""
        instance.failure = failure
        self._stop(instance)
        self._in_background(asyncio.to_thread(self._workers.prepare))
        call.client.answer(failure.response(), _headers(call, instance))

    def _ready_for_ping(self, request: Request) -> Instance | None:
        """An instance at work: as SageMaker does, its health is asked beside its work."""
        if request.method != b"GET" or request.path != b"/ping":
            return None
        ready = (each for each in self._instances.values() if each.ready is not None)
        return next(ready, None)

    async def _ping(self, call: _Call, instance: Instance) -> None:
        def answer(result: Response | Failure) -> None:
            response = result.response() if isinstance(result, Failure) else result
            call.client.answer(response, _headers(call, instance))

        def done(result: Response | Failure) -> None:
            connection.close()
            answer(result)

        try:
            connection = await self._connected(instance)
        except OSError as error:
            answer(Failure(NO_ANSWER, str(error)))
        else:
            self._exchange(connection, call.request, done)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Call:
    """A request and who waits for its answer."""

    __slots__ = ("client", "is_cold", "request")

    def __init__(self, client: ClientConnection, request: Request) -> None:
        self.client = client
        self.request = request
        self.is_cold = False


def _headers(call: _Call, instance: Instance) -> list[tuple[str, str]]:
    headers = [(BOOT_ID_HEADER, instance.boot_id), (INSTANCE_HEADER, instance.name)]
    if call.is_cold:
        headers.append((COLD_HEADER, "1"))
    if call.is_cold and instance.ready is not None:
        seconds = instance.ready - instance.requested
        headers.append((COLD_START_HEADER, f"{seconds:.6f}"))
    return headers


async def _serve(settings: Settings, workers: Workers, orders: asyncio.StreamReader) -> None:
    """Listen and obey until the pipe from Prumo closes."""
    front = Front(settings, workers)
    server = await asyncio.get_running_loop().create_server(
        lambda: ClientConnection(front), LOCAL_HOST, 0, backlog=_BACKLOG
    )
    _report({"port": server.sockets[0].getsockname()[1]})
    try:
        line = asyncio.create_task(orders.readline())
        while order := (await line).decode().strip():
            line = asyncio.create_task(orders.readline())
            if order == STOP_IDLE:
                stopped = asyncio.create_task(front.stop_idle())
                # Prumo waits for each reply: a line before that is the end of the pipe.
                await asyncio.wait((stopped, line), return_when=asyncio.FIRST_COMPLETED)
            _report({"boots": [asdict(boot) for boot in front.boots()]} if order == BOOTS else {})
    finally:
        server.close()
        await front.close()


async def main() -> None:
    """Read the settings, serve, and leave nothing behind."""
    loop, orders = asyncio.get_running_loop(), asyncio.StreamReader()
    # Who stops a whole tree of processes by SIGTERM stops Prumo too; the pipe says when.
    loop.add_signal_handler(signal.SIGTERM, lambda: None)
    # Of the front alone: what it starts is not to be spared.
    os.environ.pop(CLEANUP_VARIABLE, None)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), os.fdopen(0, "rb", buffering=0)
    )
    line = await orders.readline()
    if not line:
        return
    settings = Settings.from_json(line.decode())
    # Each instance may start, and an earlier one of its place end, at the same time.
    loop.set_default_executor(ThreadPoolExecutor(_MORE_THREADS + 2 * settings.max_concurrency))
    with tempfile.TemporaryDirectory(prefix="prumo-serverless-") as folder:
        try:
            workers = _workers(settings, Path(folder))
        except PrumoError as error:
            _report({"error": str(error)})
            return
        try:
            await _serve(settings, workers, orders)
        finally:
            workers.close()


def _workers(settings: Settings, folder: Path) -> Workers:
    return ContainerWorkers(settings) if settings.image else ProcessWorkers(settings, folder)


def _report(document: dict[str, Any]) -> None:
    # Prumo may be gone, and then nobody asks.
    try:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        pass


if __name__ == "__main__":
    asyncio.run(main())
