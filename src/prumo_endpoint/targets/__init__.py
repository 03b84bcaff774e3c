"""What can be checked: an address, a command, a container image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from prumo_endpoint.exchange import Address

PORT = 8080
PORT_VARIABLE = "SAGEMAKER_BIND_TO_PORT"


class Target(Protocol):
    """Something that is, or becomes, a server."""

    @property
    def name(self) -> str:
        """As the user calls it."""

    def running(self) -> AbstractContextManager[Server]:
        """The server, started if need be; nothing that was started is left after the block."""


class ServerProcess(Protocol):
    """The process of a server that Prumo started."""

    @property
    def refusal(self) -> str:
        """Why it could not be started at all; empty when it could."""

    @property
    def program(self) -> str:
        """The name of the program that it runs now; empty where that cannot be seen."""

    def ending(self) -> str | None:
        """How it ended; None while it runs."""

    def last_words(self) -> str:
        """The end of what it printed."""

    def addresses(self) -> Sequence[Address]:
        """Where it listens, as far as that can be seen."""

    def terminate(self) -> None:
        """Send SIGTERM to this process alone, as SageMaker does."""


@dataclass(frozen=True)
class Server:
    """Where a server answers, and its process if it is Prumo's."""

    address: Address
    port: int
    """Where it has to listen, seen from the server; a container's may be published at another."""
    process: ServerProcess | None = None
    """None for a server that ran before Prumo came."""
    is_container: bool = False


def port_environment(port: int) -> dict[str, str]:
    """How a server learns of a port other than the usual one."""
    return {} if port == PORT else {PORT_VARIABLE: str(port)}
