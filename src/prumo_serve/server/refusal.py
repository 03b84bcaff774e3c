"""Why a request is not answered: an HTTP status, a kind for programs, a sentence for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from prumo.errors import PrumoError

_NO_HEADERS: Mapping[str, str] = {}
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Refusal(PrumoError):  # noqa: N818 (an answer, where nothing has failed)
    """A request that gets an error instead of an answer.

    The message never cites what was sent: it may be of a patient, and it goes into logs.
    """

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        message: str,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.headers = headers

    @property
    def document(self) -> dict[str, dict[str, str]]:
        """As the body of the answer has it."""
        return {"error": {"kind": self.kind, "message": str(self)}}


def each(
    place: str, function: Callable[[_Item], _Result], items: Iterable[_Item]
) -> Iterator[_Result]:
    """The results for several that were sent; a refusal names the one: `instances[1]`."""
    for number, item in enumerate(items):
        try:
            yield function(item)
        except Refusal as refusal:
            message = f"{place}[{number}]: {refusal}"
            raise Refusal(refusal.status, refusal.kind, message, refusal.headers) from None


_RETRY = {"retry-after": "1"}

malformed = partial(Refusal, HTTPStatus.BAD_REQUEST, "malformed")
too_slow = partial(Refusal, HTTPStatus.REQUEST_TIMEOUT, "too_slow", headers={"connection": "close"})
too_large = partial(Refusal, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
unsupported_type = partial(Refusal, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_type")
wrong_values = partial(Refusal, HTTPStatus.UNPROCESSABLE_ENTITY, "wrong_values")
"""The right form with a wrong shape or wrong values."""
queue_full = partial(Refusal, HTTPStatus.TOO_MANY_REQUESTS, "queue_full", headers=_RETRY)
headers_too_large = partial(
    Refusal, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large"
)
not_ready = partial(Refusal, HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", headers=_RETRY)
waited_too_long = partial(
    Refusal, HTTPStatus.SERVICE_UNAVAILABLE, "waited_too_long", headers=_RETRY
)
"""The time limit came before the request's turn."""
took_too_long = partial(Refusal, HTTPStatus.GATEWAY_TIMEOUT, "took_too_long")
"""The time limit came while the network was computing."""


def refused_image(kind: str, message: str) -> Refusal:
    """An image that is too large, or that no decoder reads."""
    if kind == "too_large":
        return too_large(message)
    return Refusal(HTTPStatus.BAD_REQUEST, kind, message)
