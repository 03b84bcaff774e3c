"""PyTorch."""

from __future__ import annotations

from prumo.environment.framework import Framework

PYTORCH = Framework(
    name="pytorch",
    package="torch",
    module="torch",
    default_version="2.13.0",
    requirements=("numpy",),
    cpu_index="https://download.pytorch.org/whl/cpu",
)
