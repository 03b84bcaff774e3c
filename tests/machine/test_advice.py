from __future__ import annotations

from dataclasses import replace

import pytest

from prumo.machine.accelerators import Gpus
from prumo.machine.cpu import Cpu
from prumo.machine.machine import Disk, Host, Machine, Memory, Noise, NoiseNow, Steadiness
from prumo.report.machine import advise
from prumo.report.warnings import MachineWarning

GIB = 1024**3
QUIET_NOW = NoiseNow(
    load_average=0.1,
    steal_percent=0.0,
    pressure_cpu_percent=0.0,
    pressure_memory_percent=0.0,
    pressure_io_percent=0.0,
    swap_used_bytes=0,
    governor="performance",
)
STEADY = Steadiness(50, 0.01, 1.0, 1.05)
QUIET = Machine(
    host=Host("box", "Linux", "6.1", "3.12", None, None, 1e-7),
    cpu=Cpu("Fast", "x86_64", ("avx2",), 4, 8, 8, None, 8, virtual=False),
    memory=Memory(16 * GIB, None, 16 * GIB, 12 * GIB, 0, 0),
    gpus=Gpus((), None, "no driver"),
    disk=Disk("/data", "ext4", "/", 500 * GIB, 100 * GIB),
    noise=Noise(QUIET_NOW, STEADY),
)


def test_a_quiet_machine_is_all_clear() -> None:
    assert advise(QUIET) == {}


def test_a_system_that_tells_nothing_gives_no_false_alarm() -> None:
    silent = NoiseNow(None, None, None, None, None, 0, None)
    assert advise(replace(QUIET, noise=Noise(silent, None))) == {}


@pytest.mark.parametrize(
    ("warning", "now"),
    [
        (MachineWarning.BUSY, replace(QUIET_NOW, load_average=5.0)),
        (MachineWarning.STEAL, replace(QUIET_NOW, steal_percent=4.0)),
        (MachineWarning.CPU_PRESSURE, replace(QUIET_NOW, pressure_cpu_percent=30.0)),
        (MachineWarning.MEMORY_PRESSURE, replace(QUIET_NOW, pressure_memory_percent=30.0)),
        (MachineWarning.IO_PRESSURE, replace(QUIET_NOW, pressure_io_percent=30.0)),
        (MachineWarning.SWAP, replace(QUIET_NOW, swap_used_bytes=GIB)),
        (MachineWarning.GOVERNOR, replace(QUIET_NOW, governor="powersave")),
    ],
)
def test_each_kind_of_noise_has_its_own_warning(warning: MachineWarning, now: NoiseNow) -> None:
    machine = replace(QUIET, noise=Noise(now, STEADY))
    assert [*advise(machine)] == [warning]


@pytest.mark.parametrize(
    ("warning", "steadiness"),
    [
        (MachineWarning.UNSTEADY, replace(STEADY, variation_percent=12.0)),
        (MachineWarning.HICCUPS, replace(STEADY, slowest_to_fastest=2.0)),
    ],
)
def test_unsteady_work_is_told(warning: MachineWarning, steadiness: Steadiness) -> None:
    machine = replace(QUIET, noise=Noise(QUIET_NOW, steadiness))
    assert [*advise(machine)] == [warning]


def test_a_broken_quota_is_told_and_a_whole_one_is_not() -> None:
    broken = replace(QUIET, cpu=replace(QUIET.cpu, quota_cores=2.5, usable_cores=2))
    whole = replace(QUIET, cpu=replace(QUIET.cpu, quota_cores=2.0, usable_cores=2))
    assert [*advise(broken)] == [MachineWarning.QUOTA]
    assert advise(whole) == {}


def test_little_room_is_told_with_its_numbers() -> None:
    full = replace(
        QUIET,
        memory=replace(QUIET.memory, available_bytes=2 * GIB),
        disk=replace(QUIET.disk, free_bytes=GIB),
    )
    assert [str(seen) for seen in advise(full).values()] == [
        "2.0 of 16.0 GiB free",
        "1.0 GiB free on /data",
    ]
