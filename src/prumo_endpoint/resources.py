"""How much memory and processor time a server may use, and how that is enforced."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo.machine.cgroup import CappedCgroup, capped_cgroup, cpu_quota, quota_cores
from prumo.machine.machine import read_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

MB = 1 << 20
MB_PER_GB = 1024
CPUS_PER_GB = MB_PER_GB / 1769
"""AWS Lambda's published share: one vCPU at 1,769 MB. SageMaker publishes none."""


@dataclass(frozen=True)
class Resources:
    """Limits of all processes of a server together; None where there is no limit."""

    memory_mb: int | None = None
    cpus: float | None = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory in bytes."""
        return None if self.memory_mb is None else self.memory_mb * MB

    def docker_options(self) -> list[str]:
        """As `docker run` takes them; swap is no way out."""
        options = []
        if self.memory_mb is not None:
            options += ["--memory", f"{self.memory_mb}m", "--memory-swap", f"{self.memory_mb}m"]
        if self.cpus is not None:
            # What --cpus means, with the period that processes get.
            quota = cpu_quota(self.cpus)
            options += ["--cpu-period", str(quota.period_us), "--cpu-quota", str(quota.quota_us)]
        return options

    @contextmanager
    def cgroup(self, name: str) -> Iterator[CappedCgroup]:
        """A control group with these limits, for the time of a block.

        Raises:
            UnavailableError: No such group can be made here.
        """
        with capped_cgroup(name, self.memory_bytes, self.cpus) as group:
            if group.missing and self != UNLIMITED:
                raise UnavailableError(
                    f"memory and CPU of a command cannot be limited here: {group.missing}. Run as "
                    "root, or in a delegated group (systemd-run --user --scope -p Delegate=yes), "
                    "or give a container image: Docker limits those"
                )
            yield group

    def require_machine(self) -> None:
        """Refuse more than this machine has: the server would be slower than its limits say.

        Raises:
            UnavailableError: There are fewer processors, or there is less memory.
        """
        cores = quota_cores() or len(os.sched_getaffinity(0))
        if self.cpus is not None and self.cpus > cores:
            raise UnavailableError(
                f"{self.cpus:.3g} CPUs were asked for, and there are {cores:g} here; give less "
                "memory, or another share of CPUs"
            )
        usable_bytes = read_memory().usable_bytes
        if self.memory_bytes is not None and self.memory_bytes > usable_bytes:
            raise UnavailableError(
                f"{self.memory_mb} MB were asked for, and there are {usable_bytes // MB} MB here"
            )


UNLIMITED = Resources()


def proportional_cpus(memory_mb: int, cpus_per_gb: float | None = None) -> float:
    """The processors that come with so much memory.

    >>> proportional_cpus(1769)
    1.0
    """
    return memory_mb / MB_PER_GB * (CPUS_PER_GB if cpus_per_gb is None else cpus_per_gb)
