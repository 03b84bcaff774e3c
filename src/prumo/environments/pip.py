"""Virtual environments filled by pip, with the builds that suit the machine."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distributions
from typing import TYPE_CHECKING

from prumo.environments.framework import CPU, CUDA, TPU, Installation
from prumo.environments.session import CommandError, is_network_trouble
from prumo.environments.store import python_of
from prumo.errors import SetupError, UnavailableError
from prumo.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.environments.framework import Request
    from prumo.environments.session import Session
    from prumo.progress import Progress

# These would make pip install elsewhere, or see packages of elsewhere.
_REDIRECTING = {
    "PIP_DRY_RUN",
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_ROOT",
    "PIP_TARGET",
    "PYTHONHOME",
    "PYTHONPATH",
}
# What the user has set decides where packages come from, not how pip talks to us.
_TALK = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COLOR": "1",
    "PIP_NO_INPUT": "1",
    "PIP_PROGRESS_BAR": "off",
    "PIP_QUIET": "0",
    "PIP_USER": "0",
    "PIP_VERBOSE": "0",
}
_ACTIVITIES = (
    (re.compile(r"\s*Collecting (\S+)"), "looking for {}"),
    (
        re.compile(r"\s*(?:Downloading|Using cached) (\S+\.(?:whl|tar\.gz)(?: \(.*\))?)"),
        "taking {}",
    ),
    (re.compile(r"Processing .*?([^/]+\.whl)"), "taking {}"),
    (re.compile(r"\s*Building wheel for (\S+)"), "building {}"),
    (re.compile(r"Installing collected packages: (.*)"), "installing {}"),
)

_CUDA_LABEL = re.compile(r"cu\d+")
_SHOWN = 6


@dataclass(frozen=True)
class VirtualEnvironment:
    """How pip calls a framework, and what it needs beside it."""

    package: str
    """The package that there is on every machine: `torch`."""
    requirements: tuple[str, ...] = ()
    """What a worker needs beside the framework."""
    cpu_index: str = ""
    """Where builds without GPU libraries are offered, for the advice to those who lack it."""
    cpu_package: str = ""
    """A package of its own without GPU libraries, taken where pip offers it: `tensorflow-cpu`."""
    cuda_package: str = ""
    """What brings the GPU libraries: `tensorflow[and-cuda]`, `mxnet-cu112`."""
    tpu_package: str = ""
    """What brings the TPU library: `jax[tpu]`, `tensorflow-tpu`. Empty: there is none."""
    labelled: bool = False
    """Whether the builds of one version differ by a label, as `2.13.0+cpu` does."""

    @property
    def variants(self) -> tuple[str, ...]:
        """Every framework from pip has builds for processors and for NVIDIA GPUs."""
        return (CPU, CUDA, TPU) if self.tpu_package else (CPU, CUDA)

    def packages(self, request: Request) -> tuple[str, ...]:
        """How pip calls what answers a request, the best first."""
        own = {CPU: self.cpu_package, CUDA: self.cuda_package, TPU: self.tpu_package}
        package = own.get(request.variant) or self.package
        is_optional = package == self.cpu_package
        return (package, self.package) if is_optional else (package,)

    def ingredients(self, request: Request) -> list[str]:
        """The packages, their pins, and the Python that they are for."""
        return [
            *(f"{name}=={request.version}+{request.label}" for name in self.packages(request)),
            *self.requirements,
            request.lock.read_text(encoding="utf-8") if request.lock else "",
            f"python {sys.version_info.major}.{sys.version_info.minor} {platform.machine()}",
        ]

    def require(self, request: Request) -> None:
        """Nothing but what comes with Python; pip lists the versions at set-up."""
        del request
        missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
        if missing:
            raise SetupError(
                f"this Python ({sys.executable}) lacks its module {missing[0]}, which makes "
                "virtual environments; on Debian and Ubuntu: apt install python3-venv"
            )

    def install(
        self, request: Request, folder: Path, session: Session, progress: Progress
    ) -> Installation:
        """Make the virtual environment and let its own pip fill it."""
        progress.show("making a virtual environment")
        _make_venv(folder, session)
        python = python_of(folder)
        progress.show(f"asking pip for the builds of {self.package} {request.version}")
        package, build = self._choose(request, session, python)
        if advice := advice_on(request, self, build):
            progress.say(advice)
        # `===` is the one operator of pip's that does not take 2.13.0+cpu for 2.13.0.
        requirements = [f"{package}==={build}", *self.requirements]
        pins = ["--constraint", str(request.lock)] if request.lock else []
        failure = f"pip could not install {' '.join(requirements)}"
        _pip(session, python, ["install", *requirements, *pins], failure, progress)
        settings = (folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        pairs = (line.partition("=") for line in settings)
        venv = {key.strip(): value.strip() for key, _, value in pairs}
        return Installation(build, venv["version"], _packages(folder))

    def _choose(self, request: Request, session: Session, python: Path) -> tuple[str, str]:
        """The first package that pip offers in this version, and its build."""
        *better, last = self.packages(request)

        def build_of(package: str) -> str:
            name = package.partition("[")[0]
            return choose_build(request, name, offered_versions(session, python, name))

        for package in better:
            with suppress(UnavailableError):
                return package, build_of(package)
        return last, build_of(last)


def _make_venv(folder: Path, session: Session) -> None:
    # pip in a step of its own: venv would swallow what it says when a disk is full.
    for command in (
        [sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)],
        [str(python_of(folder)), "-I", "-m", "ensurepip", "--default-pip"],
    ):
        session.run(
            command,
            environment=pip_environment(),
            failure=f"no virtual environment could be made in {folder}",
        )


def _packages(folder: Path) -> dict[str, str]:
    site_packages = [str(path) for path in folder.glob("lib/python*/site-packages")]
    found = {
        distribution.name.lower().replace("_", "-"): distribution.version
        for distribution in distributions(path=site_packages)
    }
    return dict(sorted(found.items()))


def pip_environment() -> dict[str, str]:
    """This process's environment without what would lead an installation astray."""
    kept = {name: value for name, value in os.environ.items() if name not in _REDIRECTING}
    return kept | _TALK


def offered_versions(session: Session, python: Path, package: str) -> list[str]:
    """Every version of a package that pip could install here, newest first.

    UnavailableError when the indexes answer and have no such package.
    """
    failure = (
        f"pip finds no {package}: is the network, a proxy or an index of `pip config list` "
        "out of reach?"
    )
    # Only a talkative pip says that it could not fetch a page.
    words = ["index", "versions", "-vv", "--pre", package]
    try:
        lines = _pip(session, python, words, failure)
    except CommandError as error:
        if any(map(is_network_trouble, error.lines)):
            raise
        raise UnavailableError(str(error)) from error
    for line in lines:
        if line.startswith("Available versions:"):
            return [version.strip() for version in line.partition(":")[2].split(",")]
    raise SetupError(f"{failure}\nthe whole log: {session.log_path}")


def install_beside(
    session: Session, python: Path, lock: Path, folder: Path, progress: Progress
) -> None:
    """Install exactly the packages of a lock into a folder that is no environment."""
    words = ["install", "--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    failure = f"pip could not install what {lock.name} lists"
    _pip(session, python, [*words, "--requirement", str(lock)], failure, progress)


def download(session: Session, python: Path, requirement: str, folder: Path) -> None:
    """Put the wheel of one package into a folder; nothing of it is installed or run."""
    words = ["download", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), requirement]
    _pip(session, python, words, f"pip could not fetch {requirement}")


def _pip(
    session: Session,
    python: Path,
    words: Sequence[str],
    failure: str,
    progress: Progress = SILENT,
) -> list[str]:
    def follow(line: str) -> None:
        for pattern, activity in _ACTIVITIES:
            if match := pattern.match(line):
                progress.show(activity.format(match[1]))
                return

    # -I: no PYTHON* variable and no package of the user's own may leak in; pip's configuration may.
    command = [str(python), "-I", "-u", "-m", "pip", *words]
    return session.run(command, environment=pip_environment(), failure=failure, on_line=follow)


def choose_build(request: Request, package: str, offered: Sequence[str]) -> str:
    """The full version to install: `2.13.0+cpu`, `2.13.0+cu130` or `2.13.0`.

    pip by itself prefers any labelled build to the plain one, so that a machine with a GPU would
    get a build that cannot use it.
    """
    builds = [full.partition("+") for full in offered]
    labels = [label for public, _, label in builds if public == request.version]
    if request.label:
        suitable = [label for label in labels if label == request.label]
    elif request.variant == CUDA:
        suitable = sorted((label for label in labels if _CUDA_LABEL.fullmatch(label)), reverse=True)
    else:
        suitable = [label for label in labels if label == CPU]
    if suitable:
        return f"{request.version}+{suitable[0]}"
    if "" in labels and not request.label:
        return request.version
    raise UnavailableError(_what_is_offered(request, package, labels, offered))


def advice_on(request: Request, source: VirtualEnvironment, build: str) -> str:
    """Advice for a user who gets a build with GPU libraries for a machine without a GPU."""
    if request.variant != CPU or "+" in build or not source.cpu_index:
        return ""
    return (
        f"pip offers no CPU build of {source.package} {request.version}, so the plain "
        "one is taken, which may bring gigabytes of GPU libraries. To be offered the CPU build: "
        f"pip config set global.extra-index-url {source.cpu_index}, then "
        f"prumo setup --remove {request.name} and set up again"
    )


def _what_is_offered(
    request: Request, package: str, labels: Sequence[str], offered: Sequence[str]
) -> str:
    if request.variant == CUDA and CPU in labels:
        return (
            f"pip offers only a CPU build of {package} {request.version}, and this machine has an "
            f"NVIDIA GPU; to take it all the same: {request.framework.name}@{request.version}+cpu"
        )
    wanted = f"{request.version}+{request.label}" if request.label else request.version
    shown = ", ".join(offered[:_SHOWN]) + (", …" if len(offered) > _SHOWN else "")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    without = f"; without the TPU: {request.framework.name}@{request.version}+cpu"
    return (
        f"pip offers no {package} {wanted} for Python {python} here; it offers {shown}"
        f"{without if request.variant == TPU else ''}"
    )
