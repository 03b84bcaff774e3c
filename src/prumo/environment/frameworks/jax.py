"""JAX."""

from __future__ import annotations

from prumo.environment.framework import Framework
from prumo.environment.installers.virtual_environment import VirtualEnvironment

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
