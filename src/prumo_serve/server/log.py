"""The log of the server: one line for each event, plain or JSON.

Never bodies, names of files or values of headers: they may be of a patient.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prumo.errors import PrumoError
from prumo.progress import LineProgress

if TYPE_CHECKING:
    from prumo_serve.server.settings import LogFormat, LogLevel

_LOG = logging.getLogger("prumo_serve.server")


def set_up_log(log_format: LogFormat, level: LogLevel) -> None:
    """Write events to the standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLine() if log_format == "json" else PlainLine())
    # Uvicorn's own lines would say the same again; what it calls an error is a defect.
    levels: dict[logging.Logger, int | str] = {
        _LOG: level.upper(),
        logging.getLogger("uvicorn"): logging.ERROR,
    }
    for logger, least in levels.items():
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(least)


def log_event(text: str, fields: Mapping[str, object], level: int = logging.INFO) -> None:
    """Log something that happened, with figures for programs."""
    _LOG.log(level, text, extra={"fields": fields})


@dataclass(frozen=True)
class RequestRecord:
    """What is kept of a request."""

    method: str
    route: str
    """As the server knows it, never as it was asked for."""
    status: int
    seconds: float
    received_bytes: int
    sent_bytes: int


def log_request(record: RequestRecord) -> None:
    """Log a request that has been answered."""
    if _LOG.isEnabledFor(logging.INFO):
        milliseconds = f"{record.seconds * 1000:.1f} ms"
        log_event(f"{record.method} {record.route} {record.status} {milliseconds}", vars(record))


def log_failure(error: Exception) -> None:
    """Log why the server ends; the traceback only of what is no error of a user's."""
    unexpected = None if isinstance(error, PrumoError) else error
    _LOG.error("the model cannot be served: %s", error, exc_info=unexpected)


def log_progress() -> LineProgress:
    """Reports a long job in the log, such as packaging a model that is none yet."""
    return LineProgress(lambda text: log_event(text, {"event": "progress"}))


class PlainLine(logging.Formatter):
    """Time, level where it matters, text."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as a line, and the traceback of a defect below it."""
        mark = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        line = f"{_time(record):%H:%M:%S} {mark}{record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLine(logging.Formatter):
    """An object with the event's figures as keys."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as a line, whatever is in it."""
        document = {
            "time": _time(record).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str)


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)
