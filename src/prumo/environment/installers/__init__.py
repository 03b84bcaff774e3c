"""How a framework gets into a folder of its own: one file for each way, behind one interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prumo.environment.framework import Request
    from prumo.environment.session import Session
    from prumo.progress import Progress


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
