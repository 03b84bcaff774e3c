"""The environments in the cache, and the copy of the worker's source that runs in them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo import cache as folders
from prumo.cache import (
    ENVIRONMENTS,
    WORKER,
    cache_error,
    cache_folder,
    made_folder,
    reserved,
    was_reserved,
)
from prumo.errors import BusyError, InputError, SetupError, did_you_mean
from prumo.files import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.environments.framework import Installation, Request


PACKAGE = "prumo_worker"


def worker_path() -> Path:
    """A folder for PYTHONPATH that holds `prumo_worker` and nothing else.

    The folder that Prumo itself is installed in will not do: the controller's packages lie beside
    the worker there, and a framework would import them.
    """
    files = _source_files()
    digest = sha256()
    for name, path in files.items():
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    folder = made_folder(WORKER) / digest.hexdigest()[:16]
    if not folder.is_dir():
        try:
            _copy(files, folder)
        except OSError as error:
            raise cache_error(error) from error
    return folder


def _source_files() -> dict[str, Path]:
    """Relative name → file, without what Python compiled."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SetupError(f"Prumo's installation is not whole: {PACKAGE} is missing")
    root = Path(spec.submodule_search_locations[0])
    return {
        str(path.relative_to(root)): path
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def _copy(files: dict[str, Path], folder: Path) -> None:
    """Copy beside, then rename: other processes see the whole folder or none."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as temporary:
        whole = Path(temporary) / folder.name
        for name, path in files.items():
            target = whole / PACKAGE / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        try:
            whole.rename(folder)
        except OSError:
            # Another process may have been faster with the same content.
            if not folder.is_dir():
                raise


MARKER = "environment.json"
OUTCOME = "lock.txt"


@dataclass(frozen=True)
class Environment:
    """An installation that can be used."""

    name: str
    path: Path
    framework: str
    version: str
    variant: str
    build: str
    """The full version that was installed: `2.13.0+cpu`."""
    python_version: str
    lock_hash: str
    created: str
    size_bytes: int
    packages: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The interpreter that has the framework."""
        return python_of(self.path)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return asdict(self) | {"path": str(self.path), "python": str(self.python)}


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in a folder."""
    return folder / "bin" / "python"


def read_environment(folder: Path) -> Environment | None:
    """The environment in a folder; none without a whole marker or without its Python."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        environment = Environment(name=folder.name, path=folder, **marker)
    except (OSError, ValueError, TypeError):
        return None
    # The Python that it was made with may have been removed since.
    return environment if environment.python.exists() else None


def finish_environment(folder: Path, request: Request, installation: Installation) -> Environment:
    """Write down what a folder holds; from the marker on, it can be used."""
    pins = "".join(f"{name}=={version}\n" for name, version in installation.packages.items())
    (folder / OUTCOME).write_text(pins, encoding="utf-8")
    environment = Environment(
        name=folder.name,
        path=folder,
        framework=request.framework.name,
        version=request.version,
        variant=request.variant,
        build=installation.build,
        python_version=installation.python_version,
        lock_hash=request.lock_hash,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        size_bytes=sum(
            (Path(root) / name).lstat().st_size
            for root, _, names in os.walk(folder)
            for name in names
        ),
        packages=installation.packages,
    )
    facts = asdict(environment).items()
    write_json(folder / MARKER, {key: fact for key, fact in facts if key not in {"name", "path"}})
    return environment


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
