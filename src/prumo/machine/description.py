"""A machine in words: titled rows for a table or for plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prumo.machine.cpu import Cpu
    from prumo.machine.disk import Disk
    from prumo.machine.gpu import Gpus
    from prumo.machine.host import Host
    from prumo.machine.machine import Machine
    from prumo.machine.memory import Memory
    from prumo.machine.noise import Noise

UNKNOWN = "not told"


class Section(NamedTuple):
    """A title and its rows of label and value."""

    title: str
    rows: list[tuple[str, str]]


def describe(machine: Machine) -> list[Section]:
    """The machine's facts in reading order."""
    return [
        Section("Machine", _host(machine.host, machine.cpu)),
        Section("Processor", _cpu(machine.cpu)),
        Section("Memory", _memory(machine.memory)),
        Section("GPU", _gpus(machine.gpus)),
        Section("Disk", _disk(machine.disk)),
        Section("Noise", _noise(machine.noise)),
    ]


def gibibytes(count: int | None) -> str:
    """Bytes for people.

    >>> gibibytes(3 * 1024**3 // 2)
    '1.5 GiB'
    """
    return UNKNOWN if count is None else f"{count / 1024**3:,.1f} GiB"


def _host(host: Host, cpu: Cpu) -> list[tuple[str, str]]:
    virtual = {True: "yes", False: "no", None: UNKNOWN}[cpu.virtual]
    return [
        ("name", host.name),
        ("system", host.system),
        ("kernel", host.kernel),
        ("python", host.python),
        ("product", host.product or UNKNOWN),
        ("virtual machine", virtual),
        ("container", host.container or "none seen"),
    ]


def _cpu(cpu: Cpu) -> list[tuple[str, str]]:
    quota = "none" if cpu.quota_cores is None else f"{cpu.quota_cores:.2f} cores"
    return [
        ("model", cpu.model or UNKNOWN),
        ("architecture", cpu.architecture),
        ("vector extensions", " ".join(cpu.vector_extensions) or UNKNOWN),
        ("cores", f"{cpu.physical_cores or UNKNOWN} physical, {cpu.logical_cores} logical"),
        ("quota", quota),
        ("usable cores", str(cpu.usable_cores)),
    ]


def _memory(memory: Memory) -> list[tuple[str, str]]:
    limit = "none" if memory.limit_bytes is None else gibibytes(memory.limit_bytes)
    used, total = gibibytes(memory.swap_used_bytes), gibibytes(memory.swap_total_bytes)
    return [
        ("total", gibibytes(memory.total_bytes)),
        ("limit", limit),
        ("available", gibibytes(memory.available_bytes)),
        ("swap", f"{used} of {total} in use" if memory.swap_total_bytes else "none"),
    ]


def _gpus(gpus: Gpus) -> list[tuple[str, str]]:
    if not gpus.devices:
        return [("none", gpus.missing)]
    devices = [
        (f"GPU {gpu.index}", f"{gpu.name}, {gibibytes(gpu.memory_bytes)}") for gpu in gpus.devices
    ]
    return [("driver", gpus.driver_version or UNKNOWN), *devices]


def _disk(disk: Disk) -> list[tuple[str, str]]:
    return [
        ("path", disk.path),
        ("file system", f"{disk.filesystem or UNKNOWN} on {disk.mount or UNKNOWN}"),
        ("free", f"{gibibytes(disk.free_bytes)} of {gibibytes(disk.size_bytes)}"),
    ]


def _noise(noise: Noise) -> list[tuple[str, str]]:
    now, steadiness = noise.now, noise.steadiness
    rows = [
        ("load average", UNKNOWN if now.load_average is None else f"{now.load_average:.2f}"),
        ("stolen time", _percent(now.steal_percent)),
        ("processor pressure", _percent(now.pressure_cpu_percent)),
        ("memory pressure", _percent(now.pressure_memory_percent)),
        ("disk pressure", _percent(now.pressure_io_percent)),
        ("governor", now.governor or UNKNOWN),
    ]
    if steadiness is None:
        return [*rows, ("steadiness", "not measured")]
    return [
        *rows,
        ("same work repeated", f"{steadiness.repeats} times"),
        ("variation", _percent(steadiness.variation_percent)),
        ("slowest to fastest", f"{steadiness.slowest_to_fastest:.2f}"),
    ]


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f} %"
