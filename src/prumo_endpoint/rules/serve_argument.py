"""A container starts when it is run with the word `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept, not_checked
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


def _check(case: Case) -> Outcome:
    process = case.server.process
    if process is None or not case.server.is_container:
        return not_checked("no container was started here; give an image to have this checked")
    if process.refusal:
        return broken(process.refusal)
    return kept("the container starts")


RULE = Rule(
    name="serve",
    demand="`docker run IMAGE serve` starts the server",
    source=HOSTING_GUIDE,
    check=_check,
)
