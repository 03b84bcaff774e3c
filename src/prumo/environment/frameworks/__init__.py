"""The frameworks that Prumo knows, one file each, and how a user's words find one."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from prumo.environment.framework import CPU, CUDA, TPU, Request
from prumo.environment.frameworks.caffe import CAFFE
from prumo.environment.frameworks.jax import JAX
from prumo.environment.frameworks.mxnet import MXNET
from prumo.environment.frameworks.pytorch import PYTORCH
from prumo.environment.frameworks.tensorflow import TENSORFLOW
from prumo.errors import InputError, did_you_mean
from prumo.machine.gpu import read_gpus
from prumo.machine.tpu import has_tpu

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.environment.framework import Framework
    from prumo.environment.installers import Installer

FRAMEWORKS: Mapping[str, Framework] = MappingProxyType(
    {framework.name: framework for framework in (PYTORCH, TENSORFLOW, MXNET, JAX, CAFFE)}
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
    machine: str | None = None,
) -> Request:
    """Understand `pytorch`, `pytorch@2.13.0`, `pytorch@2.13.0+cpu` or `jax@0.10.2+tpu`.

    Args:
        text: what the user wrote.
        versions: framework → version where `text` names none, as under a study's `versions`.
        machine: what to install for: `cpu`, `cuda` or `tpu`; by default, what this machine has.
    """
    name, _, version = text.strip().partition("@")
    if name not in FRAMEWORKS:
        hint = did_you_mean(name, FRAMEWORKS)
        raise InputError(f"no framework is called '{name}': {hint}")
    framework = FRAMEWORKS[name]
    public, label = _parts(name, version or versions.get(name) or framework.default_version)
    if label in framework.installer.variants and not framework.installer.labelled:
        return Request(framework, public, variant=label)
    variant = label or _variant(framework.installer, machine or _this_machine())
    return Request(framework, public, variant=variant, label=label)


def _variant(installer: Installer, machine: str) -> str:
    """What suits a machine, out of what there is."""
    return machine if machine in installer.variants else CPU


def _this_machine() -> str:
    if read_gpus().devices:
        return CUDA
    return TPU if has_tpu() else CPU


def _parts(name: str, version: str) -> tuple[str, str]:
    """The public version in three numbers at least, as packages name theirs, and the label."""
    match = _VERSION.fullmatch(version)
    if not match:
        raise InputError(f"'{version}' is not a version of {name}; write it as {name}@2.13.0")
    numbers = match["release"].split(".")
    numbers += ["0"] * (3 - len(numbers))
    return ".".join(numbers) + match["suffix"], match["label"] or ""
