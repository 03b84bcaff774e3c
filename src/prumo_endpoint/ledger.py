"""A ledger of what was created in a cloud account, written before each resource is created.

One JSON object per line, on disk before the call that it announces, so that a resource can be
found and removed whatever happened to the process that created it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from prumo.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

USD_PER_HOUR = "usd_per_hour"
"""The tag of a resource that costs money while it exists."""
_SECONDS_PER_HOUR = 3600


class State(StrEnum):
    """What is known of a resource."""

    INTENDED = "intended"
    """It is about to be created: it may exist."""
    CREATED = "created"
    USED = "used"
    """It was paid for by use; the amount stands beside."""
    DELETED = "deleted"
    """It was looked for and is not there."""


@dataclass(frozen=True)
class Resource:
    """Something in an account that has to be removed again."""

    kind: str
    """Such as `sagemaker-endpoint`."""
    name: str
    region: str
    account: str = ""
    """The number of the account; empty in ledgers that do not say it."""
    group: str = ""
    """Resources of one group are removed together."""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from all others: a repository and an endpoint may share a name."""
        return self.kind, self.name, self.region


@dataclass(frozen=True)
class Entry:
    """A line of the ledger."""

    resource: Resource
    state: State
    time: datetime
    usd: float = 0.0


class Ledger:
    """A file of entries; several processes may append to it.

    ledger = Ledger(results / "sagemaker.jsonl")
    ledger.record(resource, State.INTENDED)
    client.create_model(...)
    ledger.record(resource, State.CREATED)
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def record(self, resource: Resource, state: State, usd: float = 0.0) -> None:
        """Append an entry; it is on disk when this returns."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "state": state, "usd": usd, **asdict(resource)}
        with StorageError.writing(self.path):
            is_new = not self.path.exists()
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                text = json.dumps(line) + "\n"
                os.write(descriptor, (_missing_newline(descriptor) + text).encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                _sync_folder(self.path.parent)

    def entries(self) -> list[Entry]:
        """All entries, the oldest first; a line that a crash has cut announces nothing."""
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                content = json.loads(line)
                state, time = State(content.pop("state")), content.pop("time")
                usd = float(content.pop("usd"))
                found.append(Entry(Resource(**content), state, datetime.fromisoformat(time), usd))
        return found

    def remaining(self, group: str | None = None) -> list[Entry]:
        """What may still exist, by its last state; the newest first, as it has to be removed."""
        return _remaining(self.entries(), group)

    def spent_usd(self) -> float:
        """What everything has cost until now: by the hour, and by use."""
        spent = 0.0
        began: dict[str, datetime] = {}
        entries = self.entries()
        for entry in entries:
            spent += entry.usd
            if USD_PER_HOUR not in entry.resource.tags:
                continue
            if entry.state is State.DELETED:
                since = began.pop(entry.resource.name, entry.time)
                spent += _hourly(entry, since, entry.time)
            else:
                began.setdefault(entry.resource.name, entry.time)
        now = datetime.now(UTC)
        for entry in _remaining(entries):
            if USD_PER_HOUR in entry.resource.tags:
                spent += _hourly(entry, began[entry.resource.name], now)
        return spent


def _remaining(entries: Sequence[Entry], group: str | None = None) -> list[Entry]:
    last: dict[tuple[str, str, str], Entry] = {}
    for entry in entries:
        resource = entry.resource
        if entry.state is not State.USED and (group is None or resource.group == group):
            last[resource.key] = entry
    return [entry for entry in reversed(last.values()) if entry.state is not State.DELETED]


def _hourly(entry: Entry, since: datetime, until: datetime) -> float:
    hours = (until - since).total_seconds() / _SECONDS_PER_HOUR
    return hours * float(entry.resource.tags[USD_PER_HOUR])


def _missing_newline(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return "\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else ""


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
