from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.machine.cgroup import memory_limit, own_cgroup, quota_cores
from support.fakes_machine import UnifiedTree

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GIB = 1024**3


def first_version_process(
    folder: Path, *, root: str = "/", group: str = "/docker/abc"
) -> tuple[Path, Path]:
    """A process under version 1, and the mount of its memory and cpu groups."""
    mount = folder / "mount"
    process = folder / "process"
    (mount / "docker" / "abc").mkdir(parents=True)
    process.mkdir()
    (process / "cgroup").write_text(f"4:memory,cpu:{group}\n1:name=systemd:/\n0::/\n")
    (process / "mountinfo").write_text(
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        f"35 31 0:32 {root} {mount} rw,relatime shared:9 - cgroup cgroup rw,memory,cpu\n"
    )
    return process, mount


def test_the_own_group_is_found_below_the_mount(tmp_path: Path) -> None:
    process, mount = first_version_process(tmp_path)
    own = own_cgroup("memory", process)
    assert own is not None
    assert own.folder == mount / "docker" / "abc"
    assert own.version == 1


def test_a_group_that_is_itself_the_mount_is_found_in_a_container(tmp_path: Path) -> None:
    process, mount = first_version_process(tmp_path, root="/docker/abc")
    own = own_cgroup("memory", process)
    assert own is not None
    assert own.folder == mount


def test_a_group_that_cannot_be_seen_falls_back_to_the_mount(tmp_path: Path) -> None:
    process, mount = first_version_process(tmp_path, group="/elsewhere/xyz")
    own = own_cgroup("memory", process)
    assert own is not None
    assert own.folder == mount


def test_a_system_without_control_groups_has_no_place_and_no_limits(tmp_path: Path) -> None:
    assert own_cgroup("memory", tmp_path) is None
    assert quota_cores(tmp_path) is None
    assert memory_limit(tmp_path) is None


def test_the_tightest_limit_on_the_way_up_counts_in_version_1(tmp_path: Path) -> None:
    process, mount = first_version_process(tmp_path)
    own = mount / "docker" / "abc"
    (own / "memory.limit_in_bytes").write_text(f"{8 * GIB}\n")
    (own / "memory.usage_in_bytes").write_text(f"{3 * GIB}\n")
    (own / "memory.stat").write_text(f"cache 5\ntotal_inactive_file {GIB}\n")
    (mount / "docker" / "memory.limit_in_bytes").write_text(f"{4 * GIB}\n")
    (mount / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    limit = memory_limit(process)
    assert limit is not None
    assert limit.limit_bytes == 4 * GIB
    assert limit.free_bytes == 4 * GIB


def test_file_cache_counts_as_free_under_a_limit(tmp_path: Path) -> None:
    process, mount = first_version_process(tmp_path)
    own = mount / "docker" / "abc"
    (own / "memory.limit_in_bytes").write_text(f"{8 * GIB}\n")
    (own / "memory.usage_in_bytes").write_text(f"{3 * GIB}\n")
    (own / "memory.stat").write_text(f"total_inactive_file {GIB}\n")
    limit = memory_limit(process)
    assert limit is not None
    assert limit.free_bytes == 6 * GIB


def test_a_quota_of_version_1_is_read_in_cores(tmp_path: Path) -> None:
    process, mount = first_version_process(tmp_path)
    own = mount / "docker" / "abc"
    (own / "cpu.cfs_quota_us").write_text("150000\n")
    (own / "cpu.cfs_period_us").write_text("100000\n")
    (mount / "cpu.cfs_quota_us").write_text("-1\n")
    (mount / "cpu.cfs_period_us").write_text("100000\n")
    assert quota_cores(process) == 1.5


def test_limits_of_version_2_are_read_up_to_the_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    tree.limit(tree.own, cpu_max="300000 100000")
    tree.limit(tree.own.parent, cpu_max="250000 100000", memory_max=str(2 * GIB))
    limit = memory_limit(tree.process)
    assert limit is not None
    assert limit.limit_bytes == 2 * GIB
    assert quota_cores(tree.process) == 2.5


def test_no_limit_in_version_2_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    assert memory_limit(tree.process) is None
    assert quota_cores(tree.process) is None
