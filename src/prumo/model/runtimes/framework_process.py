"""A framework's process: started in its environment, asked over pipes, ended with its parent."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, cast

from prumo.environments.frameworks import find_framework
from prumo.environments.store import existing
from prumo.environments.worker_source import worker_path
from prumo.errors import InputError, UnavailableError
from prumo.model.runtimes import NetworkError
from prumo.run.worker import clean_environment, thread_environment
from prumo_worker.predictor.frames import Frame, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

_MODULES = {"tensorflow": "tensorflow", "pytorch": "torch"}
_PATIENCE_SECONDS = 5.0
_LOG_BYTES = 2000


class FrameworkProcess:
    """A loaded network in another process; one thread asks it at a time.

    Raises:
        UnavailableError: The framework is not installed, with how to install it.
        InputError: The framework cannot load the network.
        NetworkError: The process died on loading it, or there is not enough memory.
    """

    def __init__(self, framework: str, path: Path, threads: int) -> None:
        self._framework = framework
        # What a framework prints is kept for the case that it dies without a word.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [
                *(_interpreter(framework), "-u", "-m", "prumo_worker.predictor"),
                *(framework, str(path.absolute()), str(threads)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_variables(threads),
            # Ctrl-C at the terminal is for the parent, which may still want answers.
            start_new_session=True,
        )
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)
        try:
            about = self._loaded(path)
        except BaseException:
            self.end()
            raise
        self.input_names = tuple(about["inputs"])
        self.output_names = tuple(about["outputs"])
        self.batch_size: int | None = about["batch_size"]

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    @property
    def process_id(self) -> int:
        """As the operating system counts."""
        return self._process.pid

    def wait(self) -> None:
        """Until it ends."""
        self._process.wait()

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
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
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
        code = self._process.wait()
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


def _variables(threads: int) -> dict[str, str]:
    return (
        clean_environment()
        | thread_environment(threads)
        | {"PYTHONPATH": str(worker_path()), "PYTHONNOUSERSITE": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    )
