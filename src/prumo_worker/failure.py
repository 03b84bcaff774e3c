"""Why a run can fail, and the kind under which the journal names it."""

from __future__ import annotations

import errno

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
