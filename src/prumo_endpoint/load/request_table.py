"""`requests.csv` of a run: one row per request, and the figures of the run that follow from it."""

from __future__ import annotations

import csv
import json
import math
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from prumo.money.billing import DATA_BYTES, INFERENCES
from prumo_endpoint.load.sent import Outcome, Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

REQUESTS_FILE = "requests.csv"
COUNTED, UNCOUNTED, PING = "counted", "uncounted", "ping"
NOT_COUNTED = (UNCOUNTED, PING)
RATE = "rate="
CONFIDENCE = 0.99
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
SERVER_TIMES = ("queue_seconds", "decode_seconds", "preprocess_seconds", "predict_seconds")
MOST_REQUESTS = 1_000_000
"""Of a trace or an open loop: they are kept in memory, about 1 kB each."""
NOT_JSON = "the answer says that it is JSON and is not"
_LARGEST_DOCUMENT_BYTES = 1 << 20
# Takes about half of the pause in which it is done.
_WRITTEN_AT_ONCE = 10


@dataclass(frozen=True)
class Row:
    """One request. Times are seconds since the first request of the run was due."""

    request: int
    phase: str
    """`counted`, `uncounted`, `ping` (nobody waited for it), or which part of a scenario it belongs
    to, such as `rate=50`."""
    payload: str
    """The name of what was sent."""
    due_seconds: float
    start_seconds: float
    first_byte_seconds: float | None
    end_seconds: float
    latency_seconds: float
    """From when it was due."""
    lateness_seconds: float
    """Of the generator itself."""
    outcome: str
    status: int | None
    sent_bytes: int
    received_bytes: int
    queue_seconds: float | None
    """This and the following: as the server says."""
    decode_seconds: float | None
    preprocess_seconds: float | None
    predict_seconds: float | None
    is_cold: bool | None
    """Whether an instance was started for it; None where that is not known."""
    boot_id: str
    """Which start of the server answered; empty where it does not say."""
    instance: str
    reason: str = ""
    """Why it was refused, as the server says, or the system of a connection that failed."""

    @property
    def is_answered(self) -> bool:
        """Whether it has an answer of success."""
        return self.outcome == Outcome.ANSWERED

    @property
    def service_seconds(self) -> float:
        """From when it was really sent."""
        return self.end_seconds - self.start_seconds

    @classmethod
    def read(cls, cells: Mapping[str, str]) -> Self:
        """A row of the file."""
        return cls(**{name: _READERS[kind](cells[name]) for name, kind in _KINDS.items()})


def _optional(read: Any) -> Any:  # noqa: ANN401 (any reader of a cell)
    return lambda text: read(text) if text else None


_READERS: dict[str, Any] = {
    "int": int,
    "float": float,
    "str": str,
    "int | None": _optional(int),
    "float | None": _optional(float),
    "bool | None": _optional(lambda text: text == "True"),
}
_KINDS = {each.name: str(each.type) for each in fields(Row)}
COLUMNS = tuple(_KINDS)


class RequestTable:
    """Receives requests as they end, and writes them down when the generator has time.

        with RequestTable(folder / REQUESTS_FILE, payloads) as table:
            generator.send(schedule, table.record, in_pause=table.write_some)

    A row is on disk at the latest when the block ends; what is written survives a kill.
    """

    def __init__(
        self,
        path: Path,
        payloads: Sequence[tuple[str, int]],
        *,
        starts_on_demand: bool = False,
        known_boots: Iterable[str] | None = (),
    ) -> None:
        """Begin a table.

        Args:
            path: of the file.
            payloads: name and size of each body that is sent.
            starts_on_demand: whether the first answer of a boot is a cold one.
            known_boots: those that have answered before this table; None where others may have
                used the endpoint, so that the first boot that answers may be an old one.
        """
        self.rows: list[Row] = []
        self.phase = COUNTED
        self.offset_seconds = 0.0
        """What is added to the times of the next requests: when their load began."""
        self._payloads = payloads
        self._boots = set(known_boots or ())
        # A server that does not start on demand was there before the requests.
        self._first_is_unknown = known_boots is None or not starts_on_demand
        self._pending: deque[tuple[str, float, Sent]] = deque()
        self._file = path.open("w", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, COLUMNS)
        self._writer.writeheader()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.write_all()
        self._file.close()

    @property
    def is_first_boot_unknown(self) -> bool:
        """Whether the next answer may be of an instance that ran before, and proves nothing."""
        return self._first_is_unknown

    def record(self, sent: Sent) -> None:
        """Take a request that is over."""
        self._pending.append((self.phase, self.offset_seconds, sent))

    def has_failed(self, times: int) -> bool:
        """Whether the last requests, as many, have all failed; also those not written down yet."""
        if len(self._pending) + len(self.rows) < times:
            return False
        pending = (sent.outcome is Outcome.ANSWERED for *_, sent in reversed(self._pending))
        written = (row.is_answered for row in reversed(self.rows))
        return not any(islice(chain(pending, written), times))

    def write_some(self) -> None:
        """Write down a few requests, in a pause."""
        self._write(_WRITTEN_AT_ONCE)

    def write_all(self) -> None:
        """Write down all requests."""
        self._write(len(self._pending))

    def _write(self, most: int) -> None:
        if not self._pending:
            return
        for _ in range(min(most, len(self._pending))):
            row = self._row(*self._pending.popleft())
            self.rows.append(row)
            self._writer.writerow(asdict(row))
        self._file.flush()

    def _row(self, phase: str, offset: float, sent: Sent) -> Row:
        name, size = self._payloads[sent.payload]
        said, wrong = _document(sent)
        outcome = Outcome.GARBLED if wrong else sent.outcome
        timings = _mapping(said.get("timings"))
        boot_id = sent.notes.get("boot-id") or _text(said.get("boot_id"))
        return Row(
            request=sent.number,
            phase=phase,
            payload=name,
            due_seconds=offset + sent.due,
            start_seconds=offset + sent.start,
            first_byte_seconds=(None if math.isnan(sent.first_byte) else offset + sent.first_byte),
            end_seconds=offset + sent.end,
            latency_seconds=sent.latency_seconds,
            lateness_seconds=sent.lateness_seconds,
            outcome=outcome,
            status=sent.status or None,
            sent_bytes=size,
            received_bytes=sent.received_bytes,
            queue_seconds=_number(timings.get("queue_seconds")),
            decode_seconds=_number(timings.get("decode_seconds")),
            preprocess_seconds=_number(timings.get("preprocess_seconds")),
            predict_seconds=_number(timings.get("predict_seconds")),
            is_cold=self._is_cold(boot_id, sent.notes),
            boot_id=boot_id,
            instance=sent.notes.get("instance", ""),
            reason="" if outcome is Outcome.ANSWERED else wrong or _reason(said) or sent.error,
        )

    def _is_cold(self, boot_id: str, notes: Mapping[str, str]) -> bool | None:
        """As a local endpoint says; elsewhere the first answer of a boot is the cold one."""
        if not boot_id:
            return None
        is_known = boot_id in self._boots
        self._boots.add(boot_id)
        if "instance" in notes:
            return notes.get("cold") == "1"
        if self._first_is_unknown:
            self._first_is_unknown = False
            return None
        return not is_known


def ramp_phase(rate: float) -> str:
    """What the requests at one rate of a ramp are marked with."""
    return f"{RATE}{rate:.4g}"


def read_requests(path: Path) -> list[Row]:
    """The rows of a file; a last line that a kill has cut is left out."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = []
        for cells in csv.DictReader(file):
            with suppress(KeyError, ValueError, TypeError):
                rows.append(Row.read(cells))
        return rows


@cache
def requests_needed(share: float, confidence: float = CONFIDENCE) -> int:
    """How many requests a percentile needs: 64 for p90, 662 for p99.

    With fewer, there is a chance of more than 1 % that not even two of them are above the true
    percentile, and then nothing was seen of it.
    """
    tail = 1 - share
    requests = 2
    while share**requests + requests * tail * share ** (requests - 1) > 1 - confidence:
        requests += 1
    return requests


def percentile(latencies: Sequence[float], share: float) -> float | None:
    """The latency that this share of the requests did not exceed; None with too few requests."""
    if len(latencies) < requests_needed(share):
        return None
    return float(np.quantile(latencies, share, method="higher"))


def lateness_share(answered: Sequence[Row]) -> float:
    """How much of the latency is the generator's own lateness: of the mean, or of the tail."""
    lateness = np.array([row.lateness_seconds for row in answered])
    latency = np.array([row.latency_seconds for row in answered])
    tails = [np.quantile(values, 0.99) for values in (lateness, latency)]
    return float(max(lateness.mean() / latency.mean(), tails[0] / tails[1]))


def figures(rows: Iterable[Row]) -> dict[str, float]:
    """The metrics of a run, from the requests that count.

    A request without an answer has no latency; it is counted as failed. Pings are billed, and are
    no answers.
    """
    rows = list(rows)
    counted = [row for row in rows if row.phase not in NOT_COUNTED]
    answered = [row for row in counted if row.is_answered]
    pings = [row for row in rows if row.phase == PING]
    billed = [*answered, *(row for row in pings if row.is_answered)]
    found: dict[str, float] = {
        "requests": len(counted),
        "failed_requests": len(counted) - len(answered),
        INFERENCES: len(answered),
        DATA_BYTES: sum(row.sent_bytes + row.received_bytes for row in billed),
    }
    if pings:
        found |= {"pings": len(pings), "cold_pings": sum(row.is_cold is True for row in pings)}
    if not answered:
        return found
    latencies = [row.latency_seconds for row in answered]
    found |= {
        "latency_seconds": float(np.mean(latencies)),
        "latency_max_seconds": max(latencies),
        "billed_seconds": sum(row.service_seconds for row in billed),
        "lateness_share": lateness_share(answered),
    }
    for name, share in PERCENTILES.items():
        if (value := percentile(latencies, share)) is not None:
            found[f"latency_{name}_seconds"] = value
    seconds = max(row.end_seconds for row in counted) - min(row.due_seconds for row in counted)
    if seconds > 0:
        found["answers_per_second"] = len(answered) / seconds
    for name in SERVER_TIMES:
        values = [value for row in answered if (value := getattr(row, name)) is not None]
        if values:
            found[name] = float(np.mean(values))
    # A server that has not been started again has nothing to tell apart.
    kinds = {"cold": True, "warm": False} if any(row.is_cold for row in rows) else {}
    for name, is_cold in kinds.items():
        these = [row.latency_seconds for row in answered if row.is_cold is is_cold]
        found[f"{name}_answers"] = len(these)
        if these:
            found[f"{name}_latency_seconds"] = float(np.mean(these))
    return found


def _document(sent: Sent) -> tuple[Mapping[str, Any], str]:
    """The answer, if it is a JSON object, and why an answer of success is worth nothing."""
    body = sent.body
    if len(body) > _LARGEST_DOCUMENT_BYTES or not (sent.is_json or body.startswith(b"{")):
        return {}, ""
    try:
        return _mapping(json.loads(body)), ""
    except RecursionError:
        return {}, ""
    except ValueError:
        return {}, NOT_JSON if sent.is_json and sent.outcome is Outcome.ANSWERED else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]  # is_number


def _reason(said: Mapping[str, Any]) -> str:
    error = _mapping(said.get("error"))
    return _text(error.get("kind")) or _text(said.get("error"))
