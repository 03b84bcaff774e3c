"""The processes of a server: which stacks there are, how one is started, and where it listens."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError, UnavailableError
from prumo_serve.server.log import log_event, set_up_log
from prumo_serve.server.service import Service

if TYPE_CHECKING:
    from prumo_serve.server.http_server import DrainingServer
    from prumo_serve.server.settings import Settings

_BACKLOG = 2048
# Written out here: what knows them imports pydantic, for which the start of a server cannot wait.
_ARCHIVE_ENDINGS = (".tar.gz", ".tgz")
_MANIFEST_FILE = "manifest.json"
_GZIP = b"\x1f\x8b"


def run_stack(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code."""
    _require_model(settings.model)
    if settings.stack == "lean":
        return _run_lean(settings)
    from prumo_serve.server.nginx import run  # noqa: PLC0415 (few want it)

    return run(settings)


def _require_model(path: Path) -> None:
    """Refuse what is obviously not a model, or must be packaged by hand, before listening.

    Whether a package is complete is known only once it has been loaded.
    """
    if not path.exists():
        raise InputError(f"there is no model {path}")
    if path.is_file() and path.name.endswith(_ARCHIVE_ENDINGS):
        try:
            with path.open("rb") as file:
                start = file.read(len(_GZIP))
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        if start != _GZIP:
            raise InputError(f"{path} is no package: it is not a gzip archive")
    elif not (path / _MANIFEST_FILE).is_file():
        # It is packaged first, so that the start takes its time anyway.
        from prumo_serve.package.making import require_described  # noqa: PLC0415
        from prumo_serve.source import recognized  # noqa: PLC0415

        require_described(recognized(path), path)


def _run_lean(settings: Settings) -> int:
    """One process: an event loop for requests, and threads that compute.

    A model that cannot be loaded ends the process with an error: a server that stays up and never
    becomes ready is found out only after minutes, and its reason only in a log.
    """
    set_up_log(settings.log_format, settings.log_level)
    with listening_socket(settings) as listening:
        service = Service(settings)
        # The model loads while the server's own modules are imported.
        service.begin_loading()
        server = _lean_server(service)
        service.on_failure(lambda _error: server.end_soon())
        report_address(listening, settings)
        server.run(sockets=[listening])
    if service.failure is not None:
        raise service.failure
    if service.is_busy:
        # A runtime's thread that the interpreter stops at its end would abort the process.
        os._exit(0)
    return 0


def _lean_server(service: Service) -> DrainingServer:
    try:
        from prumo_serve.server.app import create_app  # noqa: PLC0415 (while the model loads)
        from prumo_serve.server.http_server import DrainingServer  # noqa: PLC0415 (the same)
    except ImportError as error:
        raise UnavailableError(
            f"the server needs {error.name}: pip install 'prumo[serve]'"
        ) from error
    return DrainingServer(create_app(service), service)


def listening_socket(settings: Settings) -> socket.socket:
    """A socket at the wanted address; clients that connect from now on wait."""
    is_v6 = ":" in settings.host
    listening = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        raise InputError(
            f"cannot listen at {settings.host}, port {settings.port}: {reason}. "
            "Give another --host or --port; --port 0 takes a free one."
        ) from error
    return listening


def address_of(listening: socket.socket) -> str:
    """Host and port as in a URL."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def report_address(listening: socket.socket, settings: Settings) -> None:
    """Log where the server is reached and what its limits are."""
    address = f"http://{address_of(listening)}"
    limits = settings.limits
    log_event(
        f"listening at {address} ({settings.stack}), loading {settings.model}; at most "
        f"{limits.body_bytes / 1024**2:g} MB and {limits.pixels / 1e6:g} megapixels an image, "
        f"{limits.queued_images} images in the queue, {limits.timeout_seconds:g} s for an answer",
        {
            "event": "listening",
            "address": address,
            "stack": settings.stack,
            "model": str(settings.model),
        },
    )
