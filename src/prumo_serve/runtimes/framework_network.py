"""A framework's process: started in its environment, asked over pipes, ended with its parent."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO, TYPE_CHECKING, Any, cast

from prumo.backoff import Backoff
from prumo.environments.frameworks import find_framework
from prumo.environments.store import existing, worker_path
from prumo.errors import InputError, PrumoError, UnavailableError
from prumo.run.worker import clean_environment, thread_environment
from prumo.supervise.child import end
from prumo_serve.runtimes import NetworkError, Runtime, closed, require_outputs, run_in_pieces
from prumo_worker.predictor import Frame, read_frame, write_frame

if TYPE_CHECKING:
    import numpy as np

    from prumo_serve.runtimes import Resources


_MODULES = {"tensorflow": "tensorflow", "pytorch": "torch"}
_PATIENCE_SECONDS = 5.0
_LOG_BYTES = 2000


class FrameworkProcess:
    """A loaded network in another process; one thread asks it at a time."""

    def __init__(self, framework: str, path: Path, threads: int) -> None:
        self._framework = framework
        # What a framework prints is kept for the case that it dies without a word.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        variables = {
            "PYTHONPATH": str(worker_path()),
            "PYTHONNOUSERSITE": "1",
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        self.popen = subprocess.Popen(
            [
                *(_interpreter(framework), "-u", "-m", "prumo_worker.predictor"),
                *(framework, str(path.absolute()), str(threads)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=clean_environment() | thread_environment(threads) | variables,
            # Ctrl-C at the terminal is for the parent, which may still want answers.
            start_new_session=True,
        )
        self._input = cast("IO[bytes]", self.popen.stdin)
        self._output = cast("IO[bytes]", self.popen.stdout)
        try:
            about = self._loaded(path)
        except BaseException:
            self.end()
            raise
        self.input_names = tuple(about["inputs"])
        self.output_names = tuple(about["outputs"])
        self.batch_size: int | None = about["batch_size"]

    def ask(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The wanted outputs of a batch."""
        try:
            write_frame(self._input, Frame({"outputs": list(outputs)}, {"batch": batch}))
            answer = read_frame(self._output)
        except OSError:
            answer = None
        if answer is None:
            raise NetworkError(f"{self._framework} died: {self._ending()}")
        if "failed" in answer.document:
            words = answer.document["message"]
            raise NetworkError(f"{self._framework} could not compute the network: {words}")
        return answer.arrays

    def end(self) -> None:
        """End it, by force where it does not end by itself once its input is closed."""
        # What was still to be sent may have nobody to read it.
        with suppress(OSError):
            self._input.close()
        end(self.popen, _PATIENCE_SECONDS, None)
        self._output.close()
        self._log.close()

    def _loaded(self, path: Path) -> dict[str, Any]:
        said = read_frame(self._output)
        if said is None:
            raise NetworkError(f"{self._framework} died on loading {path}: {self._ending()}")
        if "failed" not in said.document:
            return said.document
        words = said.document["message"]
        if said.document["failed"] == "unavailable":
            raise UnavailableError(f"{self._framework} cannot be used here: {words}")
        if said.document["failed"] == "out_of_memory":
            raise NetworkError(f"{self._framework} has not enough memory for {path}: {words}")
        raise InputError(f"{path} is not a network that {self._framework} can load: {words}")

    def _ending(self) -> str:
        code = self.popen.wait()
        self._log.seek(0)
        last = self._log.read()[-_LOG_BYTES:].decode("utf-8", "replace").strip()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}; {last.splitlines()[-1]}" if last else how


def _interpreter(framework: str) -> str:
    """This one where it has the framework, such as in a container; else the isolated one."""
    if find_spec(_MODULES[framework]) is not None:
        return sys.executable
    environment = existing(find_framework(framework))
    if environment is None:
        raise UnavailableError(
            f"this network needs {framework}: set its environment up with prumo setup {framework}"
        )
    return str(environment.python)


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
        return not self._closing.is_set() and self._process.popen.poll() is None

    def run(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The wanted outputs of a batch."""
        require_outputs(outputs, self.output_names)
        with self._asking:
            if self._closing.is_set():
                raise closed()
            process = self._process
            if process.popen.poll() is not None:
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
        backoff = Backoff()
        while not self._closing.is_set():
            self._process.popen.wait()
            if self._closing.wait(backoff.delay()):
                return
            try:
                process = self._started()
            except (PrumoError, OSError):
                continue
            backoff.reset()
            with self._asking:
                self._process.end()
                self._process = process
                if self._closing.is_set():
                    process.end()


class TensorFlow(Runtime):
    """SavedModels, in a process and an environment of its own."""

    endings = ("",)

    def load(self, path: Path, resources: Resources) -> FrameworkNetwork:
        """Load the folder of a SavedModel."""
        return FrameworkNetwork("tensorflow", path, resources)

    def require_harmless(self, path: Path, shown: Path) -> None:
        """Refuse operators that reach outside of the graph."""
        from prumo_serve.source.tensorflow_model import (  # noqa: PLC0415 (PyTorch does without it)
            GRAPH_FILE,
            require_harmless_graph,
        )

        require_harmless_graph(path / GRAPH_FILE, shown)


class PyTorch(Runtime):
    """Exports of PyTorch's, in a process and an environment of its own."""

    endings = (".pt2",)

    def load(self, path: Path, resources: Resources) -> FrameworkNetwork:
        """Load a .pt2 file in which nothing is left that PyTorch would run."""
        self.require_harmless(path, path)
        return FrameworkNetwork("pytorch", path, resources)

    def require_harmless(self, path: Path, shown: Path) -> None:
        """Refuse parts that PyTorch would run."""
        from prumo_serve.source import pytorch_export  # noqa: PLC0415 (TensorFlow needs none of it)

        del shown
        pytorch_export.require_harmless(path)


TENSORFLOW = TensorFlow()
PYTORCH = PyTorch()
