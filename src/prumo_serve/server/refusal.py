"""Why a request is not answered: an HTTP status, a kind for programs, a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from prumo.errors import PrumoError

_NO_HEADERS: Mapping[str, str] = {}


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

    def at(self, place: str) -> Refusal:
        """The same, about one of several that were sent: `instances[1]`."""
        return Refusal(self.status, self.kind, f"{place}: {self}", self.headers)

    @property
    def document(self) -> dict[str, dict[str, str]]:
        """As the body of the answer has it."""
        return {"error": {"kind": self.kind, "message": str(self)}}


def malformed(message: str) -> Refusal:
    """What was sent is not what its content type says."""
    return Refusal(HTTPStatus.BAD_REQUEST, "malformed", message)


def unreadable_image(message: str) -> Refusal:
    """An image that no decoder reads."""
    return Refusal(HTTPStatus.BAD_REQUEST, "unreadable_image", message)


def too_large(message: str) -> Refusal:
    """More bytes, pixels or images than the server's limits."""
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message)


def unsupported_type(message: str) -> Refusal:
    """A content type that the server does not know."""
    return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_type", message)


def wrong_values(message: str) -> Refusal:
    """The right form with a wrong shape or wrong values."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "wrong_values", message)


def too_slow(message: str) -> Refusal:
    """A sender that takes longer than it may."""
    return Refusal(HTTPStatus.REQUEST_TIMEOUT, "too_slow", message, {"connection": "close"})


def queue_full(message: str) -> Refusal:
    """More work than the server may keep waiting."""
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "queue_full", message, {"retry-after": "1"})


def not_ready(message: str) -> Refusal:
    """The server cannot answer now."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", message, {"retry-after": "1"})


def waited_too_long(message: str) -> Refusal:
    """The time limit came before the request's turn."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "waited_too_long", message, {"retry-after": "1"})


def took_too_long(message: str) -> Refusal:
    """The time limit came while the network was computing."""
    return Refusal(HTTPStatus.GATEWAY_TIMEOUT, "took_too_long", message)
