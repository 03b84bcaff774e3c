"""Memory for the bodies of all requests together."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from prumo.serve.http.refusal import queue_full

if TYPE_CHECKING:
    from collections.abc import Iterator


class ByteBudget:
    """Bytes that requests take as they arrive and give back when they are answered.

    Without it, many slow senders of large bodies would fill the memory. Only the event loop asks.
    """

    def __init__(self, total_bytes: int) -> None:
        self._free_bytes = total_bytes

    @contextmanager
    def share(self) -> Iterator[Share]:
        """What one request takes; given back at the end."""
        share = Share(self)
        try:
            yield share
        finally:
            self._free_bytes += share.taken_bytes

    def take(self, wanted_bytes: int) -> None:
        """Take some, or say that others have it."""
        if wanted_bytes > self._free_bytes:
            raise queue_full("too many bytes of other requests wait already; try again later")
        self._free_bytes -= wanted_bytes


class Share:
    """What one request has taken so far."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self.taken_bytes = 0

    def grow_to(self, total_bytes: int) -> None:
        """Take what is still missing of a size.

        Raises:
            Refusal: Others have it.
        """
        missing = total_bytes - self.taken_bytes
        if missing > 0:
            self._budget.take(missing)
            self.taken_bytes = total_bytes
