"""A framework as data, and a request for one version of it on one kind of machine."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

CPU = "cpu"
CUDA = "cuda"
LOCKS = Path(__file__).with_name("locks")


@dataclass(frozen=True)
class Framework:
    """What has to be known to install a framework; adding one is adding one of these."""

    name: str
    """How studies call it: `pytorch`."""
    package: str
    """How pip calls it: `torch`."""
    module: str
    """What is imported to see that the installation works."""
    default_version: str
    requirements: tuple[str, ...] = ()
    """What a worker needs beside the framework."""
    cpu_index: str = ""
    """Where builds without GPU libraries are offered, for the advice to those who lack it."""


@dataclass(frozen=True)
class Request:
    """One version of a framework, wanted for one kind of machine."""

    framework: Framework
    version: str
    """Without a build's label: `2.13.0`."""
    variant: str
    """`cpu` or `cuda`, after the machine; or the label of the build that the user named."""
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
        parts = [
            f"{self.framework.package}=={self.version}+{self.label}",
            *self.framework.requirements,
            self.lock.read_text(encoding="utf-8") if self.lock else "",
            f"python {sys.version_info.major}.{sys.version_info.minor} {platform.machine()}",
        ]
        return sha256("\n".join(parts).encode()).hexdigest()[:10]

    @property
    def name(self) -> str:
        """The environment's name, known before anything is installed."""
        return f"{self.framework.name}-{self.version}-{self.variant}-{self.lock_hash}"
