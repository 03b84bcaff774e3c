"""Making an environment: whole and marked, or not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.cache.folder import ENVIRONMENTS, LOGS, cache_error, made_folder
from prumo.cache.reservation import reserved
from prumo.environment.framework import CUDA
from prumo.environment.pip import pip_environment
from prumo.environment.record import finish_environment, python_of
from prumo.environment.session import Session
from prumo.environment.store import discard, existing, sweep
from prumo.progress import Silent

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.environment.framework import Request
    from prumo.environment.record import Environment
    from prumo.progress import Progress

_SILENT = Silent()


def ensure(request: Request, progress: Progress = _SILENT) -> Environment:
    """The environment that answers a request, made now if it is not there yet."""
    if found := existing(request):
        return found
    sweep()

    def before_waiting() -> None:
        progress.say(f"{request.name} is being set up by another process; waiting for it")

    with reserved(request.name, before_waiting=before_waiting) as reservation:
        if found := existing(request):
            return found
        request.framework.installer.require(request)
        return _make(request, reservation, progress)


def _make(request: Request, reservation: int, progress: Progress) -> Environment:
    folder = made_folder(ENVIRONMENTS) / request.name
    log_path = made_folder(LOGS) / f"{request.name}.log"
    discard(folder)
    try:
        with log_path.open("w", encoding="utf-8") as log:
            session = Session(log, log_path, reservation)
            return _install(request, folder, session, progress)
    except KeyboardInterrupt:
        progress.say(f"stopping the set-up of {request.name} and removing what it made")
        discard(folder)
        raise
    except OSError as error:
        discard(folder)
        raise cache_error(error) from error
    except BaseException:
        discard(folder)
        raise


def _install(request: Request, folder: Path, session: Session, progress: Progress) -> Environment:
    framework = request.framework
    progress.say(f"setting up {request.name}")
    installation = framework.installer.install(request, folder, session, progress)
    progress.show(f"importing {framework.module} for the first time")
    session.run(
        [str(python_of(folder)), "-I", "-c", f"import {framework.module}; {framework.trial}"],
        environment=pip_environment(),
        failure=f"{framework.module} {installation.build} was installed and does not work",
    )
    if request.variant == CUDA and framework.cuda_plugin:
        session.run(
            [str(python_of(folder)), "-I", "-c", f"import {framework.cuda_plugin}"],
            environment=pip_environment(),
            failure=(
                f"{framework.name} {request.version} comes without {framework.cuda_plugin}, which "
                "it needs to use an NVIDIA GPU; take a newer version, or without the GPU: "
                f"{framework.name}@{request.version}+cpu"
            ),
        )
    return finish_environment(folder, request, installation)
