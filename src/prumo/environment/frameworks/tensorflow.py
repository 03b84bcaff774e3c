"""TensorFlow."""

from __future__ import annotations

from prumo.environment.framework import Framework
from prumo.environment.installers.virtual_environment import VirtualEnvironment

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
