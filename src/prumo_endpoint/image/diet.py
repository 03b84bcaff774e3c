"""An image without the files that a traced run never touches, and the proof that it is as good."""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, PrumoError, StorageError
from prumo.machine.kernel import descendants
from prumo.statistics.interval import mean_interval
from prumo_endpoint.bodies import Body, drawn_body
from prumo_endpoint.check import Examination, examine
from prumo_endpoint.exchange import HEALTHY, LOCAL_HOST, PING, Address, exchange, free_port
from prumo_endpoint.image.engine import Engine
from prumo_endpoint.image.layers import ImageSize, inside_name, saved_image
from prumo_endpoint.image.rehearsal import Answer, answers, differences, rehearsal
from prumo_endpoint.image.trace import Tracer, loader_of, resolved, terminate
from prumo_endpoint.resources import UNLIMITED
from prumo_endpoint.rule import KINDS
from prumo_endpoint.targets import PORT_VARIABLE, TargetOptions
from prumo_endpoint.targets.container import (
    PROGRAM,
    ContainerTarget,
    complaint,
    docker,
    inner_port,
    inspected,
    removed_afterwards,
    require_image,
    run_options,
)
from prumo_endpoint.targets.serverless import ServerlessTarget

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.statistics.interval import Interval

ALWAYS_KEPT = (
    "etc/group",
    "etc/hosts",
    "etc/localtime",
    "etc/nsswitch.conf",
    "etc/passwd",
    "etc/resolv.conf",
    "opt/ml/*",
    "*.dist-info/METADATA",
    "*.dist-info/licenses/*",
    "*/LICENSE*",
    "usr/share/doc/*/copyright",
    "var/lib/dpkg/status*",
)
"""The model, users, licences, and the records from which a bill of materials is made."""
_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_SHELL_FORM = "CMD-SHELL"
_HEAD_BYTES = 4096


@dataclass(frozen=True)
class Diet:
    """What was removed, and what was found of the image without it."""

    before: ImageSize
    after: ImageSize
    kept_files: int
    removed_files: int
    asked: int
    """Requests whose answers were compared."""
    different: tuple[str, ...]
    """Those that are answered differently without the files."""
    contract: Examination | None
    """Of the smaller image; None when its answers differ already."""
    before_seconds: tuple[float, ...] = ()
    """Cold starts: from the request that starts a container to its answer."""
    after_seconds: tuple[float, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether every answer is the same and no rule of the contract is broken."""
        return not self.different and self.contract is not None and self.contract.is_kept

    @property
    def gained_seconds(self) -> Interval | None:
        """By how much sooner the first answer comes, from pairs of starts."""
        pairs = zip(self.before_seconds, self.after_seconds, strict=True)
        gained = [before - after for before, after in pairs]
        return mean_interval(gained) if gained else None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        gained = self.gained_seconds
        return {
            "proven": self.is_proven,
            "before": self.before.document(),
            "after": self.after.document(),
            "kept_files": self.kept_files,
            "removed_files": self.removed_files,
            "compared_answers": self.asked,
            "different_answers": list(self.different),
            "contract_kept": self.contract is not None and self.contract.is_kept,
            "cold_start_seconds": {
                "before": list(self.before_seconds),
                "after": list(self.after_seconds),
                "gained": gained and {"mean": gained.mean, "low": gained.low, "high": gained.high},
            },
        }


@dataclass(frozen=True)
class DietPlan:
    """What is to be made smaller, and how it is tried."""

    image: str
    out: str
    network: str | None = None
    memory_mb: int | None = None
    keep: tuple[str, ...] = ()
    """Patterns of files that stay whatever was traced."""
    starts: int = 5
    payloads: tuple[Body, ...] = ()


def put_on_diet(plan: DietPlan, progress: Progress) -> Diet:
    """Trace, remove, compare; `plan.out` is made only when the proof succeeds."""
    require_image(plan.image)
    requests = rehearsal(plan.payloads)
    trial = f"prumo-diet-{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(prefix="prumo-diet-") as folder:
        progress.show(f"tracing {plan.image}")
        touched = _traced(plan, Path(folder), [request for _, request in requests])
        progress.show(f"unpacking {plan.image}")
        with _exported(plan.image, Path(folder)) as archive:
            members = {inside_name(member.name): member for member in archive}
            kept = kept_names(members, touched, plan.keep)
            kept = kept_names(members, touched | _loaders(archive, members, kept), plan.keep)
            left = [members[name] for name in members if name in kept]
            _build(trial, plan.image, archive, left, Path(folder) / "context", progress)
    try:
        found = _compared(plan, trial, requests, progress, (len(kept), len(members) - len(kept)))
        if found.is_proven:
            _docker("tag", trial, plan.out)
    finally:
        docker("image", "rm", trial)
    return found


def kept_names(
    members: Mapping[str, tarfile.TarInfo], touched: set[str], keep: Sequence[str]
) -> set[str]:
    """What stays of the files of an image, with the links and folders that lead to it."""
    links = {name: member.linkname for name, member in members.items() if member.issym()}
    wanted = {name for path in touched for name in resolved(path, links)}
    patterns = (*ALWAYS_KEPT, *(pattern.lstrip("/") for pattern in keep))
    wanted |= {
        found
        for name in members
        if any(fnmatchcase(name, pattern) for pattern in patterns)
        for found in resolved(name, links)
    }
    wanted &= members.keys()
    # A hard link is nothing without the file that it is another name of.
    wanted |= {inside_name(members[name].linkname) for name in wanted if members[name].islnk()}
    folders = {str(parent) for name in wanted for parent in PurePosixPath(name).parents}
    # Python and servers write there.
    return wanted | ((folders | {"tmp", "var/tmp", "run", "proc", "sys", "dev"}) & members.keys())


def _loaders(
    archive: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo], kept: set[str]
) -> set[str]:
    """What the kernel itself opens to start programs, which no trace shows."""
    found = set()
    for name in kept:
        if members[name].isreg() and members[name].mode & 0o111:
            content = archive.extractfile(members[name])
            if content and (path := loader_of(content.read(_HEAD_BYTES))):
                found.add(path)
    return found


def _compared(
    plan: DietPlan,
    trial: str,
    requests: Sequence[tuple[str, Any]],
    progress: Progress,
    counts: tuple[int, int],
) -> Diet:
    found = []
    for image in (plan.image, trial):
        progress.show("comparing answers", image)
        with _container(plan, image) as (name, address):
            _await_ready(name, address)
            given = answers(address, requests)
            if check := _health_command(image):
                code = docker("exec", name, *check).returncode
                if code and image == plan.image:
                    raise InputError(f"the health check of {image} fails with exit code {code}")
                given["health check"] = Answer(code, "", "")
            found.append(given)
    different = differences(*found)
    contract = None if different else _examined(plan, trial, progress)
    seconds: tuple[tuple[float, ...], ...] = ((), ())
    if contract is not None and contract.is_kept and plan.starts:
        seconds = _cold_starts(plan, (plan.image, trial), progress)
    sizes = []
    for image in (plan.image, trial):
        with saved_image(Engine(PROGRAM), image, progress) as saved:
            sizes.append(saved.size(progress))
    named = ImageSize(plan.out, sizes[1].layers)
    return Diet(
        *(sizes[0], named, *counts, len(requests), tuple(different), contract),
        before_seconds=seconds[0],
        after_seconds=seconds[1],
    )


def _examined(plan: DietPlan, image: str, progress: Progress) -> Examination:
    options = TargetOptions(network=plan.network, memory_mb=plan.memory_mb)
    return examine(ContainerTarget(image, options), drawn_body(), KINDS["real-time"], progress)


def _cold_starts(
    plan: DietPlan, images: Sequence[str], progress: Progress
) -> tuple[tuple[float, ...], ...]:
    """By turns, so that what disturbs one start disturbs its neighbour as well."""
    request = drawn_body().request()
    options = TargetOptions(network=plan.network, memory_mb=plan.memory_mb)
    seconds: list[list[float]] = [[] for _ in images]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(ServerlessTarget.from_words([image], options).running())
            for image in images
        ]
        for number in range(1, plan.starts + 1):
            progress.show("starting both by turns", f"{number} of {plan.starts}")
            for server, found in zip(servers, seconds, strict=True):
                answer = exchange(server.address, request, _START_SECONDS)
                if not answer.succeeded:
                    raise PrumoError(f"a cold start fails: the endpoint {answer}")
                found.append(answer.seconds)
                if server.instances is not None:
                    server.instances.stop_idle()
    return tuple(tuple(found) for found in seconds)


def _traced(plan: DietPlan, folder: Path, requests: Sequence[Any]) -> set[str]:
    """Every path that the server touches from its start to its end, and its health check."""
    config = _config(plan.image)
    begin = config.get("WorkingDir") or "/"
    serve = [*(config.get("Entrypoint") or ()), "serve"]
    server, health = Tracer(folder / "server"), Tracer(folder / "health")
    with _container(plan, plan.image, server.options(), server.command(serve)) as (name, address):
        _await_ready(name, address)
        answers(address, [(request.path, request) for request in requests])
        if check := _health_command(plan.image):
            port = inner_port(plan.network, address.port)
            mode = ["--network", f"container:{name}", *("--env", f"{PORT_VARIABLE}={port}")]
            _docker("run", "--rm", *mode, *health.options(), plan.image, *health.command(check))
        _stop_traced(name)
    paths = server.touched(begin)
    return paths | health.touched(begin) if check else paths


def _stop_traced(name: str) -> None:
    """End the server as a platform does; process 1 is strace, which must not end before it."""
    facts = inspected("container", name)
    for pid in descendants(0 if facts is None else facts["State"]["Pid"])[:1]:
        terminate(pid)
    end = time.monotonic() + _STOP_SECONDS
    while facts and facts["State"]["Running"] and time.monotonic() < end:
        time.sleep(_LOOK_SECONDS)
        facts = inspected("container", name)


@contextmanager
def _container(
    plan: DietPlan, image: str, options: Sequence[str] = (), command: Sequence[str] = ("serve",)
) -> Iterator[tuple[str, Address]]:
    name = f"prumo-diet-{uuid.uuid4().hex[:12]}"
    outer = free_port()
    inner = inner_port(plan.network, outer)
    usual = run_options(name, UNLIMITED, model=None, network=plan.network, inner=inner, outer=outer)
    with removed_afterwards(name):
        _docker("run", *usual, *options, image, *command)
        yield name, Address(LOCAL_HOST, outer)


def _await_ready(name: str, address: Address) -> None:
    end = time.monotonic() + _START_SECONDS
    while exchange(address, PING, 2.0).status != HEALTHY:
        facts = inspected("container", name)
        if facts is None or not facts["State"]["Running"] or time.monotonic() > end:
            said = docker("logs", "--tail", "5", name)
            raise InputError(
                "the server of the image is not ready and cannot be tried; it printed: "
                f"{(said.stdout + said.stderr).strip()}"
            )
        time.sleep(_LOOK_SECONDS)


def _health_command(image: str) -> list[str]:
    test = (_config(image).get("Healthcheck") or {}).get("Test") or ["NONE"]
    if test[0] == _SHELL_FORM:
        return ["/bin/sh", "-c", test[1]]
    return list(test[1:]) if test[0] == "CMD" else []


@contextmanager
def _exported(image: str, folder: Path) -> Iterator[tarfile.TarFile]:
    """The files of a container of this image that was never started."""
    name = f"prumo-diet-{uuid.uuid4().hex[:12]}"
    out = folder / "files.tar"
    with removed_afterwards(name):
        _docker("create", "--name", name, image, "serve")
        _docker("export", "--output", str(out), name)
    with tarfile.open(out) as archive:
        yield archive


def _build(  # noqa: PLR0913 (one caller)
    name: str,
    image: str,
    archive: tarfile.TarFile,
    members: Sequence[tarfile.TarInfo],
    context: Path,
    progress: Progress,
) -> None:
    """An image of one layer with these files and the settings of the other image."""
    facts = inspected("image", image) or {}
    context.mkdir()
    instructions = ["FROM scratch", "ADD files.tar /", *_settings(facts.get("Config") or {})]
    with StorageError.writing(context):
        (context / "Dockerfile").write_text("\n".join(instructions) + "\n", "utf-8")
        with tarfile.open(context / "files.tar", "w") as written:
            for member in members:
                written.addfile(member, archive.extractfile(member) if member.isreg() else None)
    target = f"linux/{facts.get('Architecture', 'amd64')}"
    Engine(PROGRAM).build(context, name, target, {}, progress)


def _settings(config: Mapping[str, Any]) -> Iterator[str]:
    """The settings of an image as instructions of a Dockerfile."""
    for variable in config.get("Env") or ():
        key, _, value = variable.partition("=")
        yield f"ENV {key}={json.dumps(value)}"
    for key, value in (config.get("Labels") or {}).items():
        yield f"LABEL {json.dumps(key)}={json.dumps(value)}"
    for port in config.get("ExposedPorts") or ():
        yield f"EXPOSE {port}"
    for word, key in {"WORKDIR": "WorkingDir", "USER": "User", "STOPSIGNAL": "StopSignal"}.items():
        if config.get(key):
            yield f"{word} {config[key]}"
    if check := _health(config.get("Healthcheck") or {}):
        yield check
    for word, key in {"ENTRYPOINT": "Entrypoint", "CMD": "Cmd"}.items():
        if config.get(key):
            yield f"{word} {json.dumps(config[key])}"


def _health(check: Mapping[str, Any]) -> str:
    test = check.get("Test") or ["NONE"]
    if test[0] == "NONE":
        return ""
    names = {"interval": "Interval", "timeout": "Timeout", "start-period": "StartPeriod"}
    options = [f"--{name}={check[key]}ns" for name, key in names.items() if check.get(key)]
    if check.get("Retries"):
        options.append(f"--retries={check['Retries']}")
    command = test[1] if test[0] == _SHELL_FORM else json.dumps(test[1:])
    return f"HEALTHCHECK {' '.join(options)} CMD {command}"


def _config(image: str) -> dict[str, Any]:
    facts = inspected("image", image) or {}
    found: dict[str, Any] = facts.get("Config") or {}
    return found


def _docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    answer = docker(*arguments)
    if answer.returncode:
        raise InputError(f"`docker {arguments[0]}` fails: {complaint(answer)}")
    return answer
