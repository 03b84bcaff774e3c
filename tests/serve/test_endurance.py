"""A minute of what the benchmark of endurance does in ten."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.serving import endurance
from benchmarks.serving.contestants import Contestant
from benchmarks.serving.photographs import drawn_photographs
from benchmarks.serving.running_server import RunningServer, free_port
from support.model_packages import ColourNetwork, write_colour_package

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_good_bad_large_and_aborted_requests_leave_no_memory_behind(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "package", network=ColourNetwork(size=224))
    port = free_port()
    command = (
        sys.executable,
        "-m",
        "prumo",
        "serve",
        str(tmp_path / "package"),
        "--port",
        str(port),
    )
    with RunningServer(Contestant("lean", command), port, drawn_photographs(10)) as server:
        early_bytes, late_bytes = endurance.memory_bytes(server, seconds=60)

    assert endurance.judged("lean", early_bytes, late_bytes) == 0
