"""The processes of a server: which stacks there are, how one is started, and where it listens."""

from __future__ import annotations

import socket
from importlib import import_module
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo_serve.server.log import log_event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prumo_serve.server.settings import Settings

STACKS = {
    "lean": "one process: a thread for each core, batches of what waits",
    "nginx": "NGINX before Gunicorn, with a process for each core",
}
_BACKLOG = 2048
# Written out here: what knows them imports pydantic, for which the start of a server cannot wait.
_ARCHIVE_ENDINGS = (".tar.gz", ".tgz")
_MANIFEST_FILE = "manifest.json"
_GZIP = b"\x1f\x8b"


def run_stack(name: str, settings: Settings) -> int:
    """Serve until a signal says to end; the exit code.

    Raises:
        PrumoError: It cannot be started, or the model cannot be served.
    """
    require_model(settings.model)
    module = import_module(f"prumo_serve.server.{name}")
    run: Callable[[Settings], int] = module.run
    return run(settings)


def require_model(path: Path) -> None:
    """Refuse what is obviously not a model, before the server listens.

    Whether a package is complete is known only once it has been loaded.

    Raises:
        InputError: There is nothing, or something else, or a model that must be packaged by hand.
    """
    if not path.exists():
        raise InputError(f"there is no model {path}")
    if path.is_file() and path.name.endswith(_ARCHIVE_ENDINGS):
        _require_gzip(path)
    elif not (path / _MANIFEST_FILE).is_file():
        # It is packaged first, so that the start takes its time anyway.
        from prumo_serve.package.making import require_described  # noqa: PLC0415

        require_described(path)


def listening_socket(settings: Settings) -> socket.socket:
    """A socket at the wanted address; clients that connect from now on wait.

    Raises:
        InputError: The address is taken, or does not belong to this machine.
    """
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


def report_address(listening: socket.socket, settings: Settings) -> None:
    """Log where the server is reached and what its limits are."""
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
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


def _require_gzip(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_GZIP))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if start != _GZIP:
        raise InputError(f"{path} is no package: it is not a gzip archive")
