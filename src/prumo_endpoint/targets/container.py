"""A server in a container, started from an image as SageMaker starts it."""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
import uuid
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from prumo.errors import InputError, UnavailableError
from prumo.machine.processes import descendants
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port, require_unused
from prumo_endpoint.targets import PORT, Server, port_environment
from prumo_endpoint.targets.process_facts import control_groups_of, listening_ports, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


PROGRAM = "docker"
REMOTE = ("tcp://", "ssh://", "http://", "https://")
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What Docker answers."""
    return subprocess.run(
        [PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def inspected(kind: str, name: str) -> dict[str, Any] | None:
    """What Docker knows of an image or a container; None when there is no such thing."""
    answer = docker(kind, "inspect", name)
    if answer.returncode != 0:
        return None
    facts: dict[str, Any] = json.loads(answer.stdout)[0]
    return facts


def require_engine() -> None:
    """Refuse to go on without a Docker that works on this machine."""
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


def complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """The sentence in which Docker says what is wrong."""
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    told = next((line for line in lines if "rror" in line), lines[0] if lines else "no reason told")
    return told.removeprefix("docker: ").removeprefix("Error response from daemon: ").rstrip(".")


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


MODEL_FOLDER = "/opt/ml/model"
HOST_NETWORK = "host"
_LAST_LINES = 5
# Docker's own exit code for a container that it could not make; 126 and 127 tell of the program.
_DOCKER_FAILED = 125


@dataclass(frozen=True)
class Container:
    """How the container is to be run."""

    model: Path | None = None
    """A folder or a model.tar.gz."""
    memory_mb: int | None = None
    network: str | None = None
    """One of Docker's networks; its default one when None."""


class ImageTarget:
    """An image that is there already; none is fetched."""

    def __init__(self, image: str, container: Container, port: int | None = None) -> None:
        require_engine()
        if inspected("image", image) is None:
            raise InputError(
                f"Docker has no image '{image}' here; build or pull it first. "
                "To start a program, give it with --command"
            )
        self.name = image
        self._container = container
        self._port = port

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Run it with the word `serve`; whatever happens, the container is removed."""
        model = self._container.model
        with nullcontext() if model is None else model_folder(model) as folder:
            name = f"prumo-endpoint-{uuid.uuid4().hex[:12]}"
            with _removed_at_the_end(name):
                yield self._started(name, folder)

    def _started(self, name: str, model: Path | None) -> Server:
        is_on_host = self._container.network == HOST_NETWORK
        outer = free_port()
        inner = self._port or (outer if is_on_host else PORT)
        if is_on_host:
            require_unused(inner)
        answer = docker("run", *self._options(name, model, inner, outer), self.name, "serve")
        if answer.returncode == _DOCKER_FAILED:
            raise InputError(f"Docker cannot run {self.name}: {complaint(answer)}")
        refusal = complaint(answer) if answer.returncode else ""
        address = Address(LOCAL_HOST, inner if is_on_host else outer)
        return Server(address, inner, ContainerProcess(name, refusal), is_container=True)

    def _options(self, name: str, model: Path | None, inner: int, outer: int) -> list[str]:
        options = ["--detach", "--name", name]
        if self._container.network is not None:
            options += ["--network", self._container.network]
        if self._container.network != HOST_NETWORK:
            options += ["--publish", f"{LOCAL_HOST}:{outer}:{inner}"]
        for variable, value in port_environment(inner).items():
            options += ["--env", f"{variable}={value}"]
        if model is not None:
            options += ["--mount", f"type=bind,{_source(model)},target={MODEL_FOLDER},readonly"]
        if self._container.memory_mb is not None:
            memory = f"{self._container.memory_mb}m"
            options += ["--memory", memory, "--memory-swap", memory]
        return options


class ContainerProcess:
    """Process 1 of a container."""

    def __init__(self, name: str, refusal: str) -> None:
        self._name = name
        self.refusal = refusal

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
            return "was killed because its memory was full"
        return f"ended with exit code {state['ExitCode']}"

    def last_words(self) -> str:
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
    """The number of process 1; 0 where the engine's numbers are not this machine's."""
    pid: int = facts["State"]["Pid"]
    return pid if facts["Id"] in control_groups_of(pid) else 0


def _source(model: Path) -> str:
    """As a field of comma-separated values, which is what Docker reads: a path may have commas."""
    return '"source={}"'.format(str(model).replace('"', '""'))


@contextmanager
def _removed_at_the_end(name: str) -> Iterator[None]:
    """Let a small process wait for the end of this one, so that no container outlives it."""
    with subprocess.Popen(
        ["/bin/sh", "-c", f'read -r _; exec {PROGRAM} rm --force --volumes "$0"', name],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ):
        # Leaving the block closes the pipe, as the end of this process would, and waits.
        yield
