"""A model folder: whole, or refused with what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prumo.errors import InputError, StorageError
from prumo_retina.grade import Threshold, chosen_threshold
from prumo_retina.model import ModelDescription, ModelFolder, open_model, write_description
from support.retina_networks import description

NETWORK = b"the weights of a network"


def model_folder(path: Path, **changes: Any) -> Path:
    path.mkdir()
    (path / "model.keras").write_bytes(NETWORK)
    (path / "model.json").write_text(json.dumps(description("grade", NETWORK, **changes)))
    return path


def described(**changes: Any) -> ModelDescription:
    return ModelDescription.model_validate(description("grade", NETWORK, **changes))


def test_a_written_description_is_read_back_as_it_was(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    written = described(temperature=1.7, data={"train": [3, 1, 4, 1, 5]})
    write_description(folder, written)
    opened = open_model(folder)
    assert opened.description == written


@pytest.mark.parametrize(
    "change",
    [
        {"network_sha256": "0" * 64},
        {"task": "referral"},
        {"preparation": {"size": 32}},
        {"normalization": {"offset": [1, 0, 0], "scale": [255, 255, 255]}},
        {"temperature": 1.5},
        {"points": description("grade", NETWORK)["points"][:1]},
        {"point": "balanced"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_answers_changes_the_version(change: dict[str, Any]) -> None:
    assert version(**change) != version()


def test_what_changes_no_answer_keeps_the_version(tmp_path: Path) -> None:
    assert version(name="renamed", created="later", data={"train": [1]}) == version()
    assert open_model(model_folder(tmp_path / "model")).version == version()


def version(**changes: Any) -> str:
    return ModelFolder(Path("nowhere"), described(**changes)).version


def test_a_changed_network_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "model.keras").write_bytes(NETWORK + b"!")
    with pytest.raises(InputError, match=r"is not the network that model\.json describes"):
        open_model(folder)


def test_a_missing_network_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "model.keras").unlink()
    with pytest.raises(InputError, match=r"has no model\.keras: the model is not whole"):
        open_model(folder)


def test_a_format_of_a_newer_prumo_asks_for_an_update(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model", format=2, brand_new="key")
    with pytest.raises(InputError, match="format 2, which is newer than this Prumo"):
        open_model(folder)


def test_what_is_not_a_model_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no model folder"):
        open_model(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is not a model folder: it has no model\.json"):
        open_model(tmp_path)
    (tmp_path / "model.keras").write_bytes(NETWORK)
    with pytest.raises(InputError, match="its training has not ended"):
        open_model(tmp_path)
    with pytest.raises(InputError, match="is a file; give the folder"):
        open_model(tmp_path / "model.keras")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "is not the description of a model"),
        ("{}", "is not the description of a model: name: Field required"),
    ],
)
def test_a_broken_description_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "model.json").write_text(text)
    with pytest.raises(InputError, match=reason):
        open_model(folder)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"point": "best"}, "the point 'best' is none of: high_sensitivity, balanced"),
        ({"temperature": 0}, "temperature: Input should be greater than 0"),
        ({"temperature": float("inf")}, "temperature: Input should be a finite number"),
        ({"task": "oedema"}, "task: Input should be 'referral' or 'grade'"),
        ({"points": 2 * description("grade", NETWORK)["points"]}, "have the same name"),
    ],
)
def test_a_description_that_contradicts_itself_is_refused(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        open_model(model_folder(tmp_path / "model", **changes))


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*model\.json"):
        write_description(tmp_path / "missing", described())


def test_the_models_own_point_decides_where_none_is_asked_for() -> None:
    assert chosen_threshold(described()) == Threshold(0.3, "high_sensitivity")
    assert chosen_threshold(described(), "balanced") == Threshold(0.6, "balanced")
    assert chosen_threshold(described(), own=0.25) == Threshold(0.25)


def test_a_threshold_refers_from_itself_on() -> None:
    threshold = Threshold(0.3)
    assert threshold.refers(0.3)
    assert not threshold.refers(0.2999)


def test_a_point_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="no operating point 'balancd': did you mean 'balanced'"):
        chosen_threshold(described(), "balancd")
    with pytest.raises(InputError, match="not both"):
        chosen_threshold(described(), "balanced", own=0.5)
    with pytest.raises(InputError, match="from 0 to 1; nan is none"):
        chosen_threshold(described(), own=float("nan"))
    with pytest.raises(InputError, match="has no operating points: give a --threshold"):
        chosen_threshold(described(points=[], point=""))
    with pytest.raises(InputError, match="prefers no operating point"):
        chosen_threshold(described(point=""))
