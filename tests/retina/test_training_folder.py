"""The folder of a model while it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.errors import BusyError, InputError
from prumo_retina.training_folder import CHECKPOINTS, FACTS_FILE, TrainingFolder

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = {"network": "mobilenet", "epochs": 4}


def _stopped(path: Path) -> TrainingFolder:
    """A training that was stopped after its first checkpoint."""
    folder = TrainingFolder(path)
    with folder.held(SETTINGS, restart=False):
        (path / CHECKPOINTS / "train.npz").write_bytes(b"weights")
    return folder


def test_the_same_settings_go_on_with_what_was_kept(tmp_path: Path) -> None:
    folder = _stopped(tmp_path / "model")
    assert folder.is_begun
    with folder.held(SETTINGS, restart=False):
        assert (tmp_path / "model" / CHECKPOINTS / "train.npz").read_bytes() == b"weights"


def test_what_a_stopped_call_has_left_is_told(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "model")
    assert folder.earlier_call == ""
    with folder.held(SETTINGS, restart=False):
        pass
    assert "before its first checkpoint: beginning anew" in folder.earlier_call
    _stopped(tmp_path / "model")
    assert folder.earlier_call == "", "the worker tells the epoch"
    (tmp_path / "model" / FACTS_FILE).touch()
    assert "is trained already" in folder.earlier_call


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    folder = _stopped(tmp_path / "model")
    other = {**SETTINGS, "epochs": 5}
    message = "began with epochs 4 and not 5: give the same settings"
    with pytest.raises(InputError, match=message), folder.held(other, restart=False):
        pass


def test_settings_that_left_nothing_to_go_on_from_can_be_changed(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "model")
    with folder.held(SETTINGS, restart=False):
        assert not folder.has_progress
    other = {**SETTINGS, "epochs": 5}
    with folder.held(other, restart=False):
        (tmp_path / "model" / CHECKPOINTS / "train.npz").write_bytes(b"weights")
    with folder.held(other, restart=False):
        assert folder.has_progress
    with (
        pytest.raises(InputError, match="epochs 5 and not 4"),
        folder.held(SETTINGS, restart=False),
    ):
        pass


def test_a_restart_forgets_what_was_kept(tmp_path: Path) -> None:
    folder = _stopped(tmp_path / "model")
    with folder.held({**SETTINGS, "epochs": 5}, restart=True):
        assert not (tmp_path / "model" / CHECKPOINTS / "train.npz").exists()
        assert not folder.is_trained


def test_a_finished_training_leaves_no_checkpoints(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "model")
    with folder.held(SETTINGS, restart=False):
        (tmp_path / "model/model.json").write_text("{}")
        folder.finish()
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["model.json"]


def test_a_finished_model_needs_a_restart(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path)
    (tmp_path / "model.json").write_text("{}")
    with (
        pytest.raises(InputError, match="holds a finished model"),
        folder.held(SETTINGS, restart=False),
    ):
        pass
    with folder.held(SETTINGS, restart=True):
        assert not (tmp_path / "model.json").exists()


def test_a_network_without_a_description_counts_as_trained(tmp_path: Path) -> None:
    folder = _stopped(tmp_path)
    assert not folder.is_trained
    (tmp_path / "training.json").write_text("{}")
    assert folder.is_trained


@pytest.mark.parametrize("restart", [False, True])
def test_a_folder_of_other_things_is_left_alone(tmp_path: Path, restart: bool) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with (
        pytest.raises(InputError, match="holds other files"),
        TrainingFolder(tmp_path).held(SETTINGS, restart=restart),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("")
    with (
        pytest.raises(InputError, match="is a file"),
        TrainingFolder(path).held(SETTINGS, restart=False),
    ):
        pass


def test_two_trainings_cannot_have_one_folder(tmp_path: Path) -> None:
    first, second = TrainingFolder(tmp_path), TrainingFolder(tmp_path)
    with (
        first.held(SETTINGS, restart=False),
        pytest.raises(BusyError, match="another process"),
        second.held(SETTINGS, restart=False),
    ):
        pass
