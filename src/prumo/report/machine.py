"""A machine for readers: its facts, and the warnings that it calls for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.report.warnings import MachineWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.machine.accelerators import Gpus
    from prumo.machine.cpu import Cpu
    from prumo.machine.machine import Disk, Host, Machine, Memory, Noise
    from prumo.message import Message


UNKNOWN = "unknown"


def describe(machine: Machine) -> dict[str, list[tuple[str, str]]]:
    """The machine's facts in reading order: under each title, rows of label and value."""
    return {
        "Machine": _host(machine.host, machine.cpu),
        "Processor": _cpu(machine.cpu),
        "Memory": _memory(machine.memory),
        "GPU": _gpus(machine.gpus),
        "Disk": _disk(machine.disk),
        "Noise": _noise(machine.noise),
    }


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


BUSY_SHARE = 0.2
"""Load per usable core: more, and a run that uses every core has to share them."""
STEAL_PERCENT = 1.0
PRESSURE_PERCENT = 5.0
VARIATION_PERCENT = 5.0
"""Above it, a difference of ten percent between two single runs says little."""
SLOWEST_TO_FASTEST = 1.5
FREE_MEMORY_SHARE = 0.25
FREE_DISK_BYTES = 2 * 1024**3


def advise(machine: Machine) -> dict[MachineWarning, Message]:
    """Every warning that holds for the machine, with what was seen; none is the all-clear."""
    seen = [*_noise_seen(machine.noise, machine.cpu.usable_cores), *_limits_seen(machine)]
    return {warning: warning.message(**values) for warning, values in seen}


def _noise_seen(noise: Noise, cores: int) -> Iterator[tuple[MachineWarning, dict[str, object]]]:
    now, steadiness = noise.now, noise.steadiness
    if now.load_average is not None and now.load_average > BUSY_SHARE * cores:
        yield MachineWarning.BUSY, {"load": now.load_average, "cores": cores}
    for warning, percent, limit in (
        (MachineWarning.STEAL, now.steal_percent, STEAL_PERCENT),
        (MachineWarning.CPU_PRESSURE, now.pressure_cpu_percent, PRESSURE_PERCENT),
        (MachineWarning.MEMORY_PRESSURE, now.pressure_memory_percent, PRESSURE_PERCENT),
        (MachineWarning.IO_PRESSURE, now.pressure_io_percent, PRESSURE_PERCENT),
    ):
        if percent is not None and percent > limit:
            yield warning, {"percent": percent}
    if now.swap_used_bytes > 0:
        yield MachineWarning.SWAP, {"used": now.swap_used_bytes / 1024**2}
    if now.governor is not None and now.governor != "performance":
        yield MachineWarning.GOVERNOR, {"governor": now.governor}
    if steadiness is not None and steadiness.variation_percent > VARIATION_PERCENT:
        yield MachineWarning.UNSTEADY, {"percent": steadiness.variation_percent}
    if steadiness is not None and steadiness.slowest_to_fastest > SLOWEST_TO_FASTEST:
        yield MachineWarning.HICCUPS, {"ratio": steadiness.slowest_to_fastest}


def _limits_seen(machine: Machine) -> Iterator[tuple[MachineWarning, dict[str, object]]]:
    quota, memory, disk = machine.cpu.quota_cores, machine.memory, machine.disk
    if quota is not None and quota < machine.cpu.affinity_cores and not quota.is_integer():
        yield MachineWarning.QUOTA, {"quota": quota}
    if memory.available_bytes < FREE_MEMORY_SHARE * memory.usable_bytes:
        free, usable = memory.available_bytes / 1024**3, memory.usable_bytes / 1024**3
        yield MachineWarning.LITTLE_MEMORY, {"free": free, "usable": usable}
    if disk.free_bytes < FREE_DISK_BYTES:
        yield MachineWarning.LITTLE_DISK, {"free": disk.free_bytes / 1024**3, "path": disk.path}
