"""Environments made where they are missing: by name, or all that a study needs."""

from __future__ import annotations

import platform
import tempfile
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.cache import COMPANIONS, ENVIRONMENTS, LOGS, cache_error, made_folder, reserved
from prumo.environments.framework import CUDA, LOCKS
from prumo.environments.frameworks import find_framework
from prumo.environments.pip import install_beside, pip_environment
from prumo.environments.session import Session
from prumo.environments.store import discard, existing, finish_environment, python_of, sweep
from prumo.errors import UnavailableError
from prumo.progress import SILENT

if TYPE_CHECKING:
    from prumo.environments.framework import Request
    from prumo.environments.store import Environment
    from prumo.progress import Progress
    from prumo.study import Study


def study_requests(study: Study) -> tuple[list[Request], list[str]]:
    """What to set up for a study, and why its other frameworks cannot be."""
    requests: list[Request] = []
    unavailable: list[str] = []
    for framework in study.workload.frameworks(study):
        try:
            request = find_framework(framework, versions=study.versions)
            if not existing(request):
                request.framework.installer.require(request)
            requests.append(request)
        except UnavailableError as error:
            unavailable.append(str(error))
    return requests, unavailable


def ensure(request: Request, progress: Progress = SILENT) -> Environment:
    """The environment that answers a request, made now if it is not there yet."""
    if found := existing(request):
        return found
    sweep()
    with _reserved(request.name, progress) as reservation:
        if found := existing(request):
            return found
        request.framework.installer.require(request)
        return _make(request, reservation, progress)


def _reserved(name: str, progress: Progress) -> AbstractContextManager[int]:
    waiting = f"{name} is being set up by another process; waiting for it"
    return reserved(name, before_waiting=lambda: progress.say(waiting))


def _make(request: Request, reservation: int, progress: Progress) -> Environment:
    folder = made_folder(ENVIRONMENTS) / request.name
    log_path = made_folder(LOGS) / f"{request.name}.log"
    discard(folder)
    try:
        with log_path.open("w", encoding="utf-8") as log:
            session = Session(log, log_path, reservation)
            return _install(request, folder, session, progress)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            progress.say(f"stopping the set-up of {request.name} and removing what it made")
        discard(folder)
        if isinstance(error, OSError):
            raise cache_error(error) from error
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


def ensure_companion(job: str, environment: Environment, progress: Progress) -> Path:
    """The folder with the packages for a job such as `tensorflow-to-onnx`, made if need be."""
    lock = LOCKS / "companions" / f"{job}.txt"
    # Compiled packages are for one Python on one kind of processor.
    python = ".".join(environment.python_version.split(".")[:2])
    ingredients = [lock.read_text(encoding="utf-8"), f"python {python} {platform.machine()}"]
    digest = sha256("\n".join(ingredients).encode()).hexdigest()[:10]
    name = f"{job}-{digest}"
    folder = made_folder(COMPANIONS) / name
    if not folder.is_dir():
        with _reserved(name, progress) as reservation:
            if not folder.is_dir():
                progress.say(f"setting up {name}")
                _make_companion(folder, lock, environment, reservation, progress)
    return folder


def _make_companion(
    folder: Path, lock: Path, environment: Environment, reservation: int, progress: Progress
) -> None:
    """Fill a folder beside, then rename it: it is whole or not there."""
    log_path = made_folder(LOGS) / f"{folder.name}.log"
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as temporary,
            log_path.open("w", encoding="utf-8") as log,
        ):
            session = Session(log, log_path, reservation)
            whole = Path(temporary) / folder.name
            install_beside(session, environment.python, lock, whole, progress)
            whole.rename(folder)
    except OSError as error:
        raise cache_error(error) from error
