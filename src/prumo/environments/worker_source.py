"""The worker's source for other environments, apart from everything the controller has."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

from prumo.cache import WORKER, cache_error, made_folder
from prumo.errors import SetupError

PACKAGE = "prumo_worker"


def worker_path() -> Path:
    """A folder for PYTHONPATH that holds `prumo_worker` and nothing else.

    The folder that Prumo itself is installed in will not do: the controller's packages lie beside
    the worker there, and a framework would import them.
    """
    files = _source_files()
    folder = made_folder(WORKER) / _content_hash(files)
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


def _content_hash(files: dict[str, Path]) -> str:
    digest = sha256()
    for name, path in files.items():
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


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
