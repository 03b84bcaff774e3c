"""The time and memory of variants, measured in turns, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from math import ceil
from multiprocessing import Pipe
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from prumo.errors import PrumoError
from prumo.machine.kernel import descendants
from prumo.statistics.interval import geometric_mean, mean_interval
from prumo.supervise.child import end

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.statistics.interval import Interval, Ratio
    from prumo_serve.choices import Pace
    from prumo_serve.compare.comparison import Variant
    from prumo_serve.manifest import Input

_KIBIBYTE = 1024
_END_SECONDS = 10.0
_STANDARD_ERROR = 2
_TURN_SECONDS = 0.4
_FEWEST_ANSWERS = 5
_MOST_ANSWERS = 200
_WARMING_ANSWERS = 3


def timings(
    subjects: Sequence[Subject],
    starts: Sequence[Sequence[float]],
    pace: Pace,
    progress: Progress,
) -> list[Timing]:
    """Measure subjects in turns; who begins moves on from round to round."""
    turns = [_Turns(subject) for subject in subjects]
    for number in range(pace.rounds):
        progress.show("measuring", f"round {number + 1} of {pace.rounds}")
        for place in range(len(turns)):
            turns[(number + place) % len(turns)].take()
    return [turn.timing(seconds) for turn, seconds in zip(turns, starts, strict=True)]


class _Turns:
    """All turns of one subject."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        warm = median(subject.latencies(_WARMING_ANSWERS))
        self._answers = min(_MOST_ANSWERS, max(_FEWEST_ANSWERS, ceil(_TURN_SECONDS / warm)))
        self._rounds: list[list[float]] = []
        self._rates: list[float] = []

    def take(self) -> None:
        self._rounds.append(self._subject.latencies(self._answers))
        self._rates.append(self._subject.images_per_second(self._answers))

    def timing(self, start_seconds: Sequence[float]) -> Timing:
        medians = [median(seconds) for seconds in self._rounds]
        everything = np.concatenate(self._rounds)
        pids = [self._subject.pid, *descendants(self._subject.pid)]
        return Timing(
            start=mean_interval(start_seconds, is_amount=True),
            latency=mean_interval(medians, is_amount=True),
            median=float(np.median(everything)),
            p95=float(np.quantile(everything, 0.95)),
            images_per_second=mean_interval(self._rates, is_amount=True),
            resident_bytes=sum(_bytes(pid, "VmRSS") for pid in pids),
            peak_bytes=sum(_bytes(pid, "VmHWM") for pid in pids),
            round_medians=tuple(medians),
        )


def started_subjects(
    variants: Sequence[Variant], pace: Pace, subjects: ExitStack, progress: Progress
) -> tuple[list[Subject], list[list[float]]]:
    """A process for each variant, ready to answer, and how long each of several starts took."""
    seconds: list[list[float]] = [[] for _ in variants]
    alive: list[Subject] = []
    for start in range(pace.starts):
        is_last = start == pace.starts - 1
        for variant, taken in zip(variants, seconds, strict=True):
            progress.show("starting", f"{variant.name}, {start + 1} of {pace.starts}")
            subject = Subject(variant, pace.threads, pace.callers)
            taken.append(subject.start_seconds)
            if is_last:
                alive.append(subjects.enter_context(closing(subject)))
            else:
                subject.close()
    return alive, seconds


class Subject:
    """Starts the process and waits for its first answer; `close` ends it."""

    def __init__(self, variant: Variant, threads: int, callers: int) -> None:
        self._variant = variant
        began = perf_counter()
        self._connection, other = Pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.subject_process", str(other.fileno())],
            pass_fds=[other.fileno()],
            stdin=subprocess.DEVNULL,
            # Whatever a runtime prints, standard output is for results.
            stdout=_STANDARD_ERROR,
            # Ctrl-C is for the one who measures, who then ends this.
            start_new_session=True,
        )
        other.close()
        try:
            self._ask("load", _order(variant, threads, callers))
        except BaseException:
            self.close()
            raise
        self.start_seconds = perf_counter() - began

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def latencies(self, times: int) -> list[float]:
        """Seconds of answers to a single image, one after the other."""
        return cast("list[float]", self._ask("answer", times))

    def images_per_second(self, times: int) -> float:
        """When all callers ask so many times at the same time."""
        return cast("float", self._ask("answer_at_once", times))

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """The network's rows for images in its own layout."""
        return cast("np.ndarray", self._ask("scores", batch))

    def close(self) -> None:
        """End the process, if it has not ended by itself."""
        self._connection.close()
        end(self._process, _END_SECONDS, None)

    def _ask(self, name: str, argument: object) -> Any:  # noqa: ANN401 (whatever the order gives)
        try:
            self._connection.send((name, argument))
            is_done, result = self._connection.recv()
        except (EOFError, OSError) as error:
            code = self._process.wait()
            raise SubjectError(
                f"{self._variant.path}: its process ended with code {code} while it was measured"
                + (": the machine may be out of memory" if code == -9 else "")  # noqa: PLR2004 (SIGKILL)
            ) from error
        if not is_done:
            raise SubjectError(f"{self._variant.path}: {result}")
        return result


def _order(variant: Variant, threads: int, callers: int) -> dict[str, Any]:
    manifest = variant.manifest
    low, high = _range(manifest.input)
    return {
        "path": str(variant.package.network_path),
        "runtime": manifest.network.runtime,
        "output": manifest.output.tensor,
        "threads": threads,
        "callers": callers,
        "shape": (1, *manifest.input.shape),
        "dtype": manifest.input.dtype,
        "low": low,
        "high": high,
    }


def _range(wanted: Input) -> tuple[float, float]:
    """The least and the greatest number that a pixel can become."""
    if wanted.normalization is None:
        return 0.0, 255.0
    pairs = list(zip(wanted.normalization.offset, wanted.normalization.scale, strict=True))
    ends = [(pixel - offset) / scale for offset, scale in pairs for pixel in (0, 255)]
    return min(ends), max(ends)


def _bytes(pid: int, key: str) -> int:
    """Of RSS, now or at most; 0 where the process has gone meanwhile.

    Not PSS, which parts a library among all that use it: it would tell less of a variant, the more
    others of the same runtime are measured beside it.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = (int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))
    return next(found, 0) * _KIBIBYTE


class SubjectError(PrumoError):
    """A variant could not be measured, with the reason."""


@dataclass(frozen=True)
class Timing:
    """What was measured of one variant."""

    start: Interval
    """Seconds from the start of a process to its first answer."""
    latency: Interval
    """Seconds for a single image: the mean over rounds of each round's median."""
    median: float
    p95: float
    images_per_second: Interval
    """With all callers at once."""
    resident_bytes: int
    """Of the process and those below it."""
    peak_bytes: int
    """The most that each of them has had, so perhaps more than all had at one moment."""
    round_medians: tuple[float, ...]

    def speed_up(self, first: Timing, confidence: float) -> Ratio:
        """How many times as fast as another, from the rounds that both were measured in."""
        pairs = zip(first.round_medians, self.round_medians, strict=True)
        return geometric_mean([other / own for other, own in pairs], confidence)
