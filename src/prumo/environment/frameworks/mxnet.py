"""Apache MXNet, which is no longer developed: 1.9.1 is its last version."""

from __future__ import annotations

from prumo.environment.framework import Framework
from prumo.environment.installers.virtual_environment import VirtualEnvironment

MXNET = Framework(
    name="mxnet",
    module="mxnet",
    default_version="1.9.1",
    installer=VirtualEnvironment(
        package="mxnet", requirements=("numpy",), cuda_package="mxnet-cu112"
    ),
)
