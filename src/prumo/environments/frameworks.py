"""The frameworks that Prumo knows, and how a user's words find one."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from prumo.environments.debian_root import DebianRoot
from prumo.environments.framework import CPU, CUDA, TPU, Framework, Request
from prumo.environments.pip import VirtualEnvironment
from prumo.errors import InputError, did_you_mean
from prumo.machine.accelerators import has_tpu, read_gpus

if TYPE_CHECKING:
    from collections.abc import Mapping


CAFFE = Framework(
    name="caffe",
    module="caffe",
    default_version="1.0.0",
    installer=DebianRoot(
        suite="bullseye",
        packages=("caffe", "python3-caffe"),
        version="1.0.0",
        interpreter="python3.9",
        programs=("caffe",),
        library_folders=("openblas-pthread",),
    ),
)


JAX = Framework(
    name="jax",
    module="jax",
    default_version="0.10.2",
    cuda_plugin="jax_cuda13_plugin",
    installer=VirtualEnvironment(
        package="jax",
        requirements=("numpy",),
        cuda_package="jax[cuda13]",
        tpu_package="jax[tpu]",
    ),
)


MXNET = Framework(
    name="mxnet",
    module="mxnet",
    default_version="1.9.1",
    installer=VirtualEnvironment(
        package="mxnet", requirements=("numpy",), cuda_package="mxnet-cu112"
    ),
)


PYTORCH = Framework(
    name="pytorch",
    module="torch",
    default_version="2.13.0",
    # Imported beside a numpy that it was not built for, it only warns.
    trial="torch.ones(1).numpy()",
    installer=VirtualEnvironment(
        package="torch",
        requirements=("numpy",),
        cpu_index="https://download.pytorch.org/whl/cpu",
        labelled=True,
    ),
)


TENSORFLOW = Framework(
    name="tensorflow",
    module="tensorflow",
    default_version="2.21.0",
    installer=VirtualEnvironment(
        package="tensorflow",
        requirements=("numpy",),
        cpu_package="tensorflow-cpu",
        cuda_package="tensorflow[and-cuda]",
        tpu_package="tensorflow-tpu",
    ),
)


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

    `versions` count where the text names none. The machine to install for is `cpu`, `cuda` or
    `tpu`; by default, what this one has.
    """
    name, _, version = text.strip().partition("@")
    if name not in FRAMEWORKS:
        hint = did_you_mean(name, FRAMEWORKS)
        raise InputError(f"no framework is called '{name}': {hint}")
    framework = FRAMEWORKS[name]
    public, label = _parts(name, version or versions.get(name) or framework.default_version)
    if label in framework.installer.variants and not framework.installer.labelled:
        return Request(framework, public, variant=label)
    if machine is None:
        machine = CUDA if read_gpus().devices else TPU if has_tpu() else CPU
    suitable = machine if machine in framework.installer.variants else CPU
    return Request(framework, public, variant=label or suitable, label=label)


def _parts(name: str, version: str) -> tuple[str, str]:
    """The public version in three numbers at least, as packages name theirs, and the label."""
    match = _VERSION.fullmatch(version)
    if not match:
        raise InputError(f"'{version}' is not a version of {name}; write it as {name}@2.13.0")
    numbers = match["release"].split(".")
    numbers += ["0"] * (3 - len(numbers))
    return ".".join(numbers) + match["suffix"], match["label"] or ""
