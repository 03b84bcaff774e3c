"""A server's start and stop: what is observed of them, and the rules about them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.exchange import HEALTHY, PING, ConcurrentCalls, PendingExchange, exchange
from prumo_endpoint.rule import (
    HOSTING_GUIDE,
    PORT_GUIDE,
    Case,
    Limits,
    Outcome,
    broken,
    kept,
    not_checked,
    rule,
)
from prumo_endpoint.targets import PORT, PORT_VARIABLE, START_TIMEOUT

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_endpoint.bodies import Body
    from prumo_endpoint.exchange import Address, Exchange
    from prumo_endpoint.targets import Instances, Server, ServerProcess

NOT_OURS = "it ran already, and Prumo ends only what it started"
ON_DEMAND = "its instances start on demand; give the command or image itself to have this checked"
SHELLS = {"sh", "ash", "bash", "busybox", "dash", "ksh", "zsh"}
_POLL_SECONDS = 0.05
# A server that supports this header thereby confirms that it has begun with the request.
_ASK_BEFORE_BODY = {"Expect": "100-continue"}
# A slow /ping breaks a rule of its own; it must not count as a server that does not start.
_PING_PATIENCE = 5


@dataclass(frozen=True)
class Start:
    """What was observed until the server reported itself healthy, or until Prumo gave up."""

    last_ping: Exchange | None = None
    ready_seconds: float | None = None
    """Until the first 200 from /ping."""
    first_invocation: Exchange | None = None
    """Sent immediately afterwards."""
    elsewhere: Address | None = None
    """Where it answers while the right port stays silent."""
    ending: str | None = None
    """How the process ended."""
    last_output: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether it reported itself healthy."""
        return self.ready_seconds is not None

    @property
    def is_reached(self) -> bool:
        """Whether anything answered at the right port."""
        return self.last_ping is not None and self.last_ping.status is not None


def watch_start(
    server: Server, process: ServerProcess, body: Body, limits: Limits, progress: Progress
) -> Start:
    """Ask /ping until it says 200, then send an invocation immediately."""
    began = time.monotonic()
    other_port = _OtherPort(server, process, limits)
    while True:
        progress.show("waiting for /ping", f"{time.monotonic() - began:.0f} s")
        ping = exchange(server.address, PING, _PING_PATIENCE * limits.ping_seconds)
        seconds = time.monotonic() - began
        if ping.status == HEALTHY:
            first = exchange(server.address, body.request(), limits.invocation_seconds)
            return Start(ping, seconds, first)
        ending, elsewhere = None, None
        if ping.status is None:
            ending, elsewhere = process.ending(), other_port.settled()
        if ending is not None or elsewhere is not None or seconds > limits.start_seconds:
            return Start(
                ping, elsewhere=elsewhere, ending=ending, last_output=process.last_output()
            )
        time.sleep(_POLL_SECONDS)


def watch_cold_start(server: Server, instances: Instances, body: Body, limits: Limits) -> Start:
    """Have a request start an instance, then send an invocation immediately."""
    ping = exchange(server.address, PING, limits.start_seconds)
    boots = instances.boots()
    if ping.status == HEALTHY:
        seconds = boots[-1].cold_start_seconds if boots else None
        first = exchange(server.address, body.request(), limits.invocation_seconds)
        return Start(ping, ping.seconds if seconds is None else seconds, first)
    ending = boots[-1].failure_message if boots and boots[-1].failure != START_TIMEOUT else None
    return Start(ping, ending=ending or None)


class _OtherPort:
    """A healthy answer at a port other than the expected one.

    Behind a proxy that starts last this is normal for a moment, so it has to last a while.
    """

    def __init__(self, server: Server, process: ServerProcess, limits: Limits) -> None:
        self._server = server
        self._process = process
        self._limits = limits
        self._since: float | None = None

    def settled(self) -> Address | None:
        """Where the server has been answering for long enough."""
        found = self._found()
        if found is None:
            self._since = None
            return None
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return found if now - self._since >= self._limits.elsewhere_seconds else None

    def _found(self) -> Address | None:
        for address in self._process.addresses():
            if address.port != self._server.port:
                ping = exchange(address, PING, self._limits.ping_seconds)
                if ping.status == HEALTHY:
                    return address
        return None


@dataclass(frozen=True)
class Stop:
    """What was observed after SIGTERM."""

    program: str = ""
    """What the signalled process ran; empty where that cannot be observed."""
    ended_before: str = ""
    """How the process ended before it was asked to."""
    ending: str = ""
    """How it ended; empty when it had to be killed."""
    seconds: float = 0.0
    """From the signal to the end, or until Prumo gave up."""
    answers: tuple[Exchange, ...] = ()
    """To the requests that were in flight."""


def watch_stop(server: Server, process: ServerProcess, body: Body, limits: Limits) -> Stop:
    """Send SIGTERM while the last byte of several requests is still to come."""
    if ended_before := _ended_before(server, process, limits):
        return Stop(ended_before=ended_before)
    pending = _in_flight(server, body, limits)
    program = process.program
    process.terminate()
    signalled = time.monotonic()
    time.sleep(limits.settle_seconds)
    for each in pending:
        each.send(len(body.content))
    answers = ConcurrentCalls([each.answer for each in pending])
    while True:
        ending = process.ending()
        seconds = time.monotonic() - signalled
        if ending is not None or seconds > limits.stop_seconds:
            return Stop(program, "", ending or "", seconds, tuple(answers.results()))
        time.sleep(_POLL_SECONDS)


def _ended_before(server: Server, process: ServerProcess, limits: Limits) -> str:
    """How the server ended by itself; empty while it answers."""
    until = time.monotonic() + limits.ping_seconds
    while exchange(server.address, PING, limits.ping_seconds).status is None:
        if ending := process.ending():
            return ending
        if time.monotonic() > until:
            break
        time.sleep(_POLL_SECONDS)
    return ""


def _in_flight(server: Server, body: Body, limits: Limits) -> list[PendingExchange]:
    """Requests that the server has accepted and whose bodies lack the last byte."""
    request = body.request(_ASK_BEFORE_BODY)
    pending = [
        PendingExchange(server.address, request, limits.stop_seconds)
        for _ in range(limits.requests_in_flight)
    ]
    for each in pending:
        each.send(len(body.content) - 1)
    until = time.monotonic() + limits.settle_seconds
    for each in pending:
        each.wait_for_reply(max(0.0, until - time.monotonic()))
    return pending


@rule("serve", "`docker run IMAGE serve` starts the server", source=HOSTING_GUIDE)
def serve(case: Case) -> Outcome:
    """A container starts when it is run with the argument `serve`."""
    process = case.server.process
    if process is None or not case.server.is_container:
        return not_checked("no container was started here; give an image to have this checked")
    if process.start_error:
        return broken(process.start_error)
    return kept("the container starts")


@rule(
    "port",
    f"listens at port {PORT}, or at the one that {PORT_VARIABLE} names",
    source=PORT_GUIDE,
    needs=("serve",),
)
def port(case: Case) -> Outcome:
    """The server listens where it is expected."""
    if case.server.instances is not None:
        return _port_of_instance(case)
    expected = case.server.port
    named = f"port {expected}"
    if expected != PORT:
        named += f", which {PORT_VARIABLE} names"
    if case.start is None:
        if expected == PORT:
            return kept(f"listens at {named}")
        return not_checked(
            f"the address has port {expected}; whether the server listens at {PORT}, or where "
            f"{PORT_VARIABLE} says, is seen only when Prumo starts it"
        )
    if case.start.is_reached:
        return kept(f"listens at {named}")
    if case.start.elsewhere is not None:
        return broken(f"answers at port {case.start.elsewhere.port} and not at {named}")
    return not_checked("nothing answers at any port that was seen")


def _port_of_instance(case: Case) -> Outcome:
    if case.start is not None and case.start.is_ready:
        return kept(f"an instance listens at the port that {PORT_VARIABLE} names")
    return not_checked("no instance became ready")


@rule(
    "start-up",
    "is ready within {limits.start_minutes:g} minutes",
    source="{limits.start_source}",
    needs=("port",),
)
def start_up(case: Case) -> Outcome:
    """The server is ready in time."""
    start = case.start
    if start is None:
        return not_checked("it ran already; give a command or an image to have its start checked")
    if start.ready_seconds is not None:
        seconds = Quantity(start.ready_seconds, "s")
        if start.ready_seconds > case.limits.start_seconds:
            return broken("/ping answers 200 too late", seconds)
        return kept("/ping answers 200", seconds)
    printed = f"; it printed: {start.last_output.splitlines()[-1]}" if start.last_output else ""
    if start.ending is not None:
        return broken(f"{start.ending} before it was ready{printed}")
    hint = (
        "; in a container a server has to listen at 0.0.0.0, not only at 127.0.0.1"
        if case.server.is_container and not start.is_reached
        else ""
    )
    return broken(
        f"no 200 from /ping within {case.limits.start_seconds:g} s; it {start.last_ping}"
        f"{printed}{hint}"
    )


@rule(
    "entry point",
    "process 1 of the container is the server, or passes SIGTERM on",
    source=HOSTING_GUIDE,
    needs=("start-up",),
)
def entry_point(case: Case) -> Outcome:
    """SIGTERM reaches the server in its container."""
    stop = case.stop
    if not case.server.is_container:
        missing = "there is no container; give an image to have this checked"
        return not_checked(missing if case.server.instances is None else ON_DEMAND)
    if stop is None or stop.ended_before:
        return not_checked("the container had ended before SIGTERM could be sent")
    if stop.ending:
        return kept(f"process 1{f' is {stop.program}' if stop.program else ''}: SIGTERM ends it")
    if not stop.program:
        return not_checked("SIGTERM does not end process 1, whose name cannot be seen from here")
    if stop.program in SHELLS:
        return broken(
            f"process 1 is a shell ({stop.program}), which keeps SIGTERM for itself: "
            'use the exec form ENTRYPOINT ["program", "argument"], or end a script with exec'
        )
    return kept(f"process 1 is {stop.program} and no shell")


@rule(
    "stop",
    "ends within {limits.stop_seconds:g} s of SIGTERM",
    source=HOSTING_GUIDE,
    needs=("start-up", "entry point"),
)
def stop_in_time(case: Case) -> Outcome:
    """The server ends in time after SIGTERM."""
    stop = case.stop
    if stop is None:
        return not_checked(NOT_OURS if case.server.instances is None else ON_DEMAND)
    if stop.ended_before:
        return not_checked(f"it {stop.ended_before} before SIGTERM could be sent")
    seconds = Quantity(stop.seconds, "s")
    if stop.ending:
        return kept(stop.ending, seconds)
    hint = (
        "; without a handler of its own, process 1 ignores it" if case.server.is_container else ""
    )
    return broken(f"still running after SIGTERM, so SageMaker kills it{hint}", seconds)


@rule(
    "requests in flight",
    "answers the requests that it has accepted before SIGTERM",
    source=HOSTING_GUIDE,
    needs=("invocations", "stop"),
)
def requests_in_flight(case: Case) -> Outcome:
    """The server loses no request when it is stopped."""
    stop = case.stop
    if stop is None:
        return not_checked(NOT_OURS if case.server.instances is None else ON_DEMAND)
    if stop.ended_before:
        return not_checked(f"it {stop.ended_before} before SIGTERM could be sent")
    lost = [answer for answer in stop.answers if not answer.succeeded]
    total = len(stop.answers)
    if lost:
        return broken(
            f"of {total} requests that had begun before SIGTERM, {len(lost)} were lost: "
            f"it {lost[0]}"
        )
    return kept("every request that had begun before SIGTERM is answered", Quantity(total))


# In the order of checking.
START_RULES = (serve, port, start_up)
STOP_RULES = (entry_point, stop_in_time, requests_in_flight)
