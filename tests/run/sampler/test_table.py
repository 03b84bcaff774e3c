from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from prumo.run.sampler import Table

if TYPE_CHECKING:
    from pathlib import Path

NAN = float("nan")


def test_every_row_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    table = Table(str(path), ["time", "tree_rss_bytes"])
    assert path.read_text() == "time,tree_rss_bytes\n"
    table.write([1763200000.12345, 12345678901.0])
    assert path.read_text().splitlines()[1] == "1763200000.123,12345678901"
    table.close()


def test_an_unknown_figure_is_an_empty_cell(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    table = Table(str(path), ["time", "cpu_percent", "swap_bytes"])
    table.write([1.0, NAN, NAN])
    assert path.read_text().splitlines()[1] == "1.000,,"


def test_a_device_that_is_always_full_loses_every_row() -> None:
    table = Table("/dev/full", ["time"])
    table.write([1.0])
    table.write([2.0])
    assert table.lost == 2


@pytest.mark.root
def test_a_full_disk_keeps_whole_rows_and_counts_the_lost(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("this user mounts no file systems")
    try:
        table = Table(str(tmp_path / "samples.csv"), ["time", "seconds"])
        for number in range(1000):
            table.write([1763200000.0 + number, float(number)])
        table.close()
        text = (tmp_path / "samples.csv").read_text()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    rows = text.splitlines()[1:]
    assert text.endswith("\n")
    assert all(row.count(",") == 1 for row in rows)
    assert table.lost == 1000 - len(rows) > 0
