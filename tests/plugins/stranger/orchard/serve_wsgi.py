"""Serve a WSGI application where SAGEMAKER_BIND_TO_PORT says."""

import os
import pkgutil
import signal
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIEnvironment


class Server(ThreadingMixIn, WSGIServer):
    """Answers requests at the same time."""

    daemon_threads = True


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """A model that says 200 to everything."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ripe"]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    port = int(os.environ.get("SAGEMAKER_BIND_TO_PORT", "8080"))
    make_server("127.0.0.1", port, pkgutil.resolve_name(sys.argv[1]), Server).serve_forever()
