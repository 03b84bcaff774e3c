"""Which build of a version to install, out of those that the user's pip configuration offers."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from prumo.environment.framework import CPU, CUDA, TPU
from prumo.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.environment.framework import Request
    from prumo.environment.installers.virtual_environment import VirtualEnvironment

_CUDA_LABEL = re.compile(r"cu\d+")
_SHOWN = 6


def choose_build(request: Request, package: str, offered: Sequence[str]) -> str:
    """The full version to install: `2.13.0+cpu`, `2.13.0+cu130` or `2.13.0`.

    pip by itself prefers any labelled build to the plain one, so that a machine with a GPU would
    get a build that cannot use it.
    """
    labels = _labels(request.version, offered)
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
    """What to tell a user who gets a build with GPU libraries for a machine without a GPU."""
    if request.variant != CPU or "+" in build or not source.cpu_index:
        return ""
    return (
        f"pip offers no CPU build of {source.package} {request.version}, so the plain "
        "one is taken, which may bring gigabytes of GPU libraries. To be offered the CPU build: "
        f"pip config set global.extra-index-url {source.cpu_index}, then "
        f"prumo setup --remove {request.name} and set up again"
    )


def _labels(version: str, offered: Sequence[str]) -> list[str]:
    builds = [full.partition("+") for full in offered]
    return [label for public, _, label in builds if public == version]


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
