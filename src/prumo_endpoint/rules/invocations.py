"""The server answers an invocation in time."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.limits import INVOKE_REFERENCE
from prumo_endpoint.outcome import broken, kept, undecided
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


# With these no body is called wrong: the path, its method, or a caller without credentials is.
NO_WAY_IN = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
)


def _check(case: Case) -> Outcome:
    answer = case.invoke()
    if answer.succeeded and answer.body_bytes > case.limits.payload_bytes:
        return broken(
            "the answer is larger than a payload may be", Quantity(answer.body_bytes, "B")
        )
    if answer.succeeded:
        return kept(f"{answer} to {case.body.content_type}", Quantity(answer.seconds, "s"))
    if answer.refused and case.body.is_drawn and answer.status not in NO_WAY_IN:
        return undecided(
            f"{answer} to a drawn JPEG; give a body that it takes with --body and --content-type"
        )
    return broken(f"{answer} to {case.body.content_type}")


RULE = Rule(
    name="invocations",
    demand="POST /invocations answers within {limits.invocation_seconds:g} s",
    source=INVOKE_REFERENCE,
    check=_check,
    needs=("truthful ping",),
)
