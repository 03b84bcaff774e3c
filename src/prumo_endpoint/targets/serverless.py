"""A serverless endpoint on this machine: a command or an image that starts on demand."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from prumo.errors import InputError, UnavailableError
from prumo.machine.kernel import CLEANUP_VARIABLE
from prumo_endpoint.exchange import LOCAL_HOST, Address
from prumo_endpoint.resources import proportional_cpus
from prumo_endpoint.serverless import (
    BOOTS,
    IDLE_SECONDS,
    MAX_CONCURRENCY,
    MEMORY_MB,
    STOP_IDLE,
    Settings,
)
from prumo_endpoint.targets import (
    NO_OPTIONS,
    Boot,
    Server,
    Target,
    TargetOptions,
    names_image,
    split_command,
)
from prumo_endpoint.targets.container import require_image, require_limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FRONT = "prumo_endpoint.serverless.front"
_OF_IMAGES = ("model", "network")
_LAST_CHARACTERS = 400


class ServerlessTarget(Target):
    """A front that starts an instance when a request finds none idle, as SageMaker's does.

    target = ServerlessTarget.from_words(["prumo", "serve", "model.tar.gz"], options)
    with target.running() as server:
        ...  # the first request to server.address is a cold one
        server.instances.stop_idle()  # and so is the next
    """

    noun = "a serverless endpoint"
    options = frozenset(
        {
            "model",
            "memory_mb",
            "network",
            "cpus",
            "cpus_per_gb",
            "idle_seconds",
            "max_concurrency",
        }
    )

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self._settings = settings

    @classmethod
    def from_words(
        cls, words: Sequence[str], options: TargetOptions = NO_OPTIONS
    ) -> ServerlessTarget:
        """A command where there are several words or a path, and else an image."""
        if len(words) == 1:
            words = split_command(words[0])
        if not words:
            raise InputError(
                "a serverless endpoint needs a command or an image; right is "
                "'serverless://prumo serve model.tar.gz' or serverless://IMAGE"
            )
        name = shlex.join(words)
        if not names_image(words):
            for option in _OF_IMAGES:
                if getattr(options, option) is not None:
                    raise InputError(
                        f"a {option} can be given with an image, and this is a command: {name}"
                    )
            return cls(name, _settings(options, command=tuple(words)))
        require_image(words[0])
        settings = _settings(options, image=words[0], model=options.model, network=options.network)
        require_limits(settings.resources)
        return cls(name, settings)

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Listen; the first instance starts with the first request."""
        self._settings.resources.require_machine()
        if self._settings.command:
            with self._settings.resources.cgroup("serverless-probe"):
                # Here, so that it is an error for people and not the answer to a request.
                pass
        with _front() as control:
            reply = control.ask(self._settings.to_json())
            if "error" in reply:
                raise InputError(reply["error"])
            port = reply["port"]
            address = Address(LOCAL_HOST, port)
            yield Server(address, port, instances=_Instances(control))


class _Instances:
    """The instances behind a front."""

    def __init__(self, control: _Control) -> None:
        self._control = control

    def boots(self) -> Sequence[Boot]:
        """All starts so far, the oldest first; failed ones too."""
        return tuple(Boot(**boot) for boot in self._control.ask(BOOTS)["boots"])

    def stop_idle(self) -> None:
        """Stop idle instances and wait for their end, so that the next request is a cold one."""
        self._control.ask(STOP_IDLE)


class _Control:
    """The pipes to and from the process of the front."""

    def __init__(self, process: subprocess.Popen[str], log: IO[bytes]) -> None:
        self._process = process
        self._log = log
        self._lock = threading.Lock()

    def ask(self, line: str) -> dict[str, Any]:
        """Send one line and wait for the one that answers it."""
        orders, answers = self._process.stdin, self._process.stdout
        assert orders is not None  # noqa: S101 (asked for as pipes)
        assert answers is not None  # noqa: S101
        with self._lock:
            with suppress(BrokenPipeError):
                if not orders.closed:
                    orders.write(line + "\n")
                    orders.flush()
                    if answer := answers.readline():
                        document: dict[str, Any] = json.loads(answer)
                        return document
            # Else the line that could not be sent is tried again when the process is left, and
            # that error hides this one.
            with suppress(BrokenPipeError):
                orders.close()
        self._log.seek(0)
        printed = self._log.read().decode("utf-8", "replace")[-_LAST_CHARACTERS:].strip()
        raise UnavailableError(f"the front of the serverless endpoint has ended: {printed}")


@contextmanager
def _front() -> Iterator[_Control]:
    """The process of a front; it ends, with all that it started, when its pipe closes."""
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [sys.executable, "-P", "-m", FRONT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env={**os.environ, CLEANUP_VARIABLE: "1"},
        ) as process,
    ):
        # Leaving the block closes the pipes, as the end of this process would, and waits.
        yield _Control(process, log)


def _settings(
    options: TargetOptions,
    *,
    command: tuple[str, ...] = (),
    image: str = "",
    model: object = None,
    network: str | None = None,
) -> Settings:
    if options.cpus is not None and options.cpus_per_gb is not None:
        raise InputError("give the CPUs themselves or the CPUs per GB, not both")
    memory_mb = options.memory_mb or MEMORY_MB
    cpus = options.cpus or proportional_cpus(memory_mb, options.cpus_per_gb)
    return Settings(
        memory_mb,
        cpus,
        command,
        image,
        "" if model is None else str(model),
        network,
        idle_seconds=IDLE_SECONDS if options.idle_seconds is None else options.idle_seconds,
        max_concurrency=options.max_concurrency or MAX_CONCURRENCY,
    )
