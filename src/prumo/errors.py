"""The exception tree: every error that a user can meet, in words for a user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Self

from prumo.exit_codes import ExitCode


class PrumoError(Exception):
    """What went wrong, where, and what would be right. Printed without a traceback."""

    exit_code = ExitCode.BAD_INPUT


class InputError(PrumoError):
    """Something the user gave cannot be used."""


class StudyError(InputError):
    """A study file is wrong at a known place, and perhaps at others too."""

    def __init__(
        self,
        message: str,
        *,
        file: Path | None = None,
        line: int | None = None,
        key: str = "",
        others: Sequence[StudyError] = (),
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.key = key
        self.others = tuple(others)
        super().__init__(str(self))

    def __str__(self) -> str:
        place = str(self.file) if self.file else "study"
        if self.line is not None:
            place += f":{self.line}"
        first = f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"
        return "\n".join([first, *map(str, self.others)])


class DataError(InputError):
    """A data set cannot be read, or does not have what was asked of it."""


class BusyError(PrumoError):
    """Another process holds what this one needs."""


class StorageError(PrumoError):
    """A file or folder cannot be read or written."""

    @classmethod
    def on_writing(cls, path: Path, error: OSError) -> Self:
        """Say what a user can do about a file that cannot be written."""
        return cls(
            f"cannot write {path}: {error.strerror or error}. Finished runs are kept; "
            "make room or give another folder, then run the same command again."
        )

    @classmethod
    @contextmanager
    def writing(cls, path: Path) -> Iterator[None]:
        """Report whatever keeps a file or folder from being written inside of this block."""
        try:
            yield
        except OSError as error:
            raise cls.on_writing(path, error) from error


class SetupError(PrumoError):
    """An environment could not be made."""


class DownloadError(PrumoError):
    """A file could not be fetched from anywhere."""


class UnavailableError(PrumoError):
    """What was asked for does not exist here, with the reason."""


class PluginError(PrumoError):
    """An installed package does not keep its promise to a plug-in point."""


class UnequalError(PrumoError):
    """Frameworks that are to be compared do not train the same network."""

    exit_code = ExitCode.FINDINGS


def did_you_mean(word: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """A hint naming the nearest right spelling, or the choices when nothing is near.

    >>> did_you_mean("replicatons", ["name", "replications"])
    "did you mean 'replications'?"
    """
    choices = sorted(set(known))
    near = get_close_matches(word, choices, n=1, cutoff=similarity)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known: {', '.join(choices)}" if choices else ""
