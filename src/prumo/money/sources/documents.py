"""What every price source works with: price lists as text, and requests to public services."""

from __future__ import annotations

import csv
import email.utils
import http.client
import io
import json
import re
import tempfile
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeVar

from prumo.errors import DownloadError, InputError
from prumo.http import RetryPolicy, TransientError, chunks, opened, retry
from prumo.version import __version__

if TYPE_CHECKING:
    from prumo.progress import Progress

RETRIES = RetryPolicy()
_PASSING_FAULTS = {408, 429, 500, 502, 503, 504}
_MEGABYTE = 1_000_000
_JSON_CHARACTERS = 256 * 2**20

T = TypeVar("T")


@dataclass(frozen=True)
class Document:
    """A text and the name to call it by in errors."""

    name: str
    text: TextIO


@dataclass(frozen=True)
class Origin:
    """What a price list does not say itself, and the user did."""

    provider: str = ""
    as_of: date | None = None


@dataclass(frozen=True)
class Request:
    """Whose prices are wanted: where and, unless all are, which."""

    provider: str
    regions: tuple[str, ...]
    skus: tuple[str, ...]
    """Empty where every SKU is wanted."""


def read_json(document: Document) -> Any:  # noqa: ANN401 (whatever the JSON holds)
    """The content of a JSON text, which must be short enough for memory."""
    text = document.text.read(_JSON_CHARACTERS + 1)
    if len(text) > _JSON_CHARACTERS:
        raise InputError(
            f"{document.name}: is longer than {_JSON_CHARACTERS >> 20} MiB; give the CSV file of "
            "the same list, which is read row by row"
        )
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{document.name}:{error.lineno}: is no whole JSON: {error.msg}"
        ) from error


def amount_of(text: str, document: Document, line: int) -> float | None:
    """The amount in a cell; none where it is empty."""
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{document.name}:{line}: '{text}' is no amount") from error


def spelt(name: str, pattern: str) -> str:
    """A name with dashes for the characters that a study could not write."""
    character = pattern.removesuffix("+")
    return "".join(letter if re.fullmatch(character, letter) else "-" for letter in name)


def fetch_json(url: str, title: str, progress: Progress) -> Any:  # noqa: ANN401 (whatever it holds)
    """The JSON at a URL; one that is cut off is asked for again."""

    def parsed(text: TextIO) -> Any:  # noqa: ANN401 (whatever the JSON holds)
        try:
            return json.load(text)
        except ValueError as error:
            raise TransientError(f"the answer is no whole JSON: {error}") from error

    return fetch(url, title, progress, parsed)


def fetch(url: str, title: str, progress: Progress, read: Callable[[TextIO], T]) -> T:
    """What `read` makes of the text at a URL, which has come whole when it is called."""
    progress.show(title)
    place = url.partition("?")[0]

    def attempt() -> T:
        with tempfile.TemporaryFile() as file:
            _receive(url, file, title, progress)
            file.seek(0)
            return read(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))

    def on_wait(error: TransientError, seconds: float) -> None:
        progress.say(f"{title}: {error}; trying again in {seconds:.0f} s")

    try:
        return retry(attempt, RETRIES, on_wait)
    except TransientError as error:
        if RETRIES.allows(error.wait_seconds):
            end = f", {RETRIES.attempts} times; the prices known so far are kept"
        else:
            wait = f"{error.wait_seconds:.0f} s"
            end = f"; it asks to be left alone for {wait}: call again after that"
        raise DownloadError(f"{place}: {error}{end}") from error
    except UnicodeDecodeError as error:
        raise DownloadError(f"{place}: is no text in UTF-8") from error
    except csv.Error as error:
        raise DownloadError(f"{place}: is no table: {error}") from error


def _receive(url: str, file: IO[bytes], title: str, progress: Progress) -> None:
    place = url.partition("?")[0]
    try:
        with opened(url, {"User-Agent": f"prumo/{__version__}"}) as answer:
            size = answer.length or 0
            if size > _MEGABYTE:
                title = f"{title} ({size / _MEGABYTE:.0f} MB)"
            for chunk in chunks(answer):
                file.write(chunk)
                done = file.tell()
                share = f"{100 * done // size} %" if size else f"{done / _MEGABYTE:.1f} MB"
                progress.show(title, share)
    except urllib.error.HTTPError as error:
        reason = f"{error.code} {error.reason}"
        if error.code in _PASSING_FAULTS:
            raise TransientError(reason, _asked_wait(error.headers.get("Retry-After"))) from error
        raise DownloadError(f"{place}: {reason}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TransientError("no answer in time") from error
        raise DownloadError(f"{place}: {error.reason}") from error
    except (ValueError, http.client.InvalidURL) as error:
        raise DownloadError(f"{place}: is not an address: {error}") from error
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
        raise TransientError(str(error) or "the connection broke") from error


def _asked_wait(retry_after: str | None) -> float | None:
    """The seconds that a service asks for, which writes them as a number or as a date."""
    if not retry_after:
        return None
    try:
        if retry_after.strip().isdigit():
            return float(retry_after)
        until = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # HTTP dates are in UTC, also where one does not say so.
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
