"""The server takes a body of the largest size that SageMaker passes on."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.outcome import broken, kept
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case

SIZE_REFUSALS = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.REQUEST_TIMEOUT)


def _check(case: Case) -> Outcome:
    size = Quantity(case.limits.payload_bytes, "B")
    answer = case.invoke(case.body.grown(case.limits.payload_bytes))
    if answer.status in SIZE_REFUSALS or not (answer.succeeded or answer.refused):
        return broken(f"{answer} to a body of this size", size)
    return kept(f"{answer}: not refused for its size", size)


RULE = Rule(
    name="payload",
    demand="takes a body of {limits.payload_mb:g} MB",
    source="{limits.payload_source}",
    check=_check,
    needs=("invocations",),
)
