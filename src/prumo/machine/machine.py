"""The machine as a whole: every fact that a measurement should be read with."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from prumo.machine.cpu import Cpu, read_cpu
from prumo.machine.disk import Disk, read_disk
from prumo.machine.gpu import Gpus, read_gpus
from prumo.machine.host import Host, read_host
from prumo.machine.memory import Memory, read_memory
from prumo.machine.noise import Noise, measure_noise, noise_now


@dataclass(frozen=True)
class Machine:
    """Hardware, limits, surroundings and noise of one machine at one moment."""

    host: Host
    cpu: Cpu
    memory: Memory
    gpus: Gpus
    disk: Disk
    noise: Noise

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers, ready for JSON."""
        return asdict(self)


def machine_facts(path: Path | None = None) -> Machine:
    """Look at the machine without disturbing it: no loop, some milliseconds."""
    return Machine(
        host=read_host(),
        cpu=read_cpu(),
        memory=read_memory(),
        gpus=read_gpus(),
        disk=read_disk(path or Path.cwd()),
        noise=Noise(noise_now(), steadiness=None),
    )


def inspect_machine(path: Path | None = None) -> Machine:
    """Look at the machine and repeat a fixed piece of work to see how steady it is."""
    return replace(machine_facts(path), noise=measure_noise())
