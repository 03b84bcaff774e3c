"""The folder of a model while it is trained: what was asked for, and whether it may go on."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StorageError
from prumo.files import write_whole
from prumo.retina.dataset.data_folder import DataFolder
from prumo.retina.model.description import MODEL_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CHECKPOINTS = "checkpoints"
FACTS_FILE = "training.json"
_SETTINGS_FILE = "settings.json"


class TrainingFolder:
    """Until the model is whole, its folder keeps what the next call needs to go on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checkpoints = path / CHECKPOINTS

    @property
    def is_trained(self) -> bool:
        """Whether the network is there and only its description is missing."""
        return (self.path / FACTS_FILE).is_file()

    @property
    def is_begun(self) -> bool:
        """Whether an earlier call was stopped here."""
        return (self._checkpoints / _SETTINGS_FILE).is_file()

    @property
    def has_progress(self) -> bool:
        """Whether an earlier call left something to go on from."""
        return self.is_trained or any(self._checkpoints.glob("*.npz"))

    @property
    def earlier_call(self) -> str:
        """In words what it left; empty without one, and where the worker tells its last epoch."""
        if self.is_trained:
            return "the network is trained already: only its thresholds are missing"
        if self.is_begun and not self.has_progress:
            return "an earlier call was stopped before its first checkpoint: beginning anew"
        return ""

    def require_ours(self, *, restart: bool) -> None:
        """Refuse a path where a model cannot go, or that holds something else."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file: give a folder for the model")
        if (self.path / MODEL_FILE).is_file():
            if not restart:
                raise InputError(
                    f"{self.path} holds a finished model: give another folder, or --restart to "
                    "train it anew"
                )
        elif not self.is_begun and self.path.is_dir() and any(self.path.iterdir()):
            raise InputError(
                f"{self.path} holds other files: give a new or empty folder for the model"
            )

    @contextmanager
    def held(self, settings: Mapping[str, Any], *, restart: bool) -> Iterator[None]:
        """Keep others out, and refuse what would overwrite another model or mix two trainings."""
        self.require_ours(restart=restart)
        try:
            self._checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError.on_writing(self._checkpoints, error) from error
        with DataFolder(self._checkpoints).locked():
            if restart:
                self._empty()
            self._agree_on(settings)
            yield

    def finish(self) -> None:
        """Remove what only an unfinished training needs."""
        shutil.rmtree(self._checkpoints, ignore_errors=True)

    def _empty(self) -> None:
        for name in (MODEL_FILE, FACTS_FILE):
            (self.path / name).unlink(missing_ok=True)
        for path in self._checkpoints.glob("*.*"):
            if path.name[0] != ".":
                path.unlink()

    def _agree_on(self, settings: Mapping[str, Any]) -> None:
        path = self._checkpoints / _SETTINGS_FILE
        if not path.exists() or not self.has_progress:
            try:
                write_whole(path, json.dumps(settings, indent=1) + "\n")
            except OSError as error:
                raise StorageError.on_writing(path, error) from error
            return
        begun = json.loads(path.read_bytes())
        if begun != settings:
            raise InputError(
                f"{self.path} holds a training that began with {_difference(begun, settings)}: "
                "give the same settings to go on with it, --restart, or another folder"
            )


def _difference(begun: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {begun.get(name)} and not {asked.get(name)}"
        for name in dict.fromkeys([*begun, *asked])
        if begun.get(name) != asked.get(name)
    )
