"""The load generator: sends requests when they are due and records what becomes of each.

One thread without a framework, so that its own share of a latency is small and can be measured
(`prumo_endpoint.load.calibration`). Latency counts from the time at which a request was due: a
server that answers slowly makes the requests behind it wait, and that wait belongs to it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import math
import os
import select
import socket
import ssl
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Self

import httptools

from prumo.errors import InputError
from prumo_endpoint.load.connection import Connection
from prumo_endpoint.load.sent import Outcome, Sent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prumo_endpoint.exchange import Address
    from prumo_endpoint.load.schedule import Schedule

MOST_CONNECTIONS = 1000
ANSWER_SECONDS = 60.0
_RECEIVE_BYTES = 1 << 18
_SUCCESS = range(200, 300)
_PR_SET_TIMERSLACK = 29
# Ours: rows are written in pauses at least this long, so that no request waits for them.
_PAUSE_SECONDS = 0.002
_PROBE_SECONDS = 2.0
_LOOK_SECONDS = 0.25
"""How often something outside may end the sending."""


class Generator:
    """Sends prepared requests to one address; connections stay open between loads.

        with Generator(address, [request]) as generator:
            generator.send(OpenLoop(constant_times(rate=10, seconds=5)), rows.append)

    `connections` is the most requests in flight; others wait, and their latency grows.
    """

    def __init__(
        self,
        address: Address,
        requests: Sequence[bytes],
        *,
        connections: int = MOST_CONNECTIONS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._address = address
        self._requests = requests
        self._most = connections
        self._answer_seconds = answer_seconds
        self._epoll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self._idle: deque[Connection] = deque()
        self._held: deque[Sent] = deque()
        self._flying: deque[tuple[float, Connection, Sent]] = deque()
        """In the order of their deadlines, with those that are over already."""
        self._done: Callable[[Sent], None] = lambda _: None
        self._began = 0.0
        self._sent = 0
        self._freed_at = 0.0
        self._schedule: Schedule | None = None
        self._tls = ssl.create_default_context() if address.scheme == "https" else None
        self._target = _resolved(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._epoll.close()

    def send(
        self,
        schedule: Schedule,
        record: Callable[[Sent], None],
        *,
        in_pause: Callable[[], None] = lambda: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> float:
        """Send until the schedule ends and all is answered; the seconds that took.

        Args:
            schedule: when to send.
            record: receives each request when it is over.
            in_pause: called now and then when nothing is due for a while.
            stop: asked before each request; once it says yes, nothing more is sent and what is in
                flight is waited for.
        """
        self._schedule, self._done = schedule, record
        self._drop_closed()
        self._began = time.perf_counter()
        precise_timers()
        was_collecting = gc.isenabled()
        gc.disable()
        try:
            self._loop(schedule, in_pause, stop)
        finally:
            if was_collecting:
                gc.enable()
        return time.perf_counter() - self._began

    def _drop_closed(self) -> None:
        """Drop connections that the server has closed since they were used last."""
        for descriptor, _ in self._epoll.poll(0):
            if connection := self._connections.get(descriptor):
                self._drop(connection)

    def _loop(
        self, schedule: Schedule, in_pause: Callable[[], None], stop: Callable[[], bool]
    ) -> None:
        clock, began = time.perf_counter, self._began
        next_look = _LOOK_SECONDS
        is_stopped = False
        while True:
            now = clock() - began
            due = None if is_stopped else schedule.due()
            while due is not None and due <= now:
                if stop():
                    is_stopped, due = True, None
                    self._held.clear()
                    break
                schedule.take()
                self._start(due, now)
                now = clock() - began
                due = schedule.due()
            if due is None and not self._in_flight and not self._held:
                return
            self._expire(now)
            self._release()
            # What has just ended may have made another request due.
            due = None if is_stopped else schedule.due()
            idle_seconds = math.inf if due is None else due - now
            if idle_seconds > _PAUSE_SECONDS or now >= next_look + _LOOK_SECONDS:
                in_pause()
                if now >= next_look:
                    next_look = now + _LOOK_SECONDS
                    is_stopped = is_stopped or stop()
                    if is_stopped:
                        self._held.clear()
                        continue
                idle_seconds = math.inf if due is None else due - (clock() - began)
            if self._flying:
                idle_seconds = min(idle_seconds, self._flying[0][0] - now)
            self._wait(min(idle_seconds, _LOOK_SECONDS))

    def _wait(self, seconds: float) -> None:
        """Wait for answers, so long at most, and take them."""
        # An epoll object waits in whole milliseconds; select, on its descriptor, in less.
        ready, _, _ = select.select([self._epoll], [], [], max(0.0, seconds))
        if ready:
            for descriptor, events in self._epoll.poll(0):
                if connection := self._connections.get(descriptor):
                    self._advance(connection, events)
            self._release()

    @property
    def _in_flight(self) -> int:
        return len(self._connections) - len(self._idle)

    def _start(self, due: float, now: float) -> None:
        sent = Sent(self._sent, self._sent % len(self._requests), due, due)
        self._sent += 1
        if not self._idle and len(self._connections) >= self._most:
            self._held.append(sent)
            return
        self._begin(sent, now)

    def _begin(self, sent: Sent, now: float) -> None:
        if math.isnan(sent.start):
            sent.start = now
        if self._idle and not sent.is_retried:
            connection = self._idle.pop()
            connection.sent = sent
            self._flying.append((now + self._answer_seconds, connection, sent))
            self._write(connection, self._requests[sent.payload])
            return
        try:
            connection = self._connect(sent)
        except OSError as error:
            sent.error = str(error)
            self._finish(None, sent, _unsent_outcome(error))
            return
        self._flying.append((now + self._answer_seconds, connection, sent))

    def _connect(self, sent: Sent) -> Connection:
        family, place = self._target
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setblocking(False)
            _require_success(plain.connect_ex(place))
            opened: socket.socket = plain
            if self._tls is not None:
                opened = self._tls.wrap_socket(
                    plain, server_hostname=self._address.host, do_handshake_on_connect=False
                )
        except OSError:
            plain.close()
            raise
        connection = Connection(opened, sent, self._requests[sent.payload])
        self._connections[opened.fileno()] = connection
        self._epoll.register(opened, select.EPOLLIN | select.EPOLLOUT)
        return connection

    def _write(self, connection: Connection, content: bytes | memoryview) -> None:
        try:
            done = connection.socket.send(content)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            done = 0
        except OSError:
            # The server's answer, if it sent one before it closed, is still to be read.
            done = len(content)
        if done < len(content):
            connection.unsent = memoryview(content)[done:]
            self._epoll.modify(connection.socket, select.EPOLLIN | select.EPOLLOUT)

    def _advance(self, connection: Connection, events: int) -> None:
        if connection.is_connecting and not self._connected(connection):
            return
        if events & select.EPOLLOUT and connection.unsent is not None:
            rest, connection.unsent = connection.unsent, None
            self._epoll.modify(connection.socket, select.EPOLLIN)
            self._write(connection, rest)
        if events & ~select.EPOLLOUT:
            self._receive(connection)

    def _connected(self, connection: Connection) -> bool:
        """Whether the connection stands, with TLS where that is spoken."""
        try:
            _require_success(connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            if isinstance(connection.socket, ssl.SSLSocket):
                connection.socket.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanted:
            is_reading = isinstance(wanted, ssl.SSLWantReadError)
            awaited = select.EPOLLIN if is_reading else select.EPOLLOUT
            self._epoll.modify(connection.socket, awaited)
            return False
        except OSError as error:
            if connection.sent is not None:
                connection.sent.error = str(error)
            self._finish(connection, connection.sent, _unsent_outcome(error))
            return False
        connection.is_connecting = False
        self._epoll.modify(connection.socket, select.EPOLLIN | select.EPOLLOUT)
        return True

    def _receive(self, connection: Connection) -> None:
        try:
            content = connection.socket.recv(_RECEIVE_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            content = b""
        sent = connection.sent
        if sent is None:
            # An idle connection that the server closes, or says something on unasked.
            self._drop(connection)
            return
        if not content and connection.is_reused and not sent.received_bytes and not sent.is_retried:
            # The server closed a connection that it had kept open while this request was sent.
            sent.is_retried = True
            self._drop(connection)
            self._held.appendleft(sent)
            return
        if math.isnan(sent.first_byte):
            sent.first_byte = time.perf_counter() - self._began
        if not content:
            is_whole = connection.ends_with_connection
            self._finish(connection, sent, Outcome.ANSWERED if is_whole else Outcome.CLOSED)
            return
        sent.received_bytes += len(content)
        try:
            connection.parser.feed_data(content)
        except httptools.HttpParserError:
            self._finish(connection, sent, Outcome.GARBLED)
            return
        if connection.is_complete:
            self._finish(connection, sent, Outcome.ANSWERED)

    def _finish(self, connection: Connection | None, sent: Sent | None, outcome: Outcome) -> None:
        if sent is None:
            return
        sent.end = time.perf_counter() - self._began
        sent.outcome = outcome
        if connection is not None and outcome is Outcome.ANSWERED:
            sent.status = connection.parser.get_status_code()
            sent.body = connection.body
            sent.is_json = connection.is_json
            sent.notes = connection.notes
            if sent.status not in _SUCCESS:
                sent.outcome = Outcome.REFUSED
        if connection is not None:
            is_kept = outcome is Outcome.ANSWERED and connection.may_be_used_again
            if is_kept:
                connection.rest()
                self._idle.append(connection)
            else:
                self._drop(connection)
        if self._schedule is not None:
            self._schedule.answered(sent.end)
        self._freed_at = sent.end
        self._done(sent)

    def _release(self) -> None:
        """Send what has waited for a connection, as far as there are any now."""
        while self._held and (self._idle or len(self._connections) < self._most):
            following = self._held.popleft()
            if not following.is_retried:
                following.free = max(following.due, self._freed_at)
            self._begin(following, time.perf_counter() - self._began)

    def _expire(self, now: float) -> None:
        """Give up requests whose time is over."""
        flying = self._flying
        while flying:
            deadline, connection, sent = flying[0]
            if connection.sent is not sent:
                flying.popleft()
            elif deadline <= now:
                flying.popleft()
                self._finish(connection, sent, Outcome.LATE)
            else:
                return

    def _drop(self, connection: Connection) -> None:
        self._connections.pop(connection.socket.fileno(), None)
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)
        connection.sent = None
        connection.socket.close()


def _resolved(address: Address) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    """Family and place of the address, looked up once: the first where somebody listens.

    Raises:
        InputError: The host has no address.
    """
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InputError(f"{address}: the host is not known: {error}") from error
    for family, _, _, _, place in found if len(found) > 1 else ():
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(_PROBE_SECONDS)
            probe.connect(place)
            return family, place
    return found[0][0], found[0][4]


def _require_success(code: int) -> None:
    """Raise the error of a connection that has failed; one still under way has not."""
    if code not in {0, errno.EINPROGRESS}:
        raise OSError(code, os.strerror(code))


def _unsent_outcome(error: OSError) -> Outcome:
    return Outcome.LATE if isinstance(error, TimeoutError) else Outcome.UNREACHABLE


def precise_timers() -> None:
    """Have the kernel wake this thread within a microsecond of its time instead of 50."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)
