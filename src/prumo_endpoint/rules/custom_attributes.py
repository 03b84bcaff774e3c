"""The server gives a caller's own words back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_endpoint.limits import INVOKE_REFERENCE
from prumo_endpoint.outcome import broken, kept
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case

HEADER = "X-Amzn-SageMaker-Custom-Attributes"
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))


def _check(case: Case) -> Outcome:
    most = case.limits.attribute_characters
    longest = (_VISIBLE * (most // len(_VISIBLE) + 1))[:most]
    for sent in ("trace=1", longest):
        answer = case.invoke(headers={HEADER: sent})
        what = f"{HEADER} of {len(sent)} characters"
        if not answer.succeeded:
            return broken(f"with {what} it {answer}")
        echoed = answer.headers.get(HEADER.lower())
        if echoed is None:
            return broken(f"{what} is missing in the answer")
        if echoed != sent:
            return broken(f"{what} comes back changed")
    return kept(f"echoed, with up to {most} characters")


RULE = Rule(
    name="custom attributes",
    demand=f"echoes {HEADER}, up to {{limits.attribute_characters}} visible ASCII characters",
    source=INVOKE_REFERENCE,
    check=_check,
    needs=("invocations",),
)
