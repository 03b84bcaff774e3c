"""PyTorch."""

from __future__ import annotations

from prumo.environment.framework import Framework
from prumo.environment.installers.virtual_environment import VirtualEnvironment

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
