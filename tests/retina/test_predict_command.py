"""`prumo retina predict` as a user calls it."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from prumo_retina.grade import Urgency
from support.fundus_factory import fundus, write_photograph
from support.retina_networks import GRADE_WEIGHTS, SIZE, TEMPERATURE, description

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

NETWORK = b"never loaded"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model folder whose network is not asked."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.keras").write_bytes(NETWORK)
    (folder / "model.json").write_text(json.dumps(description("grade", NETWORK)))
    return folder


@pytest.mark.frameworks
def test_photographs_become_a_worklist(
    prumo: Prumo, brightness_models: Path, tmp_path: Path
) -> None:
    write_photograph(tmp_path / "new/a.jpg", fundus(400, 300, seed=1))
    write_photograph(tmp_path / "new/b.jpg", fundus(400, 300, seed=2, brightness=0.05))
    write_photograph(tmp_path / "new/deep/a.png", fundus(300, 300, seed=3))
    done = prumo(
        *("retina", "predict", brightness_models / "grade", "new/b.jpg", "new", "new/a.jpg"),
        *("--point", "balanced", "--worklist", "--heat-maps", "new/maps"),
        *("--csv", "list.csv", "--lang", "pt-BR", "--json"),
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["point"], answer["threshold"]) == ("balanced", 0.6)
    *judged, dark = sorted(answer["predictions"], key=lambda entry: entry["quality"])
    assert (dark["file"], dark["quality"], dark["grade"]) == ("new/b.jpg", "too_dark", None)
    assert (dark["urgency"], dark["probability"], dark["heat_map"]) == ("ungradable", None, None)
    assert {entry["file"] for entry in judged} == {"new/a.jpg", "new/deep/a.png"}
    for entry in judged:
        expected = grade_shares(prepared_brightness(tmp_path / entry["heat_map"]))
        np.testing.assert_allclose(entry["grade_probabilities"], expected, atol=2e-3)
        assert entry["probability"] == pytest.approx(sum(entry["grade_probabilities"][2:]))
        assert entry["refer"] is (entry["probability"] >= 0.6)
        assert entry["grade"] == 3
    with (tmp_path / "list.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["file"] for row in rows] == [entry["file"] for entry in answer["predictions"]]
    urgencies = [entry["urgency"] for entry in answer["predictions"]]
    assert urgencies == sorted(urgencies, key=list(Urgency).index)
    assert rows[urgencies.index("ungradable")]["urgency"] == "encaminhar: não pode ser avaliada"
    assert "asking the model" in done.stderr


def grade_shares(brightness: float) -> np.ndarray:
    """What the model of brightness answers."""
    shares = np.exp(np.multiply(GRADE_WEIGHTS, brightness) / TEMPERATURE)
    return np.asarray(shares / shares.sum())


def prepared_brightness(heat_map: Path) -> float:
    """Mean of the prepared photograph, which is the left half of a heat map."""
    with Image.open(heat_map) as picture:
        return float(np.asarray(picture)[:, :SIZE].mean() / 255)


def test_a_photograph_that_cannot_be_judged_is_a_referral(
    prumo_here: Prumo, model: Path, tmp_path: Path
) -> None:
    write_photograph(tmp_path / "dark.jpg", fundus(400, 300, brightness=0.05))
    (tmp_path / "broken.jpg").write_text("no photograph")
    done = prumo_here("retina", "predict", model, "dark.jpg", "broken.jpg")
    assert done.returncode == 0
    assert done.stdout.count("refer: cannot be judged") == 2
    assert "not a diagnosis" in done.stdout


def test_what_is_not_looked_at_is_told_on_standard_error(
    prumo_here: Prumo, model: Path, tmp_path: Path
) -> None:
    dark = write_photograph(tmp_path / "new/dark.jpg", fundus(400, 300, brightness=0.05))
    dark.rename(dark.with_suffix(""))
    for name in ("a.txt", "b.txt", "c.txt", "labels.csv"):
        (tmp_path / "new" / name).touch()
    done = prumo_here("retina", "predict", model, "new", "--json")
    assert [entry["file"] for entry in json.loads(done.stdout)["predictions"]] == ["new/dark"]
    assert "not looked at: 4\n  new/labels.csv\n  new/a.txt\n  new/b.txt\n  … 1 more" in done.stderr


def test_where_nothing_can_be_read_there_are_rows_all_the_same(
    prumo_here: Prumo, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.jpg").write_text("no photograph")
    (tmp_path / "empty.jpg").touch()
    done = prumo_here("retina", "predict", model, "broken.jpg", "empty.jpg", "--csv", "-")
    assert done.returncode == 0
    assert [row["urgency"] for row in csv.DictReader(done.stdout.splitlines())] == [
        "refer: cannot be judged"
    ] * 2


def test_a_csv_goes_to_standard_output_on_request(
    prumo_here: Prumo, model: Path, tmp_path: Path
) -> None:
    write_photograph(tmp_path / "dark.jpg", fundus(400, 300, brightness=0.05))
    done = prumo_here("retina", "predict", model, "dark.jpg", "--csv", "-")
    (row,) = csv.DictReader(done.stdout.splitlines())
    assert (row["file"], row["refer"]) == ("dark.jpg", "yes")
    assert "Macular oedema is not judged." in done.stderr


def test_answers_are_told_even_if_their_csv_cannot_be_written(
    prumo_here: Prumo, model: Path, tmp_path: Path
) -> None:
    write_photograph(tmp_path / "dark.jpg", fundus(400, 300, brightness=0.05))
    done = prumo_here("retina", "predict", model, "dark.jpg", "--csv", "dark.jpg/list.csv")
    assert done.returncode == 2
    assert "cannot write dark.jpg/list.csv" in done.stderr
    assert "refer: cannot be judged" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere", "eye.jpg"], "there is no model folder nowhere"),
        ([".", "eye.jpg"], "is not a model folder"),
        (["model", "gone.jpg"], "there is no file gone.jpg"),
        (["model", "eye.jpg", "--point", "best"], "no operating point 'best'"),
        (["model", "eye.jpg", "--point", "balanced", "--threshold", "0.5"], "not both"),
        (["model", "eye.jpg", "--threshold", "1.5"], "1.5 is not in the range"),
        (["model", "eye.jpg", "--threshold", "nan"], "nan is not a finite number"),
        (["model", "eye.jpg", "--heat-maps", "eye.jpg/maps"], "cannot write eye.jpg/maps"),
        (["model", "eye.jpg", "--lang", "fr"], "reports are not available in 'fr'"),
        (["model", "eye.jpg", "--json", "--csv", "-"], "both want standard output"),
        (["model"], "Missing argument"),
    ],
)
@pytest.mark.usefixtures("model")
def test_what_cannot_be_done_is_said_without_a_traceback(
    prumo_here: Prumo, tmp_path: Path, arguments: list[str], reason: str
) -> None:
    (tmp_path / "eye.jpg").write_text("no photograph")
    done = prumo_here("retina", "predict", *arguments)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_help_has_an_example_and_the_limits(prumo_here: Prumo) -> None:
    done = prumo_here("retina", "predict", "--help")
    assert "prumo retina predict model new --worklist" in done.stdout
    assert "does not judge macular oedema" in " ".join(done.stdout.split())
