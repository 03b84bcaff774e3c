"""NGINX's configuration file, from the server's own settings."""

from __future__ import annotations

import json
from http import HTTPStatus
from math import ceil
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from prumo.serve.http.refusal import Refusal, malformed, not_ready, too_large, took_too_long

if TYPE_CHECKING:
    from prumo.serve.settings import Limits, Settings

DRAIN_SECONDS = 20
"""For the requests under way, of the 30 s that platforms leave to a server that is to end."""
READY_FILE = "ready"
"""There from the first worker on that has loaded its model, which it describes."""
DRAINING_FILE = "draining"
"""There while the server ends, and says that it is not ready."""
# So much more than the workers have themselves, so that theirs is the error that is told.
_ANSWER_MARGIN_SECONDS = 5

# SageMaker wants it back with every answer.
_ECHO = "X-Amzn-SageMaker-Custom-Attributes"


class _Template(Template):
    # NGINX itself has the dollar.
    delimiter = "%"


def nginx_configuration(settings: Settings, folder: Path, address: str) -> str:
    """The content of `nginx.conf`, with all that NGINX writes in the folder.

    Args:
        settings: Of the whole server.
        folder: For sockets and temporary files.
        address: Where NGINX listens, as its directive `listen` wants it.
    """
    limits = settings.limits
    template = _Template(Path(__file__).with_name("nginx.conf.template").read_text("utf-8"))
    return template.substitute(
        folder=folder,
        address=address,
        ready=folder / READY_FILE,
        draining=folder / DRAINING_FILE,
        workers=_lines(
            8,
            *(
                # Never given up: what waits at its socket, the successor of a dead worker answers.
                f"server unix:{worker_socket(folder, index)} max_fails=0;"
                for index in range(settings.workers)
            ),
        ),
        refusals=_refusals(limits),
        body_bytes=limits.body_bytes,
        body_seconds=ceil(limits.body_seconds),
        header_seconds=ceil(limits.header_seconds),
        header_bytes=limits.header_bytes,
        answer_seconds=ceil(limits.timeout_seconds) + _ANSWER_MARGIN_SECONDS,
        drain_seconds=DRAIN_SECONDS,
    )


def worker_socket(folder: Path, index: int) -> Path:
    """Where a worker listens. Each has its own, so that NGINX can spread requests evenly."""
    return folder / f"worker-{index}.sock"


def _refusals(limits: Limits) -> str:
    """What NGINX refuses by itself, in the form of all other errors."""
    by_code = {
        "400 405 414 501": malformed("the request is not HTTP as this server speaks it"),
        "413": too_large(f"the body is larger than {limits.body_bytes} bytes"),
        "494": Refusal(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "headers_too_large",
            f"the headers are larger than {limits.header_bytes} bytes",
        ),
        "502 503": not_ready("no worker is ready to answer"),
        "504": took_too_long("the time limit came before the answer"),
    }
    lines = []
    for codes, refusal in by_code.items():
        path = f"/refusals/{refusal.kind}"
        lines += [
            f"error_page {codes} ={refusal.status.value} {path};",
            f"location = {path} {{",
            "    internal;",
            "    access_log /dev/stderr refusal;",
            *(f"    add_header {name} {value} always;" for name, value in refusal.headers.items()),
            f"    add_header {_ECHO} $http_{_ECHO.lower().replace('-', '_')} always;",
            f"    return {refusal.status.value} '{json.dumps(refusal.document)}';",
            "}",
        ]
    return _lines(8, *lines)


def _lines(indent: int, *lines: str) -> str:
    return "\n".join(f"{' ' * indent}{line}" for line in lines)
