"""What an instance runs in: a process in a control group of its own, or a container.

Both are started, observed and ended by calls that may block; the front makes them in threads.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
import uuid
from abc import ABC, abstractmethod
from contextlib import ExitStack
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
_STOP_LOOK_SECONDS = 0.02
# Asking Docker takes a processor for tens of milliseconds, which a start would miss.
_INSPECT_SECONDS = 0.5
_STOPPED = "was stopped"


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
        """A process under the guard that is ready, or else under one that it starts itself."""
        with self._lock:
            guard, self._spare = self._spare, None
        return _ProcessWorker(self._settings, self._folder, guard)

    def prepare(self) -> None:
        """Start the next guard: that takes longer than starting a process."""
        if self._spare is not None:
            return
        guard = GuardedProcess()
        with self._lock:
            other, self._spare = self._spare, guard
        if other is not None:
            other.close()

    def close(self) -> None:
        """End the guard that was not needed."""
        if self._spare is not None:
            self._spare.close()


class _ProcessWorker(Worker):
    def __init__(self, settings: Settings, folder: Path, guard: GuardedProcess | None) -> None:
        self._settings = settings
        self._spare = guard
        self._stack = ExitStack()
        self._group = CappedCgroup()
        self._lock = threading.Lock()
        self._guard: GuardedProcess | None = None
        """None before the start."""
        self._ending: str | None = None
        self._is_stopped = False
        self._was_out_of_memory = False
        self._name = uuid.uuid4().hex[:12]
        self._log = folder / f"{self._name}.log"
        self.address = Address(LOCAL_HOST, free_port())

    def start(self) -> None:
        """Have the guard start it in a new control group."""
        settings = self._settings
        with self._lock:
            if self._is_stopped:
                raise WorkerError(_STOPPED)
            cgroup = settings.resources.cgroup(f"serverless-{self._name}")
            self._group = self._stack.enter_context(cgroup)
            # The guard ends before its group is removed.
            guard = self._stack.enter_context(self._spare or GuardedProcess())
            guard.begin(
                Order(
                    command=list(settings.command),
                    directory=str(Path.cwd()),
                    environment={**os.environ, **port_environment(self.address.port)},
                    log=str(self._log),
                    stop_seconds=settings.stop_seconds,
                    join=self._group.join_files,
                )
            )
            self._guard = guard
        while not self._group.processes() and self.ending() is None:
            time.sleep(_LOOK_SECONDS)

    def ending(self) -> str | None:
        """What the guard reports."""
        with self._lock:
            if self._guard is None or self._is_stopped:
                return self._ending
            ending = self._guard.wait(0)
            if ending is not None:
                self._ending = ending.failure or described_ending(ending)
        return self._ending

    def is_out_of_memory(self) -> bool:
        """What the control group counts, or counted until it was removed."""
        with self._lock:
            if not self._is_stopped and self._group.oom_kills():
                self._was_out_of_memory = True
        return self._was_out_of_memory

    def last_output(self) -> str:
        """From its log."""
        return tail(self._log)

    def stop(self, *, is_killed: bool = False) -> None:
        """Have the guard end it, then remove its control group."""
        with self._lock:
            if self._guard is not None and not self._is_stopped:
                (self._guard.kill if is_killed else self._guard.stop)()
        while self._guard is not None and self.ending() is None:
            time.sleep(_STOP_LOOK_SECONDS)
        self.is_out_of_memory()
        with self._lock:
            self._is_stopped = True
            self._ending = self._ending or _STOPPED
            if self._guard is None and self._spare is not None:
                self._spare.close()
                self._spare = None
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
        self._ending: str | None = None
        self._was_out_of_memory = False
        self._looked = 0.0
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
                raise WorkerError(_STOPPED)
            self._stack.enter_context(removed_afterwards(self._name))
            answer = docker("run", *options, settings.image, "serve")
        if answer.returncode:
            raise WorkerError(f"Docker cannot run {settings.image}: {complaint(answer)}")
        self._looked = time.monotonic()

    def ending(self) -> str | None:
        """What Docker reports, asked now and then."""
        if self._ending is None and time.monotonic() > self._looked + _INSPECT_SECONDS:
            self._look()
        return self._ending

    def is_out_of_memory(self) -> bool:
        """What Docker reports, likewise."""
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
            docker("stop", "-t", f"{self._settings.stop_seconds:.0f}", self._name)
        self._last_output = _logs(self._name)
        self._stack.close()
        self._ending = self._ending or _STOPPED

    def _look(self) -> None:
        facts = inspected("container", self._name)
        self._looked = time.monotonic()
        if facts is None:
            self._ending = "was removed"
            return
        state = facts["State"]
        self._was_out_of_memory = self._was_out_of_memory or state["OOMKilled"]
        if not state["Running"]:
            self._ending = f"ended with exit code {state['ExitCode']}"


def _logs(name: str) -> str:
    answer: subprocess.CompletedProcess[str] = docker("logs", "--tail", "5", name)
    return "" if answer.returncode else (answer.stdout + answer.stderr).strip()
