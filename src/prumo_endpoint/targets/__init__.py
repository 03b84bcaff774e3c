"""Targets: where a model answers. A server that runs, a command, an image, or a plug-in's own.

A package adds a kind of target through the entry points of `prumo.targets`: a class derived from
`Target`, under the name by which users choose it, as in `prumo endpoint check NAME://REST`.
"""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from prumo.errors import InputError, PluginError
from prumo.plugins import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from prumo_endpoint.exchange import Address
    from prumo_endpoint.load.request_table import Row

PORT = 8080
PORT_VARIABLE = "SAGEMAKER_BIND_TO_PORT"
SCHEME_MARK = "://"
LOOKS_LIKE_AN_ADDRESS = re.compile(r"(localhost|\d+(\.\d+){3}):\d+")
PATH_BEGINNINGS = ("/", "./", "../")
# What a `Boot` can fail by.
OUT_OF_MEMORY = "out_of_memory"
START_FAILED = "start_failed"
START_TIMEOUT = "start_timeout"
DIED = "died"
TIMEOUT = "timeout"


@dataclass(frozen=True)
class TargetOptions:
    """What the command line may say about a target; None where it says nothing."""

    port: int | None = None
    """Where the server has to listen, seen from the server."""
    model: Path | None = None
    """A folder or a model.tar.gz."""
    memory_mb: int | None = None
    """The most memory of a server, or of each instance of a serverless one."""
    network: str | None = None
    cpus: float | None = None
    """The most processor time, in processors."""
    cpus_per_gb: float | None = None
    """Processors for each GB of memory, where `cpus` says nothing."""
    idle_seconds: float | None = None
    """After how long without a request an instance is stopped."""
    max_concurrency: int | None = None
    """The most instances at a time."""
    region: str | None = None
    """Of a cloud."""


NO_OPTIONS = TargetOptions()


class NoImageError(InputError):
    """There is no image of this name on this machine."""


class Target(ABC):
    """Something that is, or becomes, a server.

    `with target.running() as server:` is its whole life: started if necessary, reached at
    `server.address`, observed through `server.process` and `server.instances`, stopped at the end.
    """

    noun: ClassVar[str]
    """What one is called in messages, such as "a command"."""
    options: ClassVar[frozenset[str]] = frozenset()
    """The fields of `TargetOptions` that it uses; others are refused before it is made."""

    name: str
    """What the user calls it."""

    @classmethod
    @abstractmethod
    def from_words(cls, words: Sequence[str], options: TargetOptions) -> Target:
        """The target that these words of the command line name.

        `NAME://REST` arrives as the one word REST. Nothing is started yet.

        Raises:
            InputError: The words name no such target.
            UnavailableError: Something that it needs is missing on this machine.
        """

    @abstractmethod
    def running(self) -> AbstractContextManager[Server]:
        """The server, started if necessary; nothing that was started is left after the block.

        That holds also when this process is killed within the block.
        """


@dataclass(frozen=True)
class Server:
    """Where a server answers, and what can be observed of it."""

    address: Address
    """Where plain HTTP is spoken; what needs signed requests puts a proxy of its own there."""
    port: int
    """Where it has to listen, seen from the server; a container's may be published at another."""
    process: ServerProcess | None = None
    """None for a server that Prumo did not start, and for one that starts on demand."""
    is_container: bool = False
    instances: Instances | None = None
    """For a server that starts on demand and stops when idle; None for all others."""
    starts_on_demand: bool = False
    """Whether it does so without telling of its instances, as in a cloud: the first answer of a
    boot that nobody has seen before is a cold one."""
    service_metrics: ServiceMetrics | None = None
    """What the service measures by itself; None where it does not."""


class ServiceMetrics(Protocol):
    """What a service itself has measured of requests."""

    def collect(self, rows: Sequence[Row], began: float, folder: Path) -> dict[str, float]:
        """Metrics of the run whose requests these are; details go into files in its folder.

        `began` is the time, in seconds since 1970, from which the rows count theirs.
        """


class ServerProcess(Protocol):
    """The process of a server that Prumo started."""

    @property
    def start_error(self) -> str:
        """Why it could not be started at all; empty when it could."""

    @property
    def program(self) -> str:
        """The name of the program that it runs now; empty where that cannot be observed."""

    def ending(self) -> str | None:
        """How it ended; None while it runs."""

    def last_output(self) -> str:
        """The end of what it printed."""

    def addresses(self) -> Sequence[Address]:
        """Where it listens, as far as that can be observed."""

    def terminate(self) -> None:
        """Send SIGTERM to this process alone, as SageMaker does."""


@dataclass(frozen=True)
class Boot:
    """One start of an instance behind an address, caused by a request."""

    boot_id: str
    """Differs from that of every other start."""
    cold_start_seconds: float | None = None
    """From the request that caused it to a ready instance; None where that is not reported."""
    instance: str = ""
    """The instance, among those that ran at the same time; empty where that is not reported."""
    start_seconds: float | None = None
    """From the request to the start of its process or container; None if it was not reached."""
    listen_seconds: float | None = None
    """From there until its port accepted a connection; likewise."""
    load_seconds: float | None = None
    """From there until the model was loaded: /ping answered 200, without the warm-up."""
    warm_up_seconds: float | None = None
    """The server's first computation before that 200; None where the server does not say it, and
    then it is part of `load_seconds`."""
    first_answer_seconds: float | None = None
    """From there until the first request was answered."""
    failure: str = ""
    """What went wrong with it, at the start or later: OUT_OF_MEMORY, START_FAILED, START_TIMEOUT,
    DIED or TIMEOUT; empty if nothing."""
    failure_message: str = ""
    """The same in words."""


class Instances(Protocol):
    """The instances of a server that starts on demand, as serverless endpoints do."""

    def boots(self) -> Sequence[Boot]:
        """All starts so far, the oldest first."""

    def stop_idle(self) -> None:
        """Stop idle instances now, so that the next request causes a cold start."""


def chosen_target(
    words: Sequence[str],
    image: str | None = None,
    command: str | None = None,
    options: TargetOptions = NO_OPTIONS,
) -> Target:
    """The target that the command line names, of the kind that it says or looks like."""
    if sum((bool(words), image is not None, command is not None)) != 1:
        raise InputError("give one thing to check: a URL, an image or a command")
    if image is not None:
        kind, words = "container", [image]
    elif command is not None:
        kind, words = "process", split_command(command)
    elif len(words) == 1:
        kind, words = _kind_of_word(words[0])
    else:
        kind = "process"
    try:
        return make_target(kind, words, options, "--{}")
    except NoImageError as error:
        if kind != "container" or image is not None:
            raise
        raise InputError(f"{error}. To start a program, give it with --command") from error


def make_target(
    kind: str, words: Sequence[str], options: TargetOptions, option_form: str = "`{}`"
) -> Target:
    """The target of a kind that these words name; options that it does not use are refused."""
    target = target_kind(kind)
    for option, value in vars(options).items():
        if value is not None and option not in target.options:
            name = option.replace("_", "-") if option_form.startswith("--") else option
            raise InputError(f"{option_form.format(name)} does not fit {target.noun}")
    return target.from_words(words, options)


def target_kind(name: str) -> type[Target]:
    """The kind of target that a package registered under this name."""
    kind = TARGETS.load(name)
    if not (isinstance(kind, type) and issubclass(kind, Target)):
        raise PluginError(
            f"the target '{name}' is {kind!r}; right is a class derived from "
            "prumo_endpoint.targets.Target"
        )
    return kind


def is_image(kind: str, address: str) -> bool:
    """Whether what a target of this kind starts is an image, and not a command."""
    return kind == "container" or (kind == "serverless" and names_image(split_command(address)))


def names_image(words: Sequence[str]) -> bool:
    """Whether these words are an image; several words, or a path, are a command."""
    return len(words) == 1 and not words[0].startswith(PATH_BEGINNINGS)


def _kind_of_word(word: str) -> tuple[str, list[str]]:
    """What a single word looks like: KIND://REST, a URL, a command, or else an image."""
    if LOOKS_LIKE_AN_ADDRESS.fullmatch(word):
        raise InputError(f"the address of a server begins with http://; right is http://{word}")
    kind, mark, rest = word.partition(SCHEME_MARK)
    if mark and kind in TARGETS.names():
        return kind, split_command(rest) if kind == "process" else [rest]
    if mark:
        return "url", [word]
    if " " in word:
        return "process", split_command(word)
    return "process" if word.startswith(PATH_BEGINNINGS) else "container", [word]


def split_command(command: str) -> list[str]:
    """The words of a command, as a shell takes it apart."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InputError(f"the command {command!r} cannot be taken apart: {error}") from error


def port_environment(port: int) -> dict[str, str]:
    """How a server learns of a port other than the usual one."""
    return {} if port == PORT else {PORT_VARIABLE: str(port)}
