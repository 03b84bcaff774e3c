"""Calls that moto's server answers otherwise: refused, late, or for a key that has expired.

`answer_calls(patch, lambda call: expired() if call.access_key == "AKIAOLD" else None)`, and a
`network` before a server that can be lost: `with network(url) as way: way.cut()`.
"""

from __future__ import annotations

import io
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Call:
    """One request to AWS."""

    name: str
    """Such as CreateEndpoint, or `HEAD /bucket` of S3."""
    access_key: str
    region: str
    body: bytes


@dataclass(frozen=True)
class Answer:
    """Instead of moto's."""

    content: dict[str, Any] = field(default_factory=dict)
    code: str = ""
    """Of an error, as AWS calls it."""
    status: int = 200


def refused(code: str, message: str, status: int = 400) -> Answer:
    """An error."""
    return Answer({"message": message}, code, status)


def expired() -> Answer:
    """What every service answers to temporary credentials after their time."""
    return refused("ExpiredToken", "The security token included in the request is expired", 403)


def answer_calls(patch: pytest.MonkeyPatch, answer: Callable[[Call], Answer | None]) -> None:
    """Ask `answer` first; None leaves the call to moto."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication  # noqa: PLC0415

    passed_on = DomainDispatcherApplication.__call__

    def called(self: Any, environ: dict[str, Any], start_response: Any) -> Any:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        is_own = environ["PATH_INFO"].startswith("/moto-api")
        given = None if is_own else answer(_call(environ, body))
        if given is None:
            return passed_on(self, environ, start_response)
        content = _content(given, is_json="HTTP_X_AMZ_TARGET" in environ)
        if b"Action=" in body:
            content = b"<ErrorResponse>" + content + b"</ErrorResponse>"
        length = ("Content-Length", str(len(content)))
        start_response(f"{given.status} Answer", [("Content-Type", "application/json"), length])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [content]

    patch.setattr(DomainDispatcherApplication, "__call__", called)


def _call(environ: dict[str, Any], body: bytes) -> Call:
    signed = re.search(r"Credential=([^/]+)/\d+/([^/]+)/", environ.get("HTTP_AUTHORIZATION", ""))
    key, region = signed.groups() if signed else ("", "")
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        name = target.rpartition(".")[2]
    elif action := re.search(rb"(?:^|&)Action=(\w+)", body):
        name = action[1].decode()
    else:
        name = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
    return Call(name, key, region, body)


def _content(answer: Answer, *, is_json: bool) -> bytes:
    if is_json:
        kind = {"__type": answer.code} if answer.code else {}
        return json.dumps(answer.content | kind).encode()
    message = answer.content.get("message", "")
    error = f"<Error><Code>{answer.code}</Code><Message>{message}</Message></Error>"
    return error.encode()


@dataclass
class Network:
    """The way to a server; while it is cut, connections break and new ones are refused."""

    target: tuple[str, int]
    listener: socket.socket
    is_cut: bool = False
    connections: set[socket.socket] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def cut(self) -> None:
        self.is_cut = True
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def restore(self) -> None:
        self.is_cut = False

    def relay(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                if self.is_cut:
                    client.close()
                    continue
                server = socket.create_connection(self.target)
                self.connections |= {client, server}
                for way in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=way, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                sink.sendall(content)
        self.connections -= {source, sink}
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def network(url: str) -> Iterator[Network]:
    """A way to a server of this machine."""
    parts = urlsplit(url)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        way = Network((str(parts.hostname), int(parts.port or 80)), listener)
        threading.Thread(target=way.relay, daemon=True).start()
        yield way
        way.cut()
