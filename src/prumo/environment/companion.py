"""What an environment lacks for a job of its own, in a folder beside it.

An environment stays as its lock says, whatever it is used for. A companion holds a few packages
more, each pinned and without what it depends on, because that is in the environment already. A
worker that does the job finds them through its PYTHONPATH.
"""

from __future__ import annotations

import platform
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.cache.folder import COMPANIONS, LOGS, cache_error, made_folder
from prumo.cache.reservation import reserved
from prumo.environment.framework import LOCKS
from prumo.environment.pip import install_beside
from prumo.environment.session import Session

if TYPE_CHECKING:
    from prumo.environment.record import Environment
    from prumo.progress import Progress

_HASH_DIGITS = 10


def ensure_companion(job: str, environment: Environment, progress: Progress) -> Path:
    """The folder with the packages for a job such as `tensorflow-to-onnx`, made if need be."""
    lock = LOCKS / "companions" / f"{job}.txt"
    name = f"{job}-{_lock_hash(lock, environment)}"
    folder = made_folder(COMPANIONS) / name

    def before_waiting() -> None:
        progress.say(f"{name} is being set up by another process; waiting for it")

    if not folder.is_dir():
        with reserved(name, before_waiting=before_waiting) as reservation:
            if not folder.is_dir():
                progress.say(f"setting up {name}")
                _make(folder, lock, environment, reservation, progress)
    return folder


def _lock_hash(lock: Path, environment: Environment) -> str:
    """Compiled packages are for one Python on one kind of processor."""
    python = ".".join(environment.python_version.split(".")[:2])
    ingredients = [lock.read_text(encoding="utf-8"), f"python {python} {platform.machine()}"]
    return sha256("\n".join(ingredients).encode()).hexdigest()[:_HASH_DIGITS]


def _make(
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
