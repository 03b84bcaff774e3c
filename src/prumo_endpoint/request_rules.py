"""The rules about requests to a running server: /ping, /invocations, connections, bodies."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.bodies import bad_bodies
from prumo_endpoint.exchange import HEALTHY, ConcurrentCalls
from prumo_endpoint.rule import (
    HOSTING_GUIDE,
    INVOKE_REFERENCE,
    Case,
    Outcome,
    broken,
    kept,
    not_checked,
    rule,
    undecided,
)

if TYPE_CHECKING:
    from prumo_endpoint.exchange import Exchange

PINGS = 5
CUSTOM_ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
SIZE_REFUSALS = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.REQUEST_TIMEOUT)
# These do not call the body wrong, but the path, its method or the credentials.
NOT_ABOUT_THE_BODY = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
)
_VISIBLE_CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))
_LOAD_PAUSE_SECONDS = 0.02


@rule(
    "ping",
    "GET /ping answers 200 within {limits.ping_seconds:g} s, with an empty or short body",
    source=HOSTING_GUIDE,
    needs=("start-up",),
)
def ping(case: Case) -> Outcome:
    """The server reports its health quickly."""
    slowest = 0.0
    for _ in range(PINGS):
        answer = case.ping()
        if answer.status != HEALTHY:
            return broken(f"/ping {answer}")
        if answer.body_bytes > case.limits.ping_body_bytes:
            return broken("/ping answers with a large body", Quantity(answer.body_bytes, "B"))
        slowest = max(slowest, answer.seconds)
    return kept(f"200 each time; the slowest of {PINGS} answers", Quantity(slowest, "s"))


@rule(
    "truthful ping",
    "/ping does not say 200 before /invocations works",
    source=HOSTING_GUIDE,
    needs=("ping",),
)
def truthful_ping(case: Case) -> Outcome:
    """The server reports itself healthy only when it can work."""
    seen = case.start.first_invocation if case.start else None
    first = seen or case.invoke()
    if first.succeeded:
        when = "right after the first 200 from /ping" if seen else "after a 200 from /ping"
        return kept(f"an invocation sent {when} succeeds")
    if first.refused:
        return not_checked(f"/invocations {first} to the sample, so the model was not asked")
    if first.is_late:
        return not_checked(f"/invocations {first}, which is another rule")
    return broken(f"/ping says 200, but /invocations {first}")


@rule(
    "accept",
    "accepts a connection within {limits.accept_seconds:g} s, "
    "also while {limits.open_connections} are open",
    source=HOSTING_GUIDE,
    needs=("start-up",),
)
def accept(case: Case) -> Outcome:
    """The server accepts connections quickly, also while many are open."""
    limits = case.limits
    slowest = 0.0
    with ExitStack() as stack:
        for already_open in range(limits.open_connections):
            began = time.monotonic()
            try:
                stack.enter_context(case.server.address.accepted(limits.accept_seconds))
            except TimeoutError:
                return broken(
                    f"with {already_open} connections open, the next is not taken within "
                    f"{limits.accept_seconds * 1000:g} ms"
                )
            except OSError as error:
                return broken(f"with {already_open} connections open, the next fails: {error}")
            slowest = max(slowest, time.monotonic() - began)
    return kept(
        f"the slowest of {limits.open_connections} connections, all open at once",
        Quantity(slowest, "s"),
    )


@rule(
    "invocations",
    "POST /invocations answers within {limits.invocation_seconds:g} s",
    source=INVOKE_REFERENCE,
    needs=("truthful ping",),
)
def invocations(case: Case) -> Outcome:
    """The server answers an invocation in time."""
    answer = case.invoke()
    if answer.succeeded and answer.body_bytes > case.limits.payload_bytes:
        return broken(
            "the answer is larger than a payload may be", Quantity(answer.body_bytes, "B")
        )
    if answer.succeeded:
        return kept(f"{answer} to {case.body.content_type}", Quantity(answer.seconds, "s"))
    if answer.refused and case.body.is_drawn and answer.status not in NOT_ABOUT_THE_BODY:
        return undecided(
            f"{answer} to a drawn JPEG; give a body that it takes with --body and --content-type"
        )
    return broken(f"{answer} to {case.body.content_type}")


@rule(
    "custom attributes",
    f"echoes {CUSTOM_ATTRIBUTES}, up to {{limits.attribute_characters}} visible ASCII characters",
    source=INVOKE_REFERENCE,
    needs=("invocations",),
)
def custom_attributes(case: Case) -> Outcome:
    """The server returns the caller's own header unchanged."""
    most = case.limits.attribute_characters
    longest = (_VISIBLE_CHARACTERS * (most // len(_VISIBLE_CHARACTERS) + 1))[:most]
    for sent in ("trace=1", longest):
        answer = case.invoke(headers={CUSTOM_ATTRIBUTES: sent})
        what = f"{CUSTOM_ATTRIBUTES} of {len(sent)} characters"
        if not answer.succeeded:
            return broken(f"with {what} it {answer}")
        echoed = answer.headers.get(CUSTOM_ATTRIBUTES.lower())
        if echoed is None:
            return broken(f"{what} is missing in the answer")
        if echoed != sent:
            return broken(f"{what} comes back changed")
    return kept(f"echoed, with up to {most} characters")


@rule(
    "ping under load",
    "/ping answers 200 within {limits.ping_seconds:g} s "
    "beside {limits.load_connections} invocations at once",
    source=HOSTING_GUIDE,
    needs=("invocations",),
)
def ping_under_load(case: Case) -> Outcome:
    """The server reports its health also while it works."""
    connections = case.limits.load_connections
    is_enough = threading.Event()

    def invoke_often() -> list[Exchange]:
        rounds = range(case.limits.load_rounds)
        return [case.invoke() for _ in rounds if not is_enough.is_set()]

    load = ConcurrentCalls([invoke_often] * connections)
    slowest = 0.0
    is_over = False
    while not is_over:
        health = case.ping()
        if health.status != HEALTHY:
            is_enough.set()
            load.results()
            return broken(f"beside {connections} invocations at once /ping {health}")
        slowest = max(slowest, health.seconds)
        is_over = load.are_over(_LOAD_PAUSE_SECONDS)
    answers = [answer for each in load.results() for answer in each]
    failed = [answer for answer in answers if not answer.succeeded]
    also = f"; of {len(answers)} invocations {len(failed)} failed: it {failed[0]}" if failed else ""
    return kept(
        f"200 beside {connections} invocations at once; the slowest answer{also}",
        Quantity(slowest, "s"),
    )


@rule(
    "payload",
    "takes a body of {limits.payload_mb:g} MB",
    source="{limits.payload_source}",
    needs=("invocations",),
)
def payload(case: Case) -> Outcome:
    """The server takes a body of the largest size that SageMaker passes on."""
    size = Quantity(case.limits.payload_bytes, "B")
    answer = case.invoke(case.body.grown(case.limits.payload_bytes))
    if answer.status in SIZE_REFUSALS or not (answer.succeeded or answer.refused):
        return broken(f"{answer} to a body of this size", size)
    return kept(f"{answer}: not refused for its size", size)


@rule(
    "bad body",
    "refuses a body that it cannot read with 4xx, and lives on",
    source=INVOKE_REFERENCE,
    needs=("truthful ping",),
)
def bad_body(case: Case) -> Outcome:
    """The server refuses what it cannot read, and stays healthy."""
    before = case.ping()
    if before.status != HEALTHY:
        return undecided(f"/ping {before} already before a bad body was sent")
    taken, refused = [], []
    for what, body in bad_bodies(case.body).items():
        answer = case.invoke(body)
        if answer.status in NOT_ABOUT_THE_BODY:
            return undecided(f"/invocations {answer}, so no body was looked at")
        if answer.succeeded:
            taken.append(what)
        elif answer.refused:
            refused.append(what)
        else:
            return broken(f"to {what} ({body.content_type}) it {answer}")
        after = case.ping()
        if after.status != HEALTHY:
            return broken(f"after {what} ({body.content_type}) /ping {after}")
    if not refused:
        return not_checked(f"takes even {' and '.join(taken)}, so no body is wrong for it")
    also = f"; takes {' and '.join(taken)}" if taken else ""
    return kept(f"4xx to {' and '.join(refused)}, and healthy afterwards{also}")


# In the order of checking. A bad body may end a server, so it comes last.
REQUEST_RULES = (
    ping,
    truthful_ping,
    accept,
    invocations,
    custom_attributes,
    ping_under_load,
    payload,
    bad_body,
)
