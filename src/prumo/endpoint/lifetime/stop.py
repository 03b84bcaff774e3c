"""A server's stop, watched: SIGTERM while requests are on their way."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.endpoint.exchange import PING, PendingExchange, exchange
from prumo.endpoint.exchange.together import Together

if TYPE_CHECKING:
    from prumo.endpoint.exchange import Exchange
    from prumo.endpoint.exchange.body import Body
    from prumo.endpoint.limits import Limits
    from prumo.endpoint.targets import Server, ServerProcess

_LOOK_SECONDS = 0.05
# A server that knows this header tells thereby that it has begun with the request.
_ASK_BEFORE_BODY = {"Expect": "100-continue"}


@dataclass(frozen=True)
class Stop:
    """What was seen after SIGTERM."""

    program: str = ""
    """What the signalled process ran; empty where that cannot be seen."""
    ended_before: str = ""
    """How the process ended before it was asked to."""
    ending: str = ""
    """How it ended; empty when it had to be killed."""
    seconds: float = 0.0
    """From the signal to the end, or until it was given up."""
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
    answers = Together([each.answer for each in pending])
    while True:
        ending = process.ending()
        seconds = time.monotonic() - signalled
        if ending is not None or seconds > limits.stop_seconds:
            return Stop(program, "", ending or "", seconds, tuple(answers.results()))
        time.sleep(_LOOK_SECONDS)


def _ended_before(server: Server, process: ServerProcess, limits: Limits) -> str:
    """How the server ended by itself; whoever still answers has not."""
    until = time.monotonic() + limits.ping_seconds
    while exchange(server.address, PING, limits.ping_seconds).status is None:
        if ending := process.ending():
            return ending
        if time.monotonic() > until:
            break
        time.sleep(_LOOK_SECONDS)
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
        each.wait_for_word(max(0.0, until - time.monotonic()))
    return pending
