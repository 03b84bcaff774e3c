from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo.machine.cgroup import CappedCgroup, capped_cgroup, create_capped_cgroup, own_cgroup
from support.fakes_machine import UnifiedTree

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1024**2
HUNGRY = "import sys; sys.stdin.read(); held = b'x' * (256 << 20); print('survived')"


BUSY = """
import sys, time
sys.stdin.read()
begin, used = time.perf_counter(), time.process_time()
while time.perf_counter() < begin + 1:
    pass
print((time.process_time() - used) / (time.perf_counter() - begin))
"""


def put(pid: int, group: CappedCgroup) -> None:
    for file in group.join_files:
        Path(file).write_text(str(pid))


@pytest.fixture
def group() -> Iterator[CappedCgroup]:
    """A real group of 64 MiB on this machine."""
    made = create_capped_cgroup("test", 64 * MIB)
    if made.missing:
        pytest.skip(made.missing)
    yield made
    made.kill()
    assert made.remove()


@pytest.mark.root
def test_a_process_over_the_cap_is_ended_and_counted(group: CappedCgroup) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HUNGRY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    put(process.pid, group)
    output, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert output == b""
    assert group.oom_kills() == 1


@pytest.mark.root
def test_a_process_below_the_cap_is_left_alone(group: CappedCgroup) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "input(); held = b'x' * (8 << 20); print('survived')"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    put(process.pid, group)
    output, _ = process.communicate(b"\n")
    assert output == b"survived\n"
    assert group.oom_kills() == 0


@pytest.mark.root
def test_the_end_of_a_group_is_the_end_of_every_process_in_it(group: CappedCgroup) -> None:
    process = subprocess.Popen(
        ["sh", "-c", "read go; sleep 600 & sleep 600 & echo up; wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    put(process.pid, group)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    process.stdout.readline()
    assert len(group.processes()) == 3
    assert group.kill()
    assert group.processes() == []
    assert process.wait() == -signal.SIGKILL


@pytest.mark.root
def test_leaving_the_block_ends_what_is_in_the_group_and_removes_it() -> None:
    with capped_cgroup("block", 64 * MIB) as group:
        if group.missing:
            pytest.skip(group.missing)
        process = subprocess.Popen(["sleep", "600"])
        put(process.pid, group)
    assert process.wait() == -signal.SIGKILL
    assert not any(Path(file).exists() for file in group.join_files)


@pytest.mark.root
def test_a_busy_process_gets_its_share_of_the_processors() -> None:
    shares = {}
    # So small that it gets them also beside other busy processes.
    for cpus in (0.05, 0.2):
        with capped_cgroup("busy", None, cpus) as group:
            if group.missing:
                pytest.skip(group.missing)
            process = subprocess.Popen(
                [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            put(process.pid, group)
            output, _ = process.communicate()
            shares[cpus] = float(output)
    assert all(0 < share < 1.5 * cpus for cpus, share in shares.items())
    assert shares[0.05] < 0.75 * shares[0.2]


@pytest.mark.root
def test_memory_and_processors_are_limited_together_wherever_their_groups_are() -> None:
    with capped_cgroup("both", 64 * MIB, 0.5) as group:
        if group.missing:
            pytest.skip(group.missing)
        process = subprocess.Popen(["sleep", "600"])
        put(process.pid, group)
        inside = Path(f"/proc/{process.pid}")
        memory, cpu = own_cgroup("memory", inside), own_cgroup("cpu", inside)
        assert memory is not None
        assert cpu is not None
        limit = memory.memory_limit()
        assert limit is not None
        assert limit.limit_bytes == 64 * MIB
        assert cpu.quota_cores() == pytest.approx(0.5)
        assert group.processes() == [process.pid]
    assert process.wait() == -signal.SIGKILL
    assert not any(Path(file).exists() for file in group.join_files)


def test_without_a_cap_there_is_no_group() -> None:
    with capped_cgroup("block", None) as group:
        assert group.missing == "no memory cap was asked for"
        assert group.join_files == ()


@pytest.mark.root
def test_swap_is_inside_the_cap_where_the_kernel_counts_it(group: CappedCgroup) -> None:
    del group
    own = own_cgroup("memory")
    assert own is not None
    if own.version == 2:
        pytest.skip("version 2 forbids swap by another file")
    made = own.folder / f"prumo-test-{os.getpid()}"
    counted = made / "memory.memsw.limit_in_bytes"
    if not counted.exists():
        pytest.skip("this kernel does not count swap")
    assert int(counted.read_text()) == 64 * MIB


@pytest.mark.root
def test_an_empty_group_left_behind_is_replaced(group: CappedCgroup) -> None:
    again = create_capped_cgroup("test", 32 * MIB)
    assert again.missing == ""
    assert again.join_files == group.join_files


def test_a_group_of_version_2_is_capped_without_swap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    group = create_capped_cgroup("C01-r1", 64 * MIB, tree.process)
    folder = tree.own / f"prumo-C01-r1-{os.getpid()}"
    assert group.missing == ""
    assert (tree.own / "cgroup.subtree_control").read_text() == "+memory"
    assert (folder / "memory.max").read_text().startswith(str(64 * MIB))
    assert (folder / "memory.swap.max").read_text().startswith("0")


def test_one_group_of_version_2_limits_memory_and_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    group = create_capped_cgroup("C01-r1", 64 * MIB, tree.process, cpus=1.5)
    folder = tree.own / f"prumo-C01-r1-{os.getpid()}"
    assert group.missing == ""
    assert group.join_files == (str(folder / "cgroup.procs"),)
    assert (tree.own / "cgroup.subtree_control").read_text() == "+memory +cpu"
    assert (folder / "memory.max").read_text().startswith(str(64 * MIB))
    assert (folder / "cpu.max").read_text() == "30000 20000"


def test_a_group_that_cannot_have_all_limits_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("3:memory:/\n2:cpu:/\n")
    (tmp_path / "mountinfo").write_text(
        f"1 1 0:1 / {tmp_path}/memory rw - cgroup cgroup rw,memory\n"
        f"2 1 0:2 / {tmp_path}/cpu rw - cgroup cgroup rw,cpu\n"
    )
    (tmp_path / "memory").mkdir()
    group = create_capped_cgroup("C01-r1", 64 * MIB, tmp_path, cpus=0.5)
    assert (
        group.missing
        == f"cannot make a control group in {tmp_path}/memory: No such file or directory"
    )
    assert list((tmp_path / "memory").iterdir()) == []
    (tmp_path / "cgroup").write_text("3:memory:/\n")
    (tmp_path / "mountinfo").write_text("")
    group = create_capped_cgroup("C01-r1", None, tmp_path, cpus=0.5)
    assert group.missing == "this machine has no cpu control group"


def test_a_group_of_version_2_counts_kills_and_holds_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    group = create_capped_cgroup("C01-r1", 64 * MIB, tree.process)
    folder = tree.own / f"prumo-C01-r1-{os.getpid()}"
    put(4242, group)
    assert group.processes() == [4242]
    (folder / "memory.events").write_text("oom 3\noom_kill 2\n")
    assert group.oom_kills() == 2
    assert group.remove()
    assert not folder.exists()
    assert group.remove()


def test_a_process_of_another_namespace_is_never_signalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    group = create_capped_cgroup("C01-r1", 64 * MIB, tree.process)
    (tree.own / f"prumo-C01-r1-{os.getpid()}" / "cgroup.procs").write_text("0\n0\n")
    assert group.processes() == []
    assert group.kill()


def test_a_busy_group_of_version_2_gets_a_sibling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    tree.refusing.add(tree.own)
    group = create_capped_cgroup("C01-r1", 64 * MIB, tree.process)
    assert group.join_files == (f"{tree.own.parent}/prumo-C01-r1-{os.getpid()}/cgroup.procs",)


def test_a_sibling_that_would_escape_a_quota_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = UnifiedTree(tmp_path, monkeypatch)
    tree.refusing.add(tree.own)
    tree.limit(tree.own, cpu_max="100000 100000")
    group = create_capped_cgroup("C01-r1", 64 * MIB, tree.process)
    assert "resource busy" in group.missing


def test_a_folder_without_the_kernels_files_is_no_group_and_is_not_left_behind(
    tmp_path: Path,
) -> None:
    (tmp_path / "cgroup").write_text("3:memory:/\n")
    (tmp_path / "mountinfo").write_text(f"1 1 0:1 / {tmp_path}/m rw - cgroup cgroup rw,memory\n")
    (tmp_path / "m").mkdir()
    group = create_capped_cgroup("C01-r1", 64 * MIB, tmp_path)
    assert group.missing.startswith("cannot make a control group in")
    assert list((tmp_path / "m").iterdir()) == []


def test_without_control_groups_the_reason_is_told_and_everything_still_works(
    tmp_path: Path,
) -> None:
    group = create_capped_cgroup("C01-r1", 64 * MIB, tmp_path)
    assert group.missing == "this machine has no memory control group"
    assert group.join_files == ()
    assert group.oom_kills() == 0
    assert group.processes() == []
    assert group.kill()
    assert group.remove()
