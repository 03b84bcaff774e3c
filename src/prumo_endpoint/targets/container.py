"""A server in a container, started from an image as SageMaker starts it."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlsplit

from prumo.errors import InputError, UnavailableError
from prumo.machine.kernel import CLEANUP_VARIABLE, descendants
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port, require_unused
from prumo_endpoint.resources import UNLIMITED, Resources
from prumo_endpoint.targets import (
    NO_OPTIONS,
    PORT,
    NoImageError,
    Server,
    Target,
    TargetOptions,
    port_environment,
)
from prumo_endpoint.targets.process import OUT_OF_MEMORY, cgroups_of, listening_ports, program_of

PROGRAM = "docker"
REMOTE = ("tcp://", "ssh://", "http://", "https://")
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
MODEL_FOLDER = "/opt/ml/model"
HOST_NETWORK = "host"
_LAST_LINES = 5
# Docker's own exit code for a container that it could not make; 126 and 127 are about the program.
_DOCKER_FAILED = 125


class ContainerTarget(Target):
    """A local image, run in a new container; none is pulled."""

    noun = "an image"
    options = frozenset({"port", "model", "memory_mb", "network", "cpus"})

    def __init__(self, image: str, options: TargetOptions = NO_OPTIONS) -> None:
        require_image(image)
        self.name = image
        self._options = options
        self._resources = Resources(options.memory_mb, options.cpus)
        require_limits(self._resources)

    @classmethod
    def from_words(
        cls, words: Sequence[str], options: TargetOptions = NO_OPTIONS
    ) -> ContainerTarget:
        """The image of this name."""
        if len(words) != 1:
            raise InputError(f"the name of an image is one word, and these are {len(words)}")
        return cls(words[0], options)

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Run it with the argument `serve`; the container is removed whatever happens."""
        model = self._options.model
        with nullcontext() if model is None else model_folder(model) as folder:
            name = f"prumo-endpoint-{uuid.uuid4().hex[:12]}"
            with removed_afterwards(name):
                yield self._started(name, folder)

    def _started(self, name: str, model: Path | None) -> Server:
        network = self._options.network
        outer = free_port()
        inner = self._options.port or inner_port(network, outer)
        if network == HOST_NETWORK:
            require_unused(inner)
            outer = inner
        options = run_options(
            name, self._resources, model=model, network=network, inner=inner, outer=outer
        )
        answer = docker("run", *options, self.name, "serve")
        if answer.returncode == _DOCKER_FAILED:
            raise InputError(f"Docker cannot run {self.name}: {complaint(answer)}")
        start_error = complaint(answer) if answer.returncode else ""
        process = _FirstProcess(name, start_error)
        return Server(Address(LOCAL_HOST, outer), inner, process, is_container=True)


def inner_port(network: str | None, outer: int) -> int:
    """Where a server listens in a container that is reached at `outer`."""
    return outer if network == HOST_NETWORK else PORT


def run_options(  # noqa: PLR0913 (all of them are options of `docker run`)
    name: str,
    resources: Resources,
    *,
    model: Path | None,
    network: str | None,
    inner: int,
    outer: int,
) -> list[str]:
    """How `docker run` starts a server that listens at `inner` and is reached at `outer`."""
    options = ["--detach", "--name", name, *resources.docker_options()]
    if network is not None:
        options += ["--network", network]
    if network != HOST_NETWORK:
        options += ["--publish", f"{LOCAL_HOST}:{outer}:{inner}"]
    for variable, value in port_environment(inner).items():
        options += ["--env", f"{variable}={value}"]
    if model is not None:
        options += ["--mount", f"type=bind,{_source(model)},target={MODEL_FOLDER},readonly"]
    return options


class _FirstProcess:
    """Process 1 of a container."""

    def __init__(self, name: str, start_error: str) -> None:
        self._name = name
        self.start_error = start_error

    @property
    def program(self) -> str:
        """The name of the program that it runs now, where the engine is on this machine."""
        return program_of(_pid(self._facts()))

    def ending(self) -> str | None:
        """How it ended; None while it runs."""
        state = self._facts()["State"]
        if state["Running"]:
            return None
        if state["OOMKilled"]:
            return OUT_OF_MEMORY
        return f"ended with exit code {state['ExitCode']}"

    def last_output(self) -> str:
        """The end of what it printed."""
        answer = docker("logs", "--tail", str(_LAST_LINES), self._name)
        return (answer.stdout + answer.stderr).strip()

    def addresses(self) -> list[Address]:
        """Where it listens, where the engine is on this machine."""
        facts = self._facts()
        pid = _pid(facts)
        networks = facts["NetworkSettings"]["Networks"].values()
        host = next((each["IPAddress"] for each in networks if each["IPAddress"]), LOCAL_HOST)
        return [Address(host, port) for port in listening_ports([pid, *descendants(pid)])]

    def terminate(self) -> None:
        """Send SIGTERM to process 1."""
        docker("kill", "--signal", "TERM", self._name)

    def _facts(self) -> dict[str, Any]:
        facts = inspected("container", self._name)
        if facts is None:
            raise InputError(f"the container {self._name} was removed by somebody else")
        return facts


def _pid(facts: Mapping[str, Any]) -> int:
    """The PID of process 1; 0 where the engine's PIDs are not this machine's."""
    pid: int = facts["State"]["Pid"]
    return pid if facts["Id"] in cgroups_of(pid) else 0


def _source(model: Path) -> str:
    """Quoted as in CSV, which Docker reads here: a path may have commas."""
    return '"source={}"'.format(str(model).replace('"', '""'))


@contextmanager
def removed_afterwards(name: str) -> Iterator[None]:
    """Have a small process wait for the end of this one, so that no container outlives it."""
    with subprocess.Popen(
        ["/bin/sh", "-c", f"trap '' TERM; read -r _; exec {PROGRAM} rm --force --volumes $0", name],
        env={**os.environ, CLEANUP_VARIABLE: "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ):
        # Leaving the block closes the pipe, as the end of this process would, and waits.
        yield


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Docker command."""
    return subprocess.run(
        [PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def inspected(kind: str, name: str) -> dict[str, Any] | None:
    """What Docker knows of an image or a container; None when it does not exist."""
    answer = docker(kind, "inspect", name)
    if answer.returncode != 0:
        return None
    facts: dict[str, Any] = json.loads(answer.stdout)[0]
    return facts


def require_engine() -> None:
    """Refuse to go on without a working Docker engine on this machine."""
    if which(PROGRAM) is None:
        raise UnavailableError(
            "an image needs Docker, and there is no program `docker` here; install it, or give a "
            "URL or a command"
        )
    host = docker("context", "inspect", "--format", "{{.Endpoints.docker.Host}}").stdout.strip()
    if host.startswith(REMOTE) and urlsplit(host).hostname not in THIS_MACHINE:
        raise UnavailableError(
            f"the Docker engine runs on another machine ({host}), whose containers cannot be "
            "reached from here; check the image there, or start it and give its URL"
        )
    answer = docker("version", "--format", "{{.Server.Version}}")
    if answer.returncode != 0:
        raise UnavailableError(
            f"an image needs a Docker engine that runs: {complaint(answer)}; DOCKER_HOST says "
            "where it is, if not at the usual place"
        )


def require_image(name: str) -> None:
    """Refuse an image that the engine of this machine does not have; none is pulled."""
    require_engine()
    if inspected("image", name) is None:
        raise NoImageError(f"Docker has no image '{name}' here; build or pull it first")


def require_limits(resources: Resources) -> None:
    """Refuse limits that the engine would only warn about and not keep."""
    if resources == UNLIMITED:
        return
    resources.require_machine()
    answer = docker("info", "--format", "{{.MemoryLimit}} {{.CPUCfsQuota}}")
    is_limited = dict(zip(("memory", "CPU"), answer.stdout.split(), strict=False))
    wanted = {"memory": resources.memory_mb, "CPU": resources.cpus}
    missing = [
        name
        for name, limit in wanted.items()
        if limit is not None and is_limited.get(name) != "true"
    ]
    if missing:
        raise UnavailableError(
            f"this Docker engine does not limit the {' and '.join(missing)} of containers: "
            "`docker info` shows why; a rootless engine needs cgroup version 2 and delegation"
        )


def complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """The sentence in which Docker reports the error."""
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    error = next((line for line in lines if "rror" in line), lines[0] if lines else "no reason")
    return error.removeprefix("docker: ").removeprefix("Error response from daemon: ").rstrip(".")


@contextmanager
def model_folder(model: Path) -> Iterator[Path]:
    """The folder itself, or a temporary one with what an archive holds, as SageMaker unpacks it."""
    if model.is_dir():
        yield model.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="prumo-model-") as folder:
        _unpack(model, Path(folder))
        # A container's user may be another one.
        Path(folder).chmod(0o755)
        yield Path(folder)


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive, "r:gz") as opened:
            for member in opened:
                if not (member.isfile() or member.isdir()):
                    raise InputError(
                        f"{archive}: {member.name} is neither a file nor a folder; "
                        "SageMaker takes no links in a model's archive"
                    )
                opened.extract(member, folder, filter="data")
    except FileNotFoundError as error:
        raise InputError(f"no such model: {archive}") from error
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(f"{archive} is neither a folder nor a model.tar.gz: {error}") from error
