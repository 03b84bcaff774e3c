"""The frameworks that Prumo knows, one file each, and how a user's words find one."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from prumo.environment.framework import CPU, CUDA, Request
from prumo.environment.frameworks.pytorch import PYTORCH
from prumo.errors import InputError, UnavailableError, did_you_mean
from prumo.machine.gpu import read_gpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.environment.framework import Framework

FRAMEWORKS: Mapping[str, Framework] = MappingProxyType({PYTORCH.name: PYTORCH})

NOT_YET: Mapping[str, str] = MappingProxyType(
    {
        "caffe": "it has no pip package, and this version of Prumo makes no containers",
        "jax": "this version of Prumo has no worker for it",
        "mxnet": "this version of Prumo has no worker for it",
        "tensorflow": "this version of Prumo has no worker for it",
    }
)

_NO_VERSIONS: Mapping[str, str] = MappingProxyType({})
_VERSION = re.compile(
    r"(?P<release>\d+(\.\d+)*)(?P<suffix>((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?)"
    r"(\+(?P<label>[a-z0-9]+(\.[a-z0-9]+)*))?"
)


def find_framework(
    text: str,
    *,
    versions: Mapping[str, str] = _NO_VERSIONS,
    gpu: bool | None = None,
) -> Request:
    """Understand `pytorch`, `pytorch@2.13.0` or `pytorch@2.13.0+cpu`.

    Args:
        text: what the user wrote.
        versions: framework → version where `text` names none, as under a study's `versions`.
        gpu: whether to install for an NVIDIA GPU; by default, whether this machine has one.
    """
    name, _, version = text.strip().partition("@")
    if name in NOT_YET:
        raise UnavailableError(f"{name} cannot be set up: {NOT_YET[name]}")
    if name not in FRAMEWORKS:
        hint = did_you_mean(name, [*FRAMEWORKS, *NOT_YET])
        raise InputError(f"no framework is called '{name}': {hint}")
    framework = FRAMEWORKS[name]
    public, label = _parts(name, version or versions.get(name) or framework.default_version)
    if gpu is None:
        gpu = bool(read_gpus().devices)
    return Request(framework, public, variant=label or (CUDA if gpu else CPU), label=label)


def _parts(name: str, version: str) -> tuple[str, str]:
    """The public version in three numbers at least, as packages name theirs, and the label."""
    match = _VERSION.fullmatch(version)
    if not match:
        raise InputError(f"'{version}' is not a version of {name}; write it as {name}@2.13.0")
    numbers = match["release"].split(".")
    numbers += ["0"] * (3 - len(numbers))
    return ".".join(numbers) + match["suffix"], match["label"] or ""
