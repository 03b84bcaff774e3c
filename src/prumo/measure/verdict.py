"""From what was seen of a run to a verdict. Pure."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prumo.measure.journal import Event, last_event
from prumo.results.record import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.measure.anomaly import Anomaly
    from prumo.measure.guard.order import Ending

NO_MEMORY = re.compile(
    r"out of memory|MemoryError|cannot allocate memory|not enough memory|std::bad_alloc"
    r"|host allocation of size \d+ failed",
    re.IGNORECASE,
)
REASON_CHARACTERS = 500


@dataclass(frozen=True)
class Evidence:
    """All that is known about the end of a run."""

    ending: Ending
    events: Sequence[Event]
    metrics: Mapping[str, float]
    speaks_protocol: bool
    """Whether the program is a worker, which must say `finished` itself."""
    anomalies: Sequence[Anomaly] = ()
    expected_images: int | None = None
    control_group_kills: int = 0
    kernel_kills: int = 0
    """Processes that the kernel ended for lack of memory, on the whole machine, meanwhile."""
    last_lines: str = ""
    timeout_seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Judgement:
    """A verdict and why."""

    verdict: Verdict
    reason: str = ""
    notes: list[str] = field(default_factory=list)


def judge(evidence: Evidence) -> Judgement:
    """The verdict on a run, its reason, and what else is worth knowing."""
    verdict, reason = (
        _ended_from_outside(evidence) or _failed_by_itself(evidence) or _worthless(evidence)
    ) or (Verdict.FINISHED, "")
    return Judgement(verdict, reason[:REASON_CHARACTERS], _notes(evidence))


def _ended_from_outside(evidence: Evidence) -> tuple[Verdict, str] | None:
    ending = evidence.ending
    if ending.cause == "stopped":
        return Verdict.INTERRUPTED, "stopped by the user"
    if ending.cause == "timeout":
        return Verdict.TIMEOUT, f"took longer than {evidence.timeout_seconds:g} s"
    if ending.cause == "memory" or evidence.control_group_kills:
        cap_mib = (evidence.memory_bytes or 0) / 2**20
        return Verdict.OUT_OF_MEMORY, f"passed its memory cap of {cap_mib:g} MiB"
    if ending.signal == signal.SIGKILL and evidence.kernel_kills:
        return Verdict.OUT_OF_MEMORY, "killed by the kernel: the machine ran out of memory"
    if ending.failure:
        return Verdict.CRASHED, ending.failure
    return None


def _failed_by_itself(evidence: Evidence) -> tuple[Verdict, str] | None:
    ending = evidence.ending
    failed = last_event(list(evidence.events), "failed")
    if failed:
        return _stated_kind(failed), str(failed.get("message", "no reason given"))
    if ending.exit_code == 0:
        if evidence.speaks_protocol and not last_event(list(evidence.events), "finished"):
            return Verdict.CRASHED, "the worker ended without saying that it finished"
        return None
    how = f"ended by {_name(ending.signal)}" if ending.signal else f"exit code {ending.exit_code}"
    lines = evidence.last_lines.strip().splitlines()
    complaint = next((line for line in reversed(lines) if NO_MEMORY.search(line)), None)
    if complaint:
        return Verdict.OUT_OF_MEMORY, f"{how}: {complaint}"
    last_words = lines[-1] if lines else ""
    return Verdict.CRASHED, f"{how}: {last_words}" if last_words else how


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _stated_kind(failed: Event) -> Verdict:
    stated = (Verdict.OUT_OF_MEMORY, Verdict.UNAVAILABLE, Verdict.INVALID)
    return next((verdict for verdict in stated if verdict == failed.get("kind")), Verdict.CRASHED)


def _worthless(evidence: Evidence) -> tuple[Verdict, str] | None:
    if reason := next(filter(None, (anomaly.worthless for anomaly in evidence.anomalies)), ""):
        return Verdict.INVALID, reason
    expected, seen = evidence.expected_images, evidence.metrics.get("images")
    if expected is not None and seen != expected:
        return Verdict.INVALID, f"saw {seen or 0:.0f} images instead of {expected}"
    return None


def _notes(evidence: Evidence) -> list[str]:
    notes = []
    if evidence.ending.left_behind:
        notes.append(f"left {evidence.ending.left_behind} processes behind, which were killed")
    if evidence.ending.log_omitted_bytes:
        notes.append(f"worker.log leaves out {evidence.ending.log_omitted_bytes} bytes of output")
    if evidence.ending.survivors:
        notes.append(f"{evidence.ending.survivors} processes of another user could not be killed")
    return notes
