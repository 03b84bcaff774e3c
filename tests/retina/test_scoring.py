"""Scores from a worker: what it wrote, or why there are none.

Real networks are asked in the tests of the commands; here the worker is a script for the shell.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.errors import PrumoError
from prumo.progress import Silent
from prumo_retina.model import ModelDescription, ModelFolder
from prumo_retina.scoring import score
from support.heard_progress import Heard
from support.retina_networks import description
from support.shell_worker import shell_environment

if TYPE_CHECKING:
    from prumo.environments.store import Environment

PHOTOGRAPHS = [Path("a.jpg"), Path("b.jpg")]


def model(task: str) -> ModelFolder:
    described = ModelDescription.model_validate(description(task, b"never loaded"))
    return ModelFolder(Path("model"), described)


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files the worker writes as its answer."""
    folder = tmp_path / "answer"
    folder.mkdir()
    let_worker_do(
        f"""cp {folder}/*.npy .
        printf '{{"event": "step", "images": 2}}\\n{{"event": "finished"}}\\n' >> events.jsonl""",
        tmp_path,
        monkeypatch,
    )
    return folder


def let_worker_do(shell: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = shell_environment(folder, shell)

    def find(*_: object) -> Environment:
        return environment

    monkeypatch.setattr("prumo.run.worker.Environments.find", find)


def test_scores_and_heat_maps_are_what_the_worker_wrote(answer: Path) -> None:
    values, maps = np.array([[1.5], [-2.0]], np.float32), np.ones((2, 3, 3), np.float32)
    np.save(answer / "scores.npy", values)
    np.save(answer / "heat_maps.npy", maps)
    heard = Heard()
    scores = score(model("referral"), PHOTOGRAPHS, heat_maps=True, progress=heard)
    np.testing.assert_array_equal(scores.values, values)
    assert scores.heat_maps is not None
    np.testing.assert_array_equal(scores.heat_maps, maps)
    assert heard.shown == ["starting TensorFlow", "asking the model for heat maps"]


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_scores_that_are_not_numbers_are_refused(answer: Path, broken: float) -> None:
    np.save(answer / "scores.npy", np.array([[1.5], [broken]], np.float32))
    with pytest.raises(PrumoError, match="scores that are not numbers"):
        score(model("referral"), PHOTOGRAPHS, progress=Silent())


def test_scores_of_another_task_are_refused(answer: Path) -> None:
    np.save(answer / "scores.npy", np.zeros((2, 1), np.float32))
    with pytest.raises(PrumoError, match=r"gives 1 scores, .* a model for 'grade' has: 5"):
        score(model("grade"), PHOTOGRAPHS, progress=Silent())


def test_a_failure_tells_the_reason_and_keeps_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))
    let_worker_do("echo no such layer >&2; exit 3", tmp_path, monkeypatch)
    with pytest.raises(PrumoError, match=r"model gave no answer: .*no such layer") as failed:
        score(model("grade"), PHOTOGRAPHS, progress=Silent())
    log = Path(str(failed.value).rpartition("its log: ")[2])
    assert "no such layer" in log.read_text()


def test_no_photographs_need_no_network() -> None:
    heard = Heard()
    assert score(model("grade"), [], progress=heard).values.shape == (0, 5)
    assert heard.shown == []
