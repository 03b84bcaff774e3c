"""The packages of other people's servers, each in a folder of its own in the cache."""

from __future__ import annotations

import shutil
import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

from prumo.cache import made_folder
from prumo.environments.pip import pip_environment
from prumo.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FOLDER = "benchmarks"
_MARKER = "whole"
_SHOWN_CHARACTERS = 600


def virtual_environment(name: str, requirements: Sequence[str]) -> Path:
    """The Python of a virtual environment that holds the requirements.

    Raises:
        UnavailableError: pip cannot install them here, with what it says.
    """
    folder = _folder(name, requirements)
    python = folder / "bin" / "python"
    if not (folder / _MARKER).exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(name, [sys.executable, "-m", "venv", str(folder)])
        _run(name, [str(python), "-m", "pip", "install", *requirements])
        (folder / _MARKER).touch()
    return python


def companion(name: str, requirements: Sequence[str], python: Path) -> Path:
    """A folder for PYTHONPATH with the requirements, beside an environment that stays as it is.

    Raises:
        UnavailableError: pip cannot install them here, with what it says.
    """
    folder = _folder(name, [*requirements, str(python)])
    if not (folder / _MARKER).exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(name, [str(python), "-m", "pip", "install", "--target", str(folder), *requirements])
        (folder / _MARKER).touch()
    return folder


def _folder(name: str, ingredients: Sequence[str]) -> Path:
    digest = sha256("\0".join(ingredients).encode()).hexdigest()[:10]
    return made_folder(FOLDER) / f"{name}-{digest}"


def _run(name: str, command: list[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=pip_environment()
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-_SHOWN_CHARACTERS:]
        raise UnavailableError(f"{name} cannot be installed here: {said}")
