"""A framework from pip, in a virtual environment of Prumo's own Python."""

from __future__ import annotations

import importlib.util
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distributions
from typing import TYPE_CHECKING

from prumo.environments.framework import CPU, CUDA, TPU, Installation
from prumo.environments.pip import (
    advice_on,
    choose_build,
    install,
    offered_versions,
    pip_environment,
)
from prumo.environments.store import python_of
from prumo.errors import SetupError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.environments.framework import Request
    from prumo.environments.session import Session
    from prumo.progress import Progress


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
        if request.variant == CPU and self.cpu_package:
            return (self.cpu_package, self.package)
        if request.variant == CUDA and self.cuda_package:
            return (self.cuda_package,)
        if request.variant == TPU and self.tpu_package:
            return (self.tpu_package,)
        return (self.package,)

    def ingredients(self, request: Request) -> list[str]:
        """The packages, their pins, and the Python that they are for."""
        return [
            *(f"{name}=={request.version}+{request.label}" for name in self.packages(request)),
            *self.requirements,
            request.lock.read_text(encoding="utf-8") if request.lock else "",
            f"python {sys.version_info.major}.{sys.version_info.minor} {platform.machine()}",
        ]

    def require(self, request: Request) -> None:
        """Nothing but what comes with Python; which versions there are, pip tells at set-up."""
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
        install(session, python, requirements, constraints=request.lock, progress=progress)
        return Installation(build, _python_version(folder), _packages(folder))

    def _choose(self, request: Request, session: Session, python: Path) -> tuple[str, str]:
        """The first package that pip offers in this version, and its build."""
        *better, last = self.packages(request)
        for package in better:
            with suppress(UnavailableError):
                return package, _build_of(package, request, session, python)
        return last, _build_of(last, request, session, python)


def _build_of(package: str, request: Request, session: Session, python: Path) -> str:
    name = package.partition("[")[0]
    return choose_build(request, name, offered_versions(session, python, name))


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


def _python_version(folder: Path) -> str:
    settings = (folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("=") for line in settings)
    return {key.strip(): value.strip() for key, _, value in pairs}["version"]
