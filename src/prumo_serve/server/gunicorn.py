"""Gunicorn's configuration, which it reads from this module, and the class of its workers.

Each worker has a socket of its own, on which it listens once its model is warm, and ends with its
master.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client.multiprocess import mark_process_dead
from uvicorn_worker import UvicornWorker

from prumo.errors import InputError
from prumo.supervise.parent_death import die_with_parent
from prumo_serve.server.app import create_app
from prumo_serve.server.http_server import bounded_protocol
from prumo_serve.server.log import log_failure, set_up_log
from prumo_serve.server.nginx import FOLDER_VARIABLE, READY_FILE, SETTINGS_VARIABLE
from prumo_serve.server.service import Service
from prumo_serve.server.settings import Settings

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest

worker_class = "prumo_serve.server.gunicorn.ServingWorker"
# Asked for by Gunicorn, but the worker makes the application by itself.
wsgi_app = "prumo_serve.server.app:create_app"
control_socket_disable = True
loglevel = "warning"
# Longer than NGINX keeps an idle connection, so that no worker closes one that is being used.
keepalive = 90
# NGINX has ended before, so that nothing is under way any more.
graceful_timeout = 5


def pre_fork(server: Any, worker: ServingWorker) -> None:  # noqa: ANN401 (Gunicorn has no types)
    """Give a new worker the socket that no living one has."""
    taken = {other.socket_index for other in server.WORKERS.values()}
    worker.socket_index = min(set(range(len(worker.sockets))) - taken)


def post_fork(server: Any, worker: ServingWorker) -> None:  # noqa: ANN401 (the same)
    """Let the new process listen on that socket only."""
    die_with_parent(server.pid)
    worker.sockets = [worker.sockets[worker.socket_index]]


def child_exit(_server: Any, worker: ServingWorker) -> None:  # noqa: ANN401 (the same)
    """Forget what a worker that ended had under way; what it counted stays."""
    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call] # it has no types


# By which a worker says to Gunicorn that starting another one would not help.
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
        """Load and warm the model; meanwhile Gunicorn hears that this process lives."""
        set_up_log(self.settings.log_format, self.settings.log_level)
        service = Service(self.settings)
        service.on_failure(_end)
        service.begin_loading()
        while not service.wait_until_loaded(_HEARTBEAT_SECONDS):
            self.notify()
        self.wsgi = create_app(service)
        _report_ready(Path(os.environ[FOLDER_VARIABLE]) / READY_FILE, service.model.manifest)


def _report_ready(ready: Path, manifest: Manifest) -> None:
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
