from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.environment import Environment
from prumo.measure.proof import Question, prove
from prumo.results.proof import NoAnswer
from prumo.study.architecture import Architecture

if TYPE_CHECKING:
    from pathlib import Path


def test_a_worker_that_does_not_end_is_stopped_and_has_failed(tmp_path: Path) -> None:
    python = tmp_path / "environment/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o755)
    environment = Environment(
        name="hanging",
        path=tmp_path / "environment",
        framework="pytorch",
        version="",
        variant="",
        build="",
        python_version="",
        lock_hash="",
        created="",
        size_bytes=0,
        packages={},
    )
    question = Question("pytorch", Architecture("lenet5", 28, 1, 10))
    answer = prove(question, environment, tmp_path / "proofs", limit_seconds=0.5)
    assert answer == NoAnswer("pytorch", "took longer than 0.5 s", refused=False)
