"""Where a server answers."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

from prumo.errors import InputError

SCHEMES = {"http": 80, "https": 443}
LOCAL_HOST = "127.0.0.1"
_LOOK_SECONDS = 2.0


@dataclass(frozen=True)
class Address:
    """A host and a port, and what stands before the paths of the contract."""

    host: str
    port: int
    scheme: str = "http"
    prefix: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def authority(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def accepted(self, timeout_seconds: float) -> socket.socket:
        """A connection that has been taken and nothing more; the caller closes it."""
        return socket.create_connection((self.host, self.port), timeout_seconds)

    def connected(self, timeout_seconds: float) -> socket.socket:
        """A connection over which can be asked; the caller closes it."""
        opened = self.accepted(timeout_seconds)
        if self.scheme != "https":
            return opened
        try:
            return ssl.create_default_context().wrap_socket(opened, server_hostname=self.host)
        except OSError:
            opened.close()
            raise


def address_of(url: str) -> Address:
    """The address that a URL names."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode("ascii")
    except ValueError as error:
        raise InputError(f"{url}: {error}") from error
    if wrong := _wrong_part(parts):
        raise InputError(
            f"{url}: {wrong}; right is http://HOST:PORT, such as http://localhost:8080"
        )
    prefix = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    return Address(host, SCHEMES[parts.scheme] if port is None else port, parts.scheme, prefix)


def free_port() -> int:
    """A port of this machine that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind((LOCAL_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def require_unused(port: int) -> None:
    """Refuse a port where another server answers already: that one would be checked instead."""
    try:
        socket.create_connection((LOCAL_HOST, port), _LOOK_SECONDS).close()
    except OSError:
        return
    raise InputError(f"another server listens at port {port} already; end it, or give another port")


def _wrong_part(parts: SplitResult) -> str:
    if parts.scheme not in SCHEMES:
        return f"'{parts.scheme}' is neither http nor https"
    if not parts.hostname:
        return "no host is named"
    if parts.username is not None:
        return "a user's name does not belong here"
    if parts.query or parts.fragment:
        return "nothing may follow the path"
    return ""
