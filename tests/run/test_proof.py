from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.results.equality import NoAnswer
from prumo.run.equality import Question, prove
from prumo.study.network import Architecture
from support.shell_worker import shell_environment

if TYPE_CHECKING:
    from pathlib import Path


def test_a_worker_that_does_not_end_is_stopped_and_has_failed(tmp_path: Path) -> None:
    environment = shell_environment(tmp_path, "exec sleep 600")
    question = Question("pytorch", Architecture("lenet5", 28, 1, 10))
    answer = prove(question, environment, tmp_path / "proofs", limit_seconds=0.5)
    assert answer == NoAnswer("pytorch", "took longer than 0.5 s", refused=False)
