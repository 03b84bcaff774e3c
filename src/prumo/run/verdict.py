"""From what was seen of a run to a verdict, and what was odd about the run. Pure."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean
from typing import TYPE_CHECKING

from prumo.results.record import Verdict
from prumo.run.journal import Event, events_of, is_number, last_event, not_finite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.supervise.guard import Ending

NO_MEMORY = re.compile(
    r"out of memory|MemoryError|cannot allocate memory|not enough memory|std::bad_alloc"
    r"|host allocation of size \d+ failed",
    re.IGNORECASE,
)
REASON_CHARACTERS = 500

# Ours. Quarters even out single batches; fewer losses than this make no quarters.
FEWEST_LOSSES = 8
FLAT_SHARE = 0.01
RISING_SHARE = 0.05
# Ours: a kernel moves this much of idle pages out without any need.
SWAP_GROWTH_BYTES = 16 * 2**20


def judge(evidence: Evidence) -> Judgement:
    """The verdict on a run, its reason, and what else is worth knowing."""
    verdict, reason = (
        _ended_from_outside(evidence) or _failed_by_itself(evidence) or _worthless(evidence)
    ) or (Verdict.FINISHED, "")
    return Judgement(verdict, reason[:REASON_CHARACTERS], _notes(evidence.ending))


def _ended_from_outside(evidence: Evidence) -> tuple[Verdict, str] | None:
    ending = evidence.ending
    if ending.cause == "stopped":
        return Verdict.INTERRUPTED, "stopped by the user"
    if ending.cause == "timeout":
        return Verdict.TIMEOUT, f"took longer than {evidence.timeout_seconds:g} s"
    if ending.cause == "memory" or ending.control_group_kills:
        cap_mib = (evidence.memory_bytes or 0) / 2**20
        return Verdict.OUT_OF_MEMORY, f"passed its memory cap of {cap_mib:g} MiB"
    if ending.signal == signal.SIGKILL and evidence.kernel_kills:
        return Verdict.OUT_OF_MEMORY, "killed by the kernel: the machine ran out of memory"
    if ending.failure:
        return Verdict.CRASHED, ending.failure
    return None


def _failed_by_itself(evidence: Evidence) -> tuple[Verdict, str] | None:
    ending = evidence.ending
    failed = last_event(evidence.events, "failed")
    if failed:
        stated = (Verdict.OUT_OF_MEMORY, Verdict.UNAVAILABLE, Verdict.INVALID)
        kind = next((kind for kind in stated if kind == failed.get("kind")), Verdict.CRASHED)
        return kind, str(failed.get("message", "no reason given"))
    if ending.exit_code == 0:
        if evidence.speaks_protocol and not last_event(evidence.events, "finished"):
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


def _worthless(evidence: Evidence) -> tuple[Verdict, str] | None:
    for anomaly in evidence.anomalies:
        if anomaly in WORTHLESS:
            return Verdict.INVALID, WORTHLESS[anomaly]
    expected, seen = evidence.expected_images, evidence.metrics.get("images")
    if expected is not None and seen != expected:
        return Verdict.INVALID, f"saw {seen or 0:.0f} images instead of {expected}"
    return None


def _notes(ending: Ending) -> list[str]:
    counts = {
        "left {} processes behind, which were killed": ending.left_behind,
        "worker.log leaves out {} bytes of output": ending.log_omitted_bytes,
        "{} processes of another user could not be killed": ending.survivors,
    }
    return [text.format(count) for text, count in counts.items() if count]


class Anomaly(StrEnum):
    """Every anomaly there is."""

    NOT_FINITE_LOSS = "not_finite_loss"
    """A loss was infinite or not a number."""
    NEGATIVE_LOSS = "negative_loss"
    """A loss was below 0, where no cross-entropy can be."""
    FLAT_LOSS = "flat_loss"
    """The last quarter of the losses is within 1 % of the first."""
    RISING_LOSS = "rising_loss"
    """The last quarter of the losses is more than 5 % above the first."""
    SWAP_USED = "swap_used"
    """The machine began to swap while the run went on."""


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


# Of other anomalies the times still hold.
WORTHLESS = {
    Anomaly.NOT_FINITE_LOSS: "the loss was not finite",
    Anomaly.NEGATIVE_LOSS: "the loss was negative",
}


def find_anomalies(
    events: Sequence[Event], metrics: Mapping[str, float], swap_bytes: Sequence[float]
) -> list[Anomaly]:
    """The anomalies of a run; `swap_bytes` is the swap in use at every sample."""
    found = []
    every = [*_losses(events, "step"), *_losses(events, "epoch"), metrics.get("loss", 0.0)]
    if "loss" in not_finite(events) or not all(map(is_number, every)):
        found.append(Anomaly.NOT_FINITE_LOSS)
    if any(loss < 0 for loss in every):
        found.append(Anomaly.NEGATIVE_LOSS)
    # Of the epochs where no steps are reported.
    reported = _losses(events, "step") or _losses(events, "epoch")
    losses = list(filter(is_number, reported))
    if len(losses) >= FEWEST_LOSSES:
        quarter = len(losses) // 4
        first, last = fmean(losses[:quarter]), fmean(losses[-quarter:])
        if abs(last - first) <= FLAT_SHARE * abs(first):
            found.append(Anomaly.FLAT_LOSS)
        elif last - first > RISING_SHARE * abs(first):
            found.append(Anomaly.RISING_LOSS)
    if swap_bytes and max(swap_bytes) - swap_bytes[0] > SWAP_GROWTH_BYTES:
        found.append(Anomaly.SWAP_USED)
    return found


def _losses(events: Sequence[Event], kind: str) -> list[float]:
    """The losses of the steps or epochs, without the warm-up."""
    reported = [event.get("loss") for event in events_of(events, kind) if event.get("epoch") != 0]
    return [
        loss for loss in reported if isinstance(loss, (int, float)) and not isinstance(loss, bool)
    ]
