from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.run.measurement import read_column

if TYPE_CHECKING:
    from pathlib import Path


def test_a_column_of_samples_is_read_without_its_gaps(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("time,swap_bytes\n1.0,1024\n2.0,\n3.0,2048\n4.0,4e\n5.0")
    assert read_column(file, "swap_bytes") == [1024.0, 2048.0]


def test_absent_samples_and_absent_columns_are_empty(tmp_path: Path) -> None:
    assert read_column(tmp_path / "samples.csv", "swap_bytes") == []
    (tmp_path / "samples.csv").write_text("time\n1.0\n")
    assert read_column(tmp_path / "samples.csv", "swap_bytes") == []
