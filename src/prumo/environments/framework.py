"""A framework as data, and a request for one version of it on one kind of machine."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.environments.session import Session
    from prumo.progress import Progress


CPU = "cpu"
CUDA = "cuda"
TPU = "tpu"
LOCKS = Path(__file__).with_name("locks")


@dataclass(frozen=True)
class Framework:
    """What has to be known to install a framework; adding one is adding one of these."""

    name: str
    """How studies call it: `pytorch`."""
    module: str
    """What is imported to see that the installation works."""
    default_version: str
    installer: Installer
    """How it is installed, and from what."""
    trial: str = "pass"
    """A statement after the import that shows what an import alone does not."""
    cuda_plugin: str = ""
    """A module of its own without which the framework would leave a GPU alone and not say so."""


@dataclass(frozen=True)
class Request:
    """One version of a framework, wanted for one kind of machine."""

    framework: Framework
    version: str
    """Without a build's label: `2.13.0`."""
    variant: str
    """`cpu`, `cuda` or `tpu`, after the machine; or the label of the build that the user named."""
    label: str = ""
    """The build that the user named: `cpu` in `pytorch@2.13.0+cpu`. Empty: Prumo chooses."""

    @property
    def lock(self) -> Path | None:
        """The shipped pins for this version; without them pip resolves at set-up."""
        path = LOCKS / f"{self.framework.name}-{self.version}.txt"
        return path if path.is_file() else None

    @property
    def lock_hash(self) -> str:
        """Ten digits that change with anything that decides what gets installed."""
        ingredients = self.framework.installer.ingredients(self)
        return sha256("\n".join(ingredients).encode()).hexdigest()[:10]

    @property
    def name(self) -> str:
        """The environment's name, known before anything is installed."""
        return f"{self.framework.name}-{self.version}-{self.variant}-{self.lock_hash}"


@dataclass(frozen=True)
class Installation:
    """What an installer put into a folder, whose interpreter is `bin/python`."""

    build: str
    """The full version of the framework: `2.13.0+cpu`."""
    python_version: str
    packages: Mapping[str, str]


class Installer(Protocol):
    """One way to install a framework, with what it has to know of that framework."""

    @property
    def variants(self) -> tuple[str, ...]:
        """The kinds of machine that there are builds for: `cpu`, and perhaps `cuda` and `tpu`."""

    @property
    def labelled(self) -> bool:
        """Whether the builds of one version differ by a label, as `2.13.0+cpu` does."""

    def ingredients(self, request: Request) -> list[str]:
        """Everything that decides what gets installed: another list is another environment."""

    def require(self, request: Request) -> None:
        """Raise UnavailableError when this machine lacks what an installation needs."""

    def install(
        self, request: Request, folder: Path, session: Session, progress: Progress
    ) -> Installation:
        """Install into a folder that does not exist yet."""
