"""Making an environment: whole and marked, or not there."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from prumo.environment.build import advice_on, choose_build
from prumo.environment.cache import ENVIRONMENTS, LOGS, cache_error, made_folder
from prumo.environment.pip import install, offered_versions, pip_environment
from prumo.environment.progress import Silent
from prumo.environment.record import finish_environment, python_of
from prumo.environment.reservation import reserved
from prumo.environment.session import Session
from prumo.environment.store import discard, existing, sweep
from prumo.errors import SetupError

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.environment.framework import Request
    from prumo.environment.progress import Progress
    from prumo.environment.record import Environment

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
    progress.show("making a virtual environment")
    _make_venv(folder, session)
    python = python_of(folder)
    progress.show(f"asking pip for the builds of {framework.package} {request.version}")
    build = choose_build(request, offered_versions(session, python, framework.package))
    if advice := advice_on(request, build):
        progress.say(advice)
    # `===` is the one operator of pip's that does not take 2.13.0+cpu for 2.13.0.
    requirements = [f"{framework.package}==={build}", *framework.requirements]
    install(session, python, requirements, constraints=request.lock, progress=progress)
    progress.show(f"importing {framework.module} for the first time")
    session.run(
        [str(python), "-I", "-c", f"import {framework.module}"],
        environment=pip_environment(),
        failure=f"{framework.package} {build} was installed and cannot be imported",
    )
    return finish_environment(folder, request, build)


def _make_venv(folder: Path, session: Session) -> None:
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        raise SetupError(
            f"this Python ({sys.executable}) lacks its module {missing[0]}, which makes virtual "
            "environments; on Debian and Ubuntu: apt install python3-venv"
        )
    # pip in a step of its own: venv would swallow what it says when a disk is full.
    for command in (
        [sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)],
        [str(python_of(folder)), "-I", "-m", "ensurepip", "--default-pip"],
    ):
        session.run(
            command,
            environment=pip_environment(),
            failure=f"no virtual environment could be made in {folder}",
        )
