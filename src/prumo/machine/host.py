"""The host: its name, its system, and what it runs inside."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from prumo.machine.clock import clock_step_seconds
from prumo.machine.kernel import read_text

_CONTAINER_MARKS = {"docker": Path("/.dockerenv"), "podman": Path("/run/.containerenv")}
_PRODUCT = Path("/sys/class/dmi/id")


@dataclass(frozen=True)
class Host:
    """Name, system and surroundings."""

    name: str
    system: str
    kernel: str
    python: str
    product: str | None
    """Maker and model from the firmware; a cloud puts its instance type here."""
    container: str | None
    clock_step_seconds: float
    """The shortest span that its clock can tell."""


def read_host() -> Host:
    """Look at the host."""
    return Host(
        name=platform.node(),
        system=_system(),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        product=_product(),
        container=_container(),
        clock_step_seconds=clock_step_seconds(),
    )


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform(terse=True)


def _product() -> str | None:
    words = [read_text(_PRODUCT / name) for name in ("sys_vendor", "product_name")]
    return " ".join(word for word in words if word) or None


def _container() -> str | None:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    marked = (name for name, mark in _CONTAINER_MARKS.items() if mark.exists())
    # systemd's convention: whoever starts a container names itself in this variable, so spelt.
    return next(marked, os.environ.get("container") or None)  # noqa: SIM112
