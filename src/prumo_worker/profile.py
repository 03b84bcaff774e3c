"""The functions in which this process spends its time, by Linux's own profiler where it is."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from prumo_worker.task import Unavailable


class OperationTime(NamedTuple):
    """A row of a profile: all calls of one operation together."""

    operation: str
    """As the framework names it: `aten::mkldnn_convolution`, `Conv2D`, `conv1 backward`."""
    calls: int
    seconds: float
    """Its own time, without that of the operations it calls."""


def grouped(spans: Iterable[tuple[str, float]]) -> list[OperationTime]:
    """Single calls, each the operation's name and its seconds, as one row for each operation."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for operation, seconds in spans:
        times[operation].append(seconds)
    return [OperationTime(name, len(calls), sum(calls)) for name, calls in times.items()]


def device_events(plane: Any) -> Iterator[Any]:  # noqa: ANN401 (a trace of TensorFlow's or JAX's)
    """On a GPU the kernels of its streams, on a TPU the operations that XLA made."""
    for line in plane.lines if plane.name.startswith("/device:") else ():
        if line.name.startswith(("Stream", "XLA Ops")):
            yield from line.events


def profile_rows(times: list[OperationTime]) -> list[dict[str, Any]]:
    """The rows of a `profile` event, the longest first, each with its share of all seconds."""
    total = sum(time.seconds for time in times)
    ordered = sorted(times, key=lambda time: (-time.seconds, time.operation))
    return [{**time._asdict(), "share": time.seconds / total} for time in ordered if time.seconds]


_SAMPLES_PER_SECOND = 499
# A clock of the kernel's: virtual machines often hide the processor's own counters.
_EVENT = "cpu-clock"
_PATIENCE_SECONDS = 0.1
_END_SECONDS = 10
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def function_times(work: Callable[[], object]) -> list[OperationTime]:
    """Do the work, sampled; times of functions of all threads, named `function (library)`.

    A sampler sees no calls, so they are none. Raises Unavailable, the work undone, where perf is
    missing or may not look at this process.
    """
    program = shutil.which("perf")
    if program is None:
        raise Unavailable("perf is not on this machine")
    with TemporaryDirectory(prefix="prumo-perf-") as folder:
        data = Path(folder, "perf.data")
        with _Recording(program, data):
            work()
        return _read(_report(program, data))


class _Recording:
    """`perf record` beside this process, for the time of a `with` block and no longer."""

    def __init__(self, program: str, data: Path) -> None:
        orders, answers = data.with_name("orders"), data.with_name("answers")
        for pipe in (orders, answers):
            os.mkfifo(pipe)
        # Opened for both ways, a pipe does not wait for its other end.
        self._orders = os.open(orders, os.O_RDWR)
        self._answers = os.open(answers, os.O_RDWR)
        self._words = data.with_name("words")
        with self._words.open("w") as words:
            self._process = subprocess.Popen(
                [
                    *(program, "record", "--quiet", "--event", _EVENT),
                    *("--freq", str(_SAMPLES_PER_SECOND), "--pid", str(os.getpid())),
                    *("--delay", "-1", "--control", f"fifo:{orders},{answers}"),
                    *("--output", str(data)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=words,
            )

    def __enter__(self) -> None:
        try:
            self._order("enable")
        except BaseException:
            self._close()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._order("disable")
        finally:
            self._close()

    def _order(self, word: str) -> None:
        """Have an order carried out; an answer comes unless perf has ended."""
        os.write(self._orders, f"{word}\n".encode())
        while not select.select([self._answers], [], [], _PATIENCE_SECONDS)[0]:
            if self._process.poll() is not None:
                words = self._words.read_text().strip().splitlines()
                reason = words[0] if words else f"exit code {self._process.returncode}"
                raise Unavailable(f"perf cannot sample this process: {reason}")
        os.read(self._answers, 64)

    def _close(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            # SIGINT is ignored by what a shell started in its background.
            self._process.kill()
            self._process.wait()
        os.close(self._orders)
        os.close(self._answers)


def _report(program: str, data: Path) -> str:
    command = [program, "report", "--stdio", "--input", str(data)]
    done = subprocess.run(
        [*command, "--fields", "sample,symbol,dso", "--field-separator", "\t"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"perf cannot read what it sampled: {done.stderr.strip()}")
    return done.stdout


def _read(report: str) -> list[OperationTime]:
    """Lines of samples, symbol (behind a mark such as `[.]`) and library."""
    rows = [line.split("\t") for line in report.splitlines() if line and line[0] != "#"]
    taken: Counter[str] = Counter()
    for samples, symbol, library, *_ in rows:
        name = symbol.strip().partition("] ")[2]
        # A library without symbols gives an address for every instruction that was met.
        function = "unnamed" if _ADDRESS.fullmatch(name) else name
        taken[f"{function} ({library.strip()})"] += int(samples)
    return [OperationTime(name, 0, count / _SAMPLES_PER_SECOND) for name, count in taken.items()]
