"""A server that answers as public price services do, and misbehaves when a test wants it to."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Trouble:
    """One bad answer, given instead of the right one."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Instead of the right body."""
    given_bytes: int | None = None
    """How many bytes are given before hanging up."""
    delay_seconds: float = 0.0


@dataclass
class Service:
    """What a server has, and what it was asked."""

    url: str = ""
    pages: dict[str, str] = field(default_factory=dict)
    """By path and query; a path alone answers every query."""
    troubles: list[Trouble] = field(default_factory=list)
    """For the first requests, one after the other."""
    asked: list[str] = field(default_factory=list)


@contextmanager
def served() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = unquote(self.path)
            service.asked.append(asked)
            trouble = service.troubles.pop(0) if service.troubles else Trouble()
            time.sleep(trouble.delay_seconds)
            text = service.pages.get(asked, service.pages.get(asked.partition("?")[0]))
            if trouble.status == 200 and text is None:
                trouble = Trouble(404)
            body = trouble.body if trouble.body is not None else (text or "").encode()
            self.send_response(trouble.status)
            for name, value in trouble.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: trouble.given_bytes])

        def log_message(self, *_: Any) -> None:
            """Be quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
