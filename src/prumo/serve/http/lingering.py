"""Hanging up on somebody who still speaks, in a way that he hears the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

# That what is still being sent is thrown away: as long as NGINX waits for more of it by default.
_LINGERING_SECONDS = 5.0


class LingeringTransport:
    """A connection whose `close` waits while there is something to come.

    To close with data unread makes the system reset the connection, and a reset can overtake the
    answer and destroy it (RFC 9112, 9.6).
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        is_receiving: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._is_receiving = is_receiving
        self.is_lingering = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (as the transport's own)
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing can be sent any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Send what was written, say that no more follows, and hang up when the other side has."""
        if self.is_closing():
            return
        if not self._is_receiving():
            self._transport.close()
            return
        self.is_lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        self._loop.call_later(_LINGERING_SECONDS, self._transport.close)
