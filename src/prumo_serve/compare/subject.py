"""A variant in a process of its own, as seen by whoever measures it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from prumo.errors import PrumoError
from prumo.machine.kernel import descendants

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np

    from prumo_serve.compare.variant import Variant
    from prumo_serve.manifest import Input


_KIBIBYTE = 1024


@dataclass(frozen=True)
class Memory:
    """In bytes of RSS, summed over processes.

    Not PSS, which parts a library among all that use it: it would tell less of a variant, the more
    others of the same runtime are measured beside it.
    """

    resident: int
    peak: int
    """The most that each process has had, so perhaps more than all had at one moment."""


def read_memory(pid: int) -> Memory:
    """Of a process that is running."""
    pids = [pid, *descendants(pid)]
    return Memory(
        resident=sum(_bytes(pid, "VmRSS") for pid in pids),
        peak=sum(_bytes(pid, "VmHWM") for pid in pids),
    )


def _bytes(pid: int, key: str) -> int:
    """0 where the process has gone meanwhile."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = (int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))
    return next(found, 0) * _KIBIBYTE


_END_SECONDS = 10.0
_STANDARD_ERROR = 2


class SubjectError(PrumoError):
    """A variant could not be measured, with the reason."""


class Subject:
    """Starts the process and waits for its first answer; ends it on leaving."""

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
        """From the start of the process to its first answer."""

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def latencies(self, times: int) -> list[float]:
        """Seconds of answers to a single image, one after the other."""
        seconds: list[float] = self._ask("answer", times)
        return seconds

    def images_per_second(self, times: int) -> float:
        """When all callers ask so many times at the same time."""
        rate: float = self._ask("answer_at_once", times)
        return rate

    def scores(self, batch: np.ndarray) -> np.ndarray:
        """The network's rows for images in its own layout."""
        rows: np.ndarray = self._ask("scores", batch)
        return rows

    def memory(self) -> Memory:
        """What the process and those below it hold now, and have held at most."""
        return read_memory(self.pid)

    def close(self) -> None:
        """End the process, if it has not ended by itself."""
        self._connection.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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
        "shape": _shape(manifest.input),
        "dtype": manifest.input.dtype,
        "low": low,
        "high": high,
    }


def _shape(wanted: Input) -> tuple[int, ...]:
    sides = wanted.height, wanted.width
    return (1, 3, *sides) if wanted.layout == "NCHW" else (1, *sides, 3)


def _range(wanted: Input) -> tuple[float, float]:
    """The least and the greatest number that a pixel can become."""
    if wanted.normalization is None:
        return 0.0, 255.0
    pairs = list(zip(wanted.normalization.offset, wanted.normalization.scale, strict=True))
    ends = [(pixel - offset) / scale for offset, scale in pairs for pixel in (0, 255)]
    return min(ends), max(ends)
