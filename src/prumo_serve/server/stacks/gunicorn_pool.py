"""Gunicorn's configuration: each worker has a socket of its own and ends with its master."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client.multiprocess import mark_process_dead

from prumo_serve.server.stacks.tether import end_with_parent

if TYPE_CHECKING:
    from prumo_serve.server.stacks.gunicorn_worker import ServingWorker

worker_class = "prumo_serve.server.stacks.gunicorn_worker.ServingWorker"
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
    end_with_parent(server.pid)
    worker.sockets = [worker.sockets[worker.socket_index]]


def child_exit(_server: Any, worker: ServingWorker) -> None:  # noqa: ANN401 (the same)
    """Forget what a worker that ended had under way; what it counted stays."""
    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call] # it has no types
