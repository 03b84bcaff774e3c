"""A network that its framework computes, in a process that is started again when it dies."""

from __future__ import annotations

from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from prumo.errors import PrumoError
from prumo.model.runtimes import NetworkError
from prumo.model.runtimes.batch_pieces import run_in_pieces
from prumo.model.runtimes.failure import closed, require_outputs
from prumo.model.runtimes.framework_process import FrameworkProcess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from prumo.model.runtimes import Resources

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0


class FrameworkNetwork:
    """One process for all callers: they wait for one another, and each batch has all threads."""

    def __init__(self, framework: str, path: Path, resources: Resources) -> None:
        self._framework = framework
        self._path = path
        self._threads = resources.threads * resources.callers
        self._closing = Event()
        self._asking = Lock()
        self._process = self._started()
        self.input_names = self._process.input_names
        self.output_names = self._process.output_names
        self._watcher = Thread(target=self._watch, name=f"{framework}-watcher", daemon=True)
        self._watcher.start()

    @property
    def is_ready(self) -> bool:
        """While its process lives."""
        return not self._closing.is_set() and self._process.is_alive

    @property
    def process_id(self) -> int:
        """Of the process that computes now."""
        return self._process.process_id

    def run(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The wanted outputs of a batch."""
        require_outputs(outputs, self.output_names)
        with self._asking:
            if self._closing.is_set():
                raise closed()
            process = self._process
            if not process.is_alive:
                raise NetworkError(f"{self._framework} ended and is being started again")
            return run_in_pieces(
                lambda piece: process.ask(piece, outputs), batch, process.batch_size
            )

    def close(self) -> None:
        """End the process after the answer that is under way."""
        self._closing.set()
        with self._asking:
            self._process.end()

    def _started(self) -> FrameworkProcess:
        return FrameworkProcess(self._framework, self._path, self._threads)

    def _watch(self) -> None:
        """Start a process in the place of one that ends, ever more slowly while it cannot load."""
        pause = _FIRST_PAUSE_SECONDS
        while not self._closing.is_set():
            self._process.wait()
            if self._closing.wait(pause):
                return
            try:
                process = self._started()
            except (PrumoError, OSError):
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            pause = _FIRST_PAUSE_SECONDS
            with self._asking:
                self._process.end()
                self._process = process
                if self._closing.is_set():
                    process.end()
