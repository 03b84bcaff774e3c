"""The socket that people reach the server by, whatever stands behind it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo_serve.server.log import log_event

if TYPE_CHECKING:
    from prumo_serve.server.settings import Settings

_BACKLOG = 2048


def listening_socket(settings: Settings) -> socket.socket:
    """A socket at the address that was asked for; who connects from now on, waits.

    Raises:
        InputError: It is taken, or is none of this machine's.
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


def tell_address(listening: socket.socket, settings: Settings) -> None:
    """Say where the server is reached and what it takes."""
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    limits = settings.limits
    log_event(
        f"listening at {address} ({settings.stack}), loading {settings.model}; at most "
        f"{limits.body_bytes / 1024**2:g} MB and {limits.pixels / 1e6:g} megapixels an image, "
        f"{limits.queued_images} images in line, {limits.timeout_seconds:g} s for an answer",
        {
            "event": "listening",
            "address": address,
            "stack": settings.stack,
            "model": str(settings.model),
        },
    )
