"""Starter studies: commented files that plan and run as they are."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from prumo.errors import InputError, StorageError
from prumo.plugins import WORKLOADS
from prumo.study.workload import Workload, installed_workloads


def write_starter(path: Path, kind: str, *, replace: bool = False) -> None:
    """Write a starter study of this kind of workload, named after its file.

    Raises:
        InputError: There is no such workload, or it has no starter; or the file is there.
    """
    template = _template(kind)
    name = re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")[:100] or "study"
    try:
        with path.open("w" if replace else "x", encoding="utf-8") as stream:
            stream.write(template.replace("name: starter\n", f'name: "{name}"\n', 1))
    except FileExistsError:
        raise InputError(f"{path} is already there; --force replaces it") from None
    except FileNotFoundError:
        raise InputError(f"there is no folder {path.parent}") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from None


def _template(kind: str) -> str:
    starter = WORKLOADS.load_class(kind, Workload).starter
    if not starter:
        others = [name for name, other in installed_workloads().items() if other.starter]
        raise InputError(f"the workload '{kind}' has no starter; {', '.join(others)} have one")
    package, _, file = starter.partition(":")
    return files(package).joinpath(file).read_text("utf-8")
