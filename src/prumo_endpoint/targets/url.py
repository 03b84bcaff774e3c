"""A server that is running already, known by its address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prumo.errors import InputError, UnavailableError
from prumo_endpoint.exchange import address_of
from prumo_endpoint.targets import NO_OPTIONS, Server, Target, TargetOptions

CONNECT_SECONDS = 10.0


class UrlTarget(Target):
    """An http(s) URL."""

    noun = "a server that runs already"

    def __init__(self, url: str) -> None:
        self.name = url
        self._address = address_of(url)

    @classmethod
    def from_words(cls, words: Sequence[str], options: TargetOptions = NO_OPTIONS) -> UrlTarget:
        """The server at a URL; it uses no options."""
        del options
        if len(words) != 1:
            raise InputError(f"a URL is one word, and these are {len(words)}")
        return cls(words[0])

    @contextmanager
    def running(self) -> Iterator[Server]:
        """The server as it is; it is left running."""
        try:
            self._address.connected(CONNECT_SECONDS).close()
        except OSError as error:
            raise UnavailableError(f"no server can be reached at {self.name}: {error}") from error
        yield Server(self._address, self._address.port)
