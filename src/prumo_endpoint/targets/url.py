"""A server that runs already, known by its address."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo_endpoint.exchange import address_of
from prumo_endpoint.targets import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

REACH_SECONDS = 10.0


class AddressTarget:
    """An http(s) URL."""

    def __init__(self, url: str) -> None:
        self.name = url
        self._address = address_of(url)

    @contextmanager
    def running(self) -> Iterator[Server]:
        """The server as it is; it is left running."""
        try:
            self._address.connected(REACH_SECONDS).close()
        except OSError as error:
            raise UnavailableError(f"no server can be reached at {self.name}: {error}") from error
        yield Server(self._address, self._address.port)
