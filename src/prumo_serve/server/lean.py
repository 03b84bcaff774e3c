"""One process: an event loop for requests, and threads that compute."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo_serve.server.log import set_up_log
from prumo_serve.server.service import Service
from prumo_serve.server.stacks import listening_socket, report_address

if TYPE_CHECKING:
    from prumo_serve.server.http_server import DrainingServer
    from prumo_serve.server.settings import Settings


def run(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code.

    A model that cannot be loaded ends the process with an error: a server that stays up and never
    becomes ready is found out only after minutes, and its reason only in a log.

    Raises:
        PrumoError: The address is taken, or the model cannot be served.
    """
    set_up_log(settings.log_format, settings.log_level)
    with listening_socket(settings) as listening:
        service = Service(settings)
        # The model loads while the server's own modules are imported.
        service.begin_loading()
        server = _server(service)
        service.on_failure(lambda _error: server.end_soon())
        report_address(listening, settings)
        server.run(sockets=[listening])
    if service.failure is not None:
        raise service.failure
    if service.is_busy:
        # A runtime's thread that the interpreter stops at its end would abort the process.
        os._exit(0)
    return 0


def _server(service: Service) -> DrainingServer:
    try:
        from prumo_serve.server.app import create_app  # noqa: PLC0415 (while the model loads)
        from prumo_serve.server.http_server import DrainingServer  # noqa: PLC0415 (the same)
    except ImportError as error:
        raise UnavailableError(
            f"the server needs {error.name}: pip install 'prumo[serve]'"
        ) from error
    return DrainingServer(create_app(service), service)
