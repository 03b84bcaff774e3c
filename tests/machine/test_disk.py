from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from prumo.machine.machine import read_disk

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_has_the_size_and_space_of_its_disk(tmp_path: Path) -> None:
    disk = read_disk(tmp_path)
    assert disk.size_bytes == shutil.disk_usage(tmp_path).total
    assert 0 < disk.free_bytes <= disk.size_bytes
    assert disk.filesystem


def test_a_folder_yet_to_be_made_lies_on_the_disk_of_its_parent(tmp_path: Path) -> None:
    assert read_disk(tmp_path / "results" / "demo").path == str(tmp_path)


@pytest.mark.root
def test_of_nested_mounts_the_innermost_counts(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], check=False
    )
    if mounted.returncode:
        pytest.skip("this user mounts no file systems")
    try:
        disk = read_disk(tmp_path)
        assert (disk.filesystem, disk.mount) == ("tmpfs", str(tmp_path))
        assert disk.size_bytes == 1024**2
    finally:
        subprocess.run(["umount", tmp_path], check=True)
