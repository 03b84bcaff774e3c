"""Stand-ins for what this machine lacks: NVIDIA GPUs and control groups of version 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class NVMLError(Exception):
    """As in pynvml."""


class NVMLNotSupported(NVMLError):  # noqa: N818 (stands for pynvml's NVMLError_NotSupported)
    """As in pynvml."""


@dataclass
class FakeGpu:
    name: str = "NVIDIA T4"
    total_bytes: int = 16 * 1024**3
    used_bytes: int = 4 * 1024**3
    busy_percent: int = 50
    power_milliwatts: int | None = 70_000
    answers: bool = True

    def ask(self) -> FakeGpu:
        if not self.answers:
            raise NVMLError("GPU is lost")
        return self

    def power(self) -> int:
        if self.power_milliwatts is None:
            raise NVMLNotSupported("Not Supported")
        return self.power_milliwatts


def fake_nvml(*gpus: FakeGpu, driver: bool = True) -> ModuleType:
    """A module with the functions of pynvml that Prumo calls."""

    def init() -> None:
        if not driver:
            raise NVMLError("NVML Shared Library Not Found")

    functions = {
        "NVMLError": NVMLError,
        "NVMLError_NotSupported": NVMLNotSupported,
        "nvmlInit": init,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "570.86.15",
        "nvmlDeviceGetCount": lambda: len(gpus),
        "nvmlDeviceGetHandleByIndex": lambda index: gpus[index],
        "nvmlDeviceGetName": lambda gpu: gpu.ask().name,
        "nvmlDeviceGetMemoryInfo": lambda gpu: SimpleNamespace(
            total=gpu.ask().total_bytes, used=gpu.used_bytes
        ),
        "nvmlDeviceGetUtilizationRates": lambda gpu: SimpleNamespace(
            gpu=gpu.ask().busy_percent, memory=3
        ),
        "nvmlDeviceGetPowerUsage": lambda gpu: gpu.ask().power(),
    }
    module = ModuleType("pynvml")
    vars(module).update(functions)
    return module


class UnifiedTree:
    """A folder that behaves like a mount of control groups version 2.

    The kernel fills a new group's folder with files and removes them with it; a plain file system
    does neither, so making and removing folders is done the kernel's way here.
    """

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, group: str = "/app/own"
    ) -> None:
        self.mount = folder / "cgroup"
        self.process = folder / "process"
        self.refusing: set[Path] = set()
        """Groups that hold processes, where the kernel will not limit groups inside."""
        self.process.mkdir()
        (self.process / "cgroup").write_text(f"0::{group}\n")
        (self.process / "mountinfo").write_text(
            f"41 31 0:38 / {self.mount} rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
        )
        self._plain_mkdir, self._plain_rmdir = Path.mkdir, Path.rmdir
        monkeypatch.setattr(Path, "mkdir", lambda path, *_, **__: self._make(path))
        monkeypatch.setattr(Path, "rmdir", lambda path, *_: self._remove(path))
        self.own = self.mount / group.removeprefix("/")
        for path in reversed([self.own, *self.own.parents]):
            if path.is_relative_to(self.mount):
                self._make(path)

    def limit(self, path: Path, **values: str) -> None:
        for name, value in values.items():
            (path / name.replace("_", ".", 1)).write_text(value)

    def _make(self, path: Path) -> None:
        if path.parent in self.refusing:
            raise OSError(16, "Device or resource busy")
        self._plain_mkdir(path)
        contents = {
            "cgroup.procs": "",
            "cgroup.subtree_control": "",
            "memory.max": "max",
            "memory.current": "0",
            "memory.swap.max": "max",
            "memory.stat": "anon 0\ninactive_file 0\n",
            "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
            "cpu.max": "max 100000",
        }
        for name, text in contents.items():
            (path / name).write_text(text)

    def _remove(self, path: Path) -> None:
        if not path.exists():
            raise FileNotFoundError(path)
        for file in path.iterdir():
            file.unlink()
        self._plain_rmdir(path)
