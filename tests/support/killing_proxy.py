"""An HTTP proxy before a fake cloud that kills its client after a call that changed something.

When the client's children die with it, as when a machine does, the call's answer never arrives:
what it created is there, unknown. A call can also be held up until the next of its kind comes.
"""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import psutil

_READING = re.compile("Describe|List|Get|BatchGet|BatchCheck|GET|HEAD")
_SETTING = re.compile(
    r"(PUT|DELETE) .*\?|(Put|Delete)(Role|Lifecycle|Retention)Policy|Tag|PutImage\w"
)
_NAME = re.compile(rb'(?:Name|[aA]rn)(?:=|": ?")([^&"]+)')


@dataclass
class KillingProxy:
    """Kills process `victim` after its next change of a kind that killed no other."""

    with_children: bool
    """Whether its children die at once with it, as when the machine does."""
    only: str = ""
    """A pattern of the calls that kill; all that change something where it is empty."""
    held_up: str = ""
    """A call that kills before it arrives: it does with the next one of its name."""
    url: str = ""
    victim: int | None = None
    calls: list[str] = field(default_factory=list)
    """All that changed something, such as `CreateModel mobilenet`."""
    killed_after: list[str] = field(default_factory=list)
    """The kinds of calls after which a victim died."""
    orphans: list[psutil.Process] = field(default_factory=list)
    """Its children that live on."""
    late: Callable[[], object] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def before(self, call: str, arrive: Callable[[], object]) -> bool:
        """Hold a call up and kill its client, or let one that was held up arrive; if to go on."""
        if not self.held_up or _kind(call) != self.held_up:
            return True
        if self.late is None:
            self.late = arrive
            self._kill()
            return False
        self.held_up = ""
        self.late()
        return True

    def after(self, call: str) -> bool:
        """Kill the client if this call changed something; whether somebody waits for the answer."""
        with self.lock:
            if _READING.match(call):
                return True
            self.calls.append(call)
            kind = _kind(call)
            if self.victim is None or kind in self.killed_after or not re.search(self.only, kind):
                return True
            self.killed_after.append(kind)
            self._kill()
            return not self.with_children

    def _kill(self) -> None:
        victim, self.victim = psutil.Process(self.victim), None
        self.orphans = victim.children(recursive=True)
        for process in (victim, *(self.orphans if self.with_children else ())):
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _kind(call: str) -> str:
    """Such as `CreateModel`; settings of a bucket, a role or a repository are of one kind."""
    if _SETTING.match(call):
        return "setting"
    verb, _, rest = call.partition(" ")
    # S3 has no other names for its calls.
    return f"{verb} {rest.strip('/').count('/')}" if verb.isupper() else verb


@contextmanager
def killing_proxy(
    target_url: str, *, with_children: bool = True, only: str = "", held_up: str = ""
) -> Iterator[KillingProxy]:
    """A proxy before a server."""
    proxy = KillingProxy(with_children, only, held_up)
    target = urlsplit(target_url)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def passed() -> tuple[http.client.HTTPResponse, bytes]:
                connection = http.client.HTTPConnection(str(target.hostname), target.port)
                # Keep the Host header: moto tells services apart by it and by the signature.
                connection.request(self.command, self.path, body, dict(self.headers))
                answer = connection.getresponse()
                return answer, answer.read()

            if not proxy.before(_call(self, body), passed):
                self.close_connection = True
                return
            answer, content = passed()
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
