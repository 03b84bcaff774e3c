"""A process that serves under Gunicorn: it listens when its model is warm, and not before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from uvicorn_worker import UvicornWorker

from prumo.errors import InputError
from prumo_serve.server.app import create_app
from prumo_serve.server.log import log_failure, set_up_log
from prumo_serve.server.protocol import bounded_protocol
from prumo_serve.server.service import Service
from prumo_serve.server.settings import Settings
from prumo_serve.server.stacks.nginx import FOLDER_VARIABLE, READY_FILE, SETTINGS_VARIABLE

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest

# By which a worker tells Gunicorn that starting another one would not help.
_BOOT_ERROR = 3
_HEARTBEAT_SECONDS = 1.0


class ServingWorker(UvicornWorker):
    """Waits for its model where Gunicorn loads an application."""

    socket_index = 0
    """Which of Gunicorn's sockets is this worker's."""

    def __init__(self, *arguments: object, **options: object) -> None:
        self.settings = Settings.from_json(os.environ[SETTINGS_VARIABLE])
        protocol = bounded_protocol(self.settings.limits)
        self.CONFIG_KWARGS = {"http": protocol, "loop": "uvloop", "server_header": False}
        super().__init__(*arguments, **options)

    def load_wsgi(self) -> None:
        """Load and warm the model; Gunicorn is told meanwhile that this process lives."""
        set_up_log(self.settings.log_format, self.settings.log_level)
        service = Service(self.settings)
        service.on_failure(_end)
        service.begin_loading()
        while not service.wait_until_loaded(_HEARTBEAT_SECONDS):
            self.notify()
        self.wsgi = create_app(service)
        _tell_ready(Path(os.environ[FOLDER_VARIABLE]) / READY_FILE, service.model.manifest)


def _tell_ready(ready: Path, manifest: Manifest) -> None:
    """Let NGINX ask, unless another worker answers with another model."""
    mine = ready.with_name(f"{READY_FILE}-{os.getpid()}")
    mine.write_text(manifest.model_dump_json(), encoding="utf-8")
    try:
        # Whole at once, and only the first worker's.
        ready.hardlink_to(mine)
    except FileExistsError:
        if ready.read_bytes() != mine.read_bytes():
            _end(InputError("it is not what the other workers serve; start the server again"))
    mine.unlink()


def _end(error: Exception) -> None:
    log_failure(error)
    os._exit(_BOOT_ERROR)
