from __future__ import annotations

import json
from typing import TYPE_CHECKING

from prumo.results.run_files import OperationShare, Profile, read_profile

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"operation": "aten::addmm", "calls": 4, "seconds": 0.25, "share": 1.0}


def write(folder: Path, *events: dict[str, object]) -> None:
    lines = [json.dumps({"time": 1.0, **event}) for event in events]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")


def test_the_profile_of_a_run_is_read_from_its_journal(tmp_path: Path) -> None:
    write(tmp_path, {"event": "started"}, {"event": "profile", "rows": [ROW], "steps": 2})
    assert read_profile(tmp_path) == Profile(2, (OperationShare("aten::addmm", 4, 0.25, 1.0),))


def test_a_profile_without_spaces_is_read_too(tmp_path: Path) -> None:
    line = json.dumps({"event": "profile", "rows": [ROW], "steps": 2}, separators=(",", ":"))
    (tmp_path / "events.jsonl").write_text(line + "\n")
    assert read_profile(tmp_path) is not None


def test_a_profiler_that_is_not_there_leaves_its_reason(tmp_path: Path) -> None:
    write(tmp_path, {"event": "profile", "rows": [], "reason": "no profiler for tpu"})
    assert read_profile(tmp_path) == Profile(0, (), "no profiler for tpu")


def test_without_a_profile_there_is_none(tmp_path: Path) -> None:
    assert read_profile(tmp_path) is None
    write(tmp_path, {"event": "started"})
    assert read_profile(tmp_path) is None
    (tmp_path / "events.jsonl").write_text('{"event": "profile", "rows": [{"calls": 1}]}\n')
    assert read_profile(tmp_path) is None
