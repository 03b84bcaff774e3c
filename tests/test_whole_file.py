"""Files that are whole or absent."""

from __future__ import annotations

import json
import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from prumo.files import write_json, write_whole

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_nothing_beside_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        write_whole(tmp_path / "absent" / "file", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(path.read_text()))
    reader.start()
    write_whole(path, "text")
    reader.join()
    assert heard == ["text"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_json_keeps_letters_and_escapes_only_what_is_no_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "names.json"
    write_json(path, ["olho.ação"])
    assert "ação" in path.read_text("utf-8")
    write_json(path, ["olho\udcff"])
    assert json.loads(path.read_text("utf-8")) == ["olho\udcff"]
