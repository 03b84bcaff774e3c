"""The task file: what the controller asks of one worker process, and how a task can fail."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prumo_worker.networks import NetworkError

_MEMORY_WORDS = (
    "out of memory",
    "not enough memory",
    "cannot allocate memory",
    "can't allocate memory",
    "failed to allocate",
    "failed to map segment",
    "std::bad_alloc",
    "_status_alloc_failed",
)


class Unavailable(Exception):  # noqa: N818 (a state of the machine, not a mistake)
    """The framework, device or number format that was asked for is not here."""


class TaskError(ValueError):
    """The task file or one of its parameters cannot be used."""


class DataError(ValueError):
    """A data set cannot be read or does not fit what was asked."""


def kind_of(error: BaseException) -> str:
    """The failure's kind in the journal: see the `failed` event of the worker protocol."""
    if _is_memory(error) or (error.__cause__ is not None and _is_memory(error.__cause__)):
        return "out_of_memory"
    if isinstance(error, Unavailable):
        return "unavailable"
    if isinstance(error, (TaskError, DataError, NetworkError)):
        return "invalid"
    return "crashed"


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0]


def typed_line(error: BaseException) -> str:
    """The same behind the error's type, for words that were not written for a person."""
    words = first_line(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    # Frameworks report a failed allocation as a RuntimeError, loaders as an ImportError.
    if not isinstance(error, (RuntimeError, ImportError)):
        return False
    message = str(error).lower()
    return any(words in message for words in _MEMORY_WORDS)


PROTOCOL = 1


@dataclass(frozen=True)
class Task:
    """One run: what to do, with which parameters, and where to tell about it."""

    run: str
    journal: Path
    kind: str
    parameters: dict[str, Any]
    data: dict[str, str]
    warmup_steps: int
    threads: int
    layers: list[Any] | None = None
    """The layers of a network that Prumo does not bring itself."""
    sources: dict[str, str] = field(default_factory=dict)
    """Where the files of a prepared data set lie, as the study names them."""
    profile: bool = False
    """Whether to take a few more steps under the framework's profiler after the timed ones."""


def read_task(path: Path) -> Task:
    """Read and check a task file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise TaskError(f"{path}: is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise TaskError(f"{path}: is not a JSON object")
    try:
        return _task(document)
    except TaskError as error:
        raise TaskError(f"{path}: {error}") from None


def _task(document: dict[str, Any]) -> Task:
    if document.get("protocol") != PROTOCOL:
        raise TaskError(
            f"protocol: this worker speaks {PROTOCOL}, not {document.get('protocol')!r}"
        )
    return Task(
        run=_typed(document, "run", str),
        journal=Path(_typed(document, "journal", str)),
        kind=_typed(document, "kind", str),
        parameters=_typed(document, "parameters", dict),
        data=_typed(document, "data", dict, default={}),
        warmup_steps=_whole(document, "warmup_steps", least=0),
        threads=_whole(document, "threads", least=1),
        layers=_typed(document, "layers", list) if "layers" in document else None,
        sources=_typed(document, "sources", dict, default={}),
        profile=_typed(document, "profile", bool, default=False),
    )


def _whole(document: dict[str, Any], key: str, least: int) -> int:
    number: int = _typed(document, key, int)
    if isinstance(number, bool) or number < least:
        raise TaskError(f"{key}: must be a whole number of {least} or more, not {number!r}")
    return number


def _typed(document: dict[str, Any], key: str, kind: type, default: Any = None) -> Any:  # noqa: ANN401 (any JSON value)
    value = document.get(key, default)
    if value is None:
        raise TaskError(f"{key}: is missing")
    if not isinstance(value, kind):
        raise TaskError(f"{key}: must be of type {kind.__name__}, not {value!r}")
    return value
