"""An HTTP proxy before a fake cloud that kills its client after a call that changed something.

When the client's children die with it, as when a machine does, the call's answer never arrives:
what it created is there, unknown.
"""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import psutil

_READING = re.compile("Describe|List|Get|BatchGet|BatchCheck|GET|HEAD")
_NAME = re.compile(rb'(?:Name|[aA]rn)(?:=|": ?")([^&"]+)')


@dataclass
class KillingProxy:
    """Kills process `victim` after its next change that killed no other, unless it is None."""

    with_children: bool
    """Whether its children die at once with it, as when the machine does."""
    url: str = ""
    victim: int | None = None
    killed_after: list[str] = field(default_factory=list)
    """The calls after which a victim died."""
    orphans: list[psutil.Process] = field(default_factory=list)
    """Its children that live on."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def after(self, call: str) -> bool:
        """Kill the client if this call changed something; whether somebody waits for the answer."""
        with self.lock:
            if self.victim is None or call in self.killed_after or _READING.match(call):
                return True
            victim, self.victim = psutil.Process(self.victim), None
            self.killed_after.append(call)
            self.orphans = victim.children(recursive=True)
            for process in (victim, *(self.orphans if self.with_children else ())):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            return not self.with_children


@contextmanager
def killing_proxy(target_url: str, *, with_children: bool) -> Iterator[KillingProxy]:
    """A proxy before a server."""
    proxy = KillingProxy(with_children)
    target = urlsplit(target_url)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            connection = http.client.HTTPConnection(str(target.hostname), target.port)
            # Keep the Host header: moto tells services apart by it and by the signature.
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
            if not proxy.after(_call(self, body)):
                self.close_connection = True
                return
            self.send_response(answer.status)
            skipped = {"transfer-encoding", "connection", "content-length", "server", "date"}
            for name, value in answer.getheaders():
                if name.lower() not in skipped:
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", length or str(len(content)))
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = pass_on  # noqa: N815 (http.server's)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """The dead hang up."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()


def _call(request: BaseHTTPRequestHandler, body: bytes) -> str:
    """Such as `CreateModel mobilenet` or `PUT /bucket`."""
    named = _NAME.search(body)
    name = f" {named[1].decode()}" if named else ""
    if target := request.headers.get("X-Amz-Target"):
        return target.rpartition(".")[2] + name
    if action := re.search(rb"(?:^|&)Action=(\w+)", body):
        return action[1].decode() + name
    return f"{request.command} {request.path}"
