"""What an instance runs in: a process in a control group of its own, or a container.

Both are started, observed and ended by calls that may block; the front makes them in threads.
"""

from __future__ import annotations

import os
import subprocess
import threading
import uuid
from abc import ABC, abstractmethod
from contextlib import ExitStack
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.machine.cgroup import CappedCgroup
from prumo.supervise.guard import GuardedProcess, Order
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port
from prumo_endpoint.targets import port_environment
from prumo_endpoint.targets.container import (
    complaint,
    docker,
    inner_port,
    inspected,
    model_folder,
    removed_afterwards,
    run_options,
)
from prumo_endpoint.targets.process import described_ending, tail

if TYPE_CHECKING:
    from prumo_endpoint.serverless import Settings

_LOOK_SECONDS = 0.001
_STOP_LOOK_SECONDS = 0.1
_CLOSING = "was stopped"


class _State(Enum):
    NEW = auto()
    STARTED = auto()
    STOPPED = auto()


class WorkerError(Exception):
    """A worker could not be started."""


class Worker(ABC):
    """Runs a server of SageMaker's contract at `address`, once."""

    address: Address

    @abstractmethod
    def start(self) -> None:
        """Return once its process or container runs.

        Raises:
            WorkerError: It cannot be started.
        """

    @abstractmethod
    def ending(self) -> str | None:
        """How it ended; None while it runs."""

    @abstractmethod
    def is_out_of_memory(self) -> bool:
        """Whether the kernel killed a process of it for lack of memory."""

    @abstractmethod
    def last_output(self) -> str:
        """The end of what it printed."""

    @abstractmethod
    def stop(self, *, is_killed: bool = False) -> None:
        """End it by SIGTERM, or at once, and remove what is left; also while it starts."""


class Workers(ABC):
    """Makes workers."""

    @abstractmethod
    def new(self) -> Worker:
        """A worker that has not started yet."""

    @abstractmethod
    def prepare(self) -> None:
        """Use a quiet moment to make the next start quicker."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is prepared; all workers have ended."""


class ProcessWorkers(Workers):
    """Processes; the guard of the next one is ready before it is needed."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._spare: GuardedProcess | None = GuardedProcess()
        self._lock = threading.Lock()

    def new(self) -> Worker:
        """A process under the guard that is ready, or else under a new one."""
        with self._lock:
            guard, self._spare = self._spare, None
        return _ProcessWorker(self._settings, self._folder, guard or GuardedProcess())

    def prepare(self) -> None:
        """Start the next guard: that takes longer than starting a process."""
        with self._lock:
            self._spare = self._spare or GuardedProcess()

    def close(self) -> None:
        """End the guard that was not needed."""
        if self._spare is not None:
            self._spare.close()


class _ProcessWorker(Worker):
    def __init__(self, settings: Settings, folder: Path, guard: GuardedProcess) -> None:
        self._settings = settings
        self._guard = guard
        self._stack = ExitStack()
        self._group = CappedCgroup()
        self._lock = threading.Lock()
        self._ending_lock = threading.Lock()
        self._state = _State.NEW
        self._was_out_of_memory = False
        self._name = uuid.uuid4().hex[:12]
        self._log = folder / f"{self._name}.log"
        self.address = Address(LOCAL_HOST, free_port())

    def start(self) -> None:
        """Have the guard start it in a new control group."""
        settings = self._settings
        with self._lock:
            if self._state is not _State.NEW:
                raise WorkerError(_CLOSING)
            cgroup = settings.resources.cgroup(f"serverless-{self._name}")
            self._group = self._stack.enter_context(cgroup)
            self._guard.begin(
                Order(
                    command=list(settings.command),
                    directory=str(Path.cwd()),
                    environment={**os.environ, **port_environment(self.address.port)},
                    log=str(self._log),
                    stop_seconds=settings.stop_seconds,
                    join=self._group.join_files,
                )
            )
            self._state = _State.STARTED
        while not self._group.processes():
            ending = self._guard.wait(_LOOK_SECONDS)
            if ending is not None and ending.failure:
                raise WorkerError(ending.failure)
            if ending is not None:
                return

    def ending(self) -> str | None:
        """What the guard reports."""
        with self._lock:
            ending = self._guard.ending
            if ending is None and self._state is _State.STARTED:
                ending = self._guard.wait(0)
        if ending is None:
            return _CLOSING if self._state is _State.STOPPED else None
        return ending.failure or described_ending(ending)

    def is_out_of_memory(self) -> bool:
        """What the control group counts, or counted until it was removed."""
        with self._lock:
            if self._state is _State.STARTED and self._group.oom_kills():
                self._was_out_of_memory = True
        return self._was_out_of_memory

    def last_output(self) -> str:
        """From its log."""
        return tail(self._log)

    def stop(self, *, is_killed: bool = False) -> None:
        """Have the guard end it, then remove its control group."""
        with self._lock:
            if self._state is _State.STARTED:
                (self._guard.kill if is_killed else self._guard.stop)()
        with self._ending_lock:
            while self._state is _State.STARTED and self.ending() is None:
                self._guard.wait(_STOP_LOOK_SECONDS)
            self.is_out_of_memory()
            with self._lock:
                if self._state is not _State.STOPPED:
                    self._state = _State.STOPPED
                    self._guard.close()
                    self._stack.close()


class ContainerWorkers(Workers):
    """Containers of one image; a model in an archive is unpacked once for all of them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = ExitStack()
        self._model = (
            self._stack.enter_context(model_folder(Path(settings.model)))
            if settings.model
            else None
        )

    def new(self) -> Worker:
        """A container."""
        return _ContainerWorker(self._settings, self._model)

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def close(self) -> None:
        """Remove what was unpacked."""
        self._stack.close()


class _ContainerWorker(Worker):
    def __init__(self, settings: Settings, model: Path | None) -> None:
        self._settings = settings
        self._model = model
        self._name = f"prumo-serverless-{uuid.uuid4().hex[:12]}"
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._is_stopped = False
        self._was_out_of_memory = False
        self._last_output = ""
        outer = free_port()
        self._inner = inner_port(settings.network, outer)
        self.address = Address(LOCAL_HOST, outer)

    def start(self) -> None:
        """Return when Docker has started process 1."""
        settings = self._settings
        options = run_options(
            self._name,
            settings.resources,
            model=self._model,
            network=settings.network,
            inner=self._inner,
            outer=self.address.port,
        )
        with self._lock:
            if self._is_stopped:
                raise WorkerError(_CLOSING)
            self._stack.enter_context(removed_afterwards(self._name))
            answer = docker("run", *options, settings.image, "serve")
        if answer.returncode:
            raise WorkerError(f"Docker cannot run {settings.image}: {complaint(answer)}")

    def ending(self) -> str | None:
        """What Docker reports."""
        facts = inspected("container", self._name)
        if facts is None:
            return "was removed"
        state = facts["State"]
        self._was_out_of_memory = self._was_out_of_memory or state["OOMKilled"]
        return None if state["Running"] else f"ended with exit code {state['ExitCode']}"

    def is_out_of_memory(self) -> bool:
        """What Docker reports."""
        self.ending()
        return self._was_out_of_memory

    def last_output(self) -> str:
        """The log that Docker keeps, until the container is removed."""
        return self._last_output or _logs(self._name)

    def stop(self, *, is_killed: bool = False) -> None:
        """Have Docker end and remove it."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
        if not is_killed:
            docker("stop", "--time", f"{self._settings.stop_seconds:.0f}", self._name)
            self.ending()
        self._last_output = _logs(self._name)
        self._stack.close()


def _logs(name: str) -> str:
    answer: subprocess.CompletedProcess[str] = docker("logs", "--tail", "5", name)
    return "" if answer.returncode else (answer.stdout + answer.stderr).strip()
