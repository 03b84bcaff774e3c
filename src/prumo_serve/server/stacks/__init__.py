"""How the server's processes stand together: one file for each way."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from prumo_serve.server.first_sight import require_model_at_first_sight

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_serve.server.settings import Settings

STACKS = {
    "lean": "one process: a thread for each core, batches of what waits",
    "nginx": "NGINX before Gunicorn, with a process for each core",
}


def run_stack(name: str, settings: Settings) -> int:
    """Serve until a signal says to end; the exit code.

    Raises:
        PrumoError: It cannot be started, or the model cannot be served.
    """
    require_model_at_first_sight(settings.model)
    module = import_module(f"prumo_serve.server.stacks.{name}")
    run: Callable[[Settings], int] = module.run
    return run(settings)
