"""The environments in the cache: which there are, and their removal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from prumo.cache import folder as folders
from prumo.cache.folder import ENVIRONMENTS, cache_folder
from prumo.cache.reservation import reserved, was_reserved
from prumo.environment.record import MARKER, read_environment
from prumo.errors import BusyError, InputError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.environment.framework import Request
    from prumo.environment.record import Environment


def existing(request: Request) -> Environment | None:
    """The environment that answers a request, if it is there and whole."""
    return read_environment(cache_folder() / ENVIRONMENTS / request.name)


def environments() -> list[Environment]:
    """Every usable environment in the cache, by name."""
    found = (read_environment(folder) for folder in folders.subfolders(ENVIRONMENTS))
    return [environment for environment in found if environment]


def remove(name: str) -> Environment:
    """Remove an environment; what it was."""
    known = {environment.name: environment for environment in environments()}
    if name not in known:
        hint = did_you_mean(name, known) or "there are no environments"
        raise InputError(f"no environment is called '{name}': {hint}")
    with reserved(name):
        discard(known[name].path)
    return known[name]


def discard(folder: Path) -> None:
    """Delete a folder, its marker first: it is never half there and usable."""
    folders.discard(folder, MARKER)


def sweep() -> None:
    """Delete what set-ups and removals left behind that were killed half-way."""
    for folder in folders.subfolders(ENVIRONMENTS):
        if was_reserved(folder.name) and not (folder / MARKER).exists():
            with contextlib.suppress(BusyError), reserved(folder.name):
                discard(folder)
