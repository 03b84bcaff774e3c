"""A small server that keeps SageMaker's rules, but for the one that `--fault` names.

Also run as a program of its own, even inside a container, so it needs the standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ECHO = "X-Amzn-SageMaker-Custom-Attributes"
LOADING_SECONDS = 0.2
SLOW_SECONDS = 1.0
WORK_SECONDS = 0.02
BUSY_INVOCATIONS = 3
LARGE_BYTES = 1_000_000
FEW_CONNECTIONS = 16

FAULTS = {
    "crash on start": "ends before it is ready",
    "silent start": "never opens its port",
    "endless start": "never becomes healthy",
    "wrong port": "listens elsewhere",
    "slow ping": "takes long to tell its health",
    "long ping": "tells its health in many words",
    "early ping": "is healthy before it can work",
    "dead model": "is healthy and never works",
    "few connections": "takes few connections at once",
    "busy ping": "takes long to tell its health while it works",
    "no invocations": "has no such path",
    "slow invocations": "works slowly",
    "trickling answer": "begins to answer in time and does not come to an end",
    "no echo": "drops the custom attributes",
    "changed echo": "changes the custom attributes",
    "small bodies": "refuses large bodies",
    "closed large bodies": "closes the connection on large bodies",
    "death by large body": "ends on large bodies",
    "error on bad body": "answers bad input with 500",
    "closed bad body": "closes the connection on bad input",
    "death by bad body": "ends on bad input",
    "ignored SIGTERM": "goes on after SIGTERM",
    "lost requests": "ends at once on SIGTERM",
}
NO_FAULT = "none"
# Peculiarities that break no rule.
OTHER_TYPES = "other types"
"""Takes no images."""
EMPTY_BODIES = "empty bodies"
"""Takes a body without a byte."""
ONE_AT_A_TIME = "one at a time"
"""Refuses to work while it works."""


class Handler(BaseHTTPRequestHandler):
    """Answers /ping and /invocations."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        fault = self.server.fault
        is_busy = self.server.at_work >= BUSY_INVOCATIONS
        if fault == "slow ping" or (fault == "busy ping" and is_busy):
            time.sleep(SLOW_SECONDS)
        is_healthy = self.server.is_ready() or fault in {"early ping", "dead model"}
        body = b" " * LARGE_BYTES if fault == "long ping" else b""
        self._answer(200 if is_healthy else 503, body)

    def do_POST(self) -> None:
        fault, length = self.server.fault, int(self.headers["Content-Length"])
        if length > LARGE_BYTES and fault == "death by large body":
            os._exit(1)
        if length > LARGE_BYTES and fault in {"small bodies", "closed large bodies"}:
            self.close_connection = True
            if fault == "small bodies":
                self.rfile.read(length)
                self._answer(413)
            return
        body = self.rfile.read(length)
        if fault == "no invocations":
            self._answer(404)
            return
        is_ready = self.server.is_ready()
        if fault == "early ping":
            self.server.load()
        if not is_ready or fault == "dead model":
            self._answer(500)
        elif fault == ONE_AT_A_TIME and self.server.at_work:
            self._answer(503)
        elif not self._is_readable(body):
            self._refuse()
        else:
            self._work()

    def _is_readable(self, body: bytes) -> bool:
        if not body:
            return self.server.fault == EMPTY_BODIES
        if self.headers["Content-Type"] == "image/jpeg":
            return body.startswith(b"\xff\xd8\xff") and self.server.fault != OTHER_TYPES
        try:
            json.loads(body)
        except ValueError:
            return False
        return True

    def _refuse(self) -> None:
        fault = self.server.fault
        if fault == "death by bad body":
            os._exit(1)
        if fault == "closed bad body":
            self.close_connection = True
        else:
            self._answer(500 if fault == "error on bad body" else 400)

    def _work(self) -> None:
        fault = self.server.fault
        with self.server.working():
            time.sleep(SLOW_SECONDS if fault == "slow invocations" else WORK_SECONDS)
        attributes = self.headers.get(ECHO)
        if attributes is None or fault == "no echo":
            self._answer(200, b"{}")
        else:
            self._answer(200, b"{}", attributes[: 500 if fault == "changed echo" else None])

    def _answer(self, status: int, body: bytes = b"", attributes: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if attributes is not None:
            self.send_header(ECHO, attributes)
        self.end_headers()
        is_trickling = self.server.fault == "trickling answer" and body
        for part in (body[:1], body[1:]) if is_trickling else (body,):
            time.sleep(SLOW_SECONDS / 2 if is_trickling else 0)
            self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as the library's)
        del format, args


class Server(ThreadingHTTPServer):
    """Waits for its requests when it is closed."""

    daemon_threads = False
    request_queue_size = 256

    def __init__(self, port: int, fault: str) -> None:
        self.fault = fault
        self.at_work = 0
        self._counting = threading.Lock()
        self._ready_at = float("inf")
        self._places = threading.Semaphore(FEW_CONNECTIONS)
        if fault == "few connections":
            self.request_queue_size = 1
        super().__init__(("", port), Handler)
        if fault not in {"early ping", "endless start"}:
            self.load()

    def load(self) -> None:
        self._ready_at = time.monotonic() + LOADING_SECONDS

    def is_ready(self) -> bool:
        return time.monotonic() > self._ready_at

    @contextmanager
    def working(self) -> Iterator[None]:
        with self._counting:
            self.at_work += 1
        yield
        with self._counting:
            self.at_work -= 1

    def process_request(self, request: object, client_address: object) -> None:
        if self.fault == "few connections":
            self._places.acquire()
        super().process_request(request, client_address)  # type: ignore[arg-type]  # as it came

    def shutdown_request(self, request: object) -> None:
        super().shutdown_request(request)  # type: ignore[arg-type]  # as it came
        self._places.release()


@contextmanager
def served(fault: str = NO_FAULT) -> Iterator[str]:
    """The URL of a server within this process that has been loaded."""
    server = Server(0, fault)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        while not server.is_ready():
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=[NO_FAULT, OTHER_TYPES, *FAULTS], default=NO_FAULT)
    parser.add_argument("--model", type=Path, help="a file that names the fault")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    fault = _model_fault(arguments.model) if arguments.model else arguments.fault
    if fault == "crash on start":
        raise SystemExit("there is no model")
    while fault == "silent start":
        time.sleep(1)
    port = int(os.environ.get("SAGEMAKER_BIND_TO_PORT", "8080"))
    server = Server(0 if fault == "wrong port" else port, fault)

    def stop(*_: object) -> None:
        if fault == "lost requests":
            os._exit(0)
        if fault != "ignored SIGTERM":
            threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    server.serve_forever(poll_interval=0.05)
    server.server_close()


def _model_fault(model: Path) -> str:
    if os.access(model.parent, os.W_OK):
        raise SystemExit("the model's folder can be written")
    return model.read_text() if model.is_file() else "crash on start"


if __name__ == "__main__":
    main()
