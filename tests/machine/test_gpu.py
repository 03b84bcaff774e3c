from __future__ import annotations

from prumo.machine.accelerators import Gpu, read_gpus
from support.fakes_machine import FakeGpu, fake_nvml

GIB = 1024**3


def test_each_gpu_is_listed_with_its_driver() -> None:
    gpus = read_gpus(fake_nvml(FakeGpu(), FakeGpu("NVIDIA H100", total_bytes=80 * GIB)))
    assert gpus.driver_version == "570.86.15"
    assert gpus.devices == (Gpu(0, "NVIDIA T4", 16 * GIB), Gpu(1, "NVIDIA H100", 80 * GIB))
    assert gpus.missing == ""


def test_without_a_driver_the_list_is_empty_and_says_why() -> None:
    gpus = read_gpus(fake_nvml(driver=False))
    assert gpus.devices == ()
    assert gpus.missing == "NVML Shared Library Not Found"


def test_a_driver_without_a_gpu_says_so() -> None:
    gpus = read_gpus(fake_nvml())
    assert gpus.devices == ()
    assert "lists no GPU" in gpus.missing


def test_a_lost_gpu_does_not_hide_the_others() -> None:
    gpus = read_gpus(fake_nvml(FakeGpu(answers=False), FakeGpu()))
    assert [gpu.index for gpu in gpus.devices] == [1]


def test_the_real_library_answers_or_says_why_not() -> None:
    gpus = read_gpus()
    assert bool(gpus.devices) != bool(gpus.missing)
