"""Trainings on fundus photographs as runs of a study, with the real TensorFlow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import StudyError
from prumo.progress import Silent
from prumo.run.workloads import open_workload
from prumo.study import Run, Study
from prumo_retina.records import convert
from prumo_retina.records.split import Shares
from prumo_worker.journal import RETINA_METRICS
from support.command_study import records
from support.prepared_photographs import SIZE, graded, prepared_folder

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import FrameworkPython, Prumo

FIXED = {
    "network": "mobilenet",
    "image_size": SIZE,
    "batch_size": 8,
    "epochs": 2,
    "trained_layers": 1,
    "augment": False,
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = prepared_folder(tmp_path / "prepared", graded(12, 4, 4, 4, 4))
    convert(folder, Shares(), seed=1, shards=None, progress=Silent())
    return folder


def write_study(folder: Path, **sections: Any) -> Path:
    study: dict[str, Any] = {
        "name": "eyes",
        "workload": {"kind": "retina", "data": "prepared"},
        "factors": {"machine": ["here", "gpus", "tpu"]},
        "fixed": FIXED,
        "machines": {
            "here": {"device": "cpu", "price": "azure/Standard_F4s_v2@eastus"},
            "gpus": {"device": "cuda"},
            "tpu": {"device": "tpu"},
        },
        "order": "listed",
        "measure": {"sample_seconds": 0.1},
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study | sections))
    return path


def prepare(path: Path) -> None:
    study = Study.load(path)
    runs = [Run(scenario, 1) for scenario in study.scenarios()]
    open_workload(study, Silent()).prepare(runs)


@pytest.mark.frameworks
def test_a_study_of_trainings_goes_from_its_file_to_a_report(
    tmp_path: Path, prumo_here: Prumo, framework_python: FrameworkPython
) -> None:
    framework_python("tensorflow")
    study = write_study(tmp_path, workload={"kind": "retina"}, fixed=FIXED | {"images": 20})

    assert prumo_here("run", study).returncode == 0

    here, gpus, tpu = records(tmp_path / "results/eyes").values()
    assert here["verdict"] == "finished"
    assert here["metrics"].keys() >= set(RETINA_METRICS)
    assert (here["data"]["source"], here["data"]["images"]) == ("generated", 20)
    # A fifth is for validation, and there are two epochs.
    assert here["metrics"]["images"] == 2 * 16
    assert here["network"]["name"] == "mobilenet"
    assert here["versions"]["tensorflow"].startswith("2.")
    assert here["sampler"]["samples"] >= 2
    assert (gpus["verdict"], tpu["verdict"]) == ("unavailable", "unavailable")
    assert gpus["reason"].startswith("no NVIDIA GPU on this machine")
    assert tpu["reason"].startswith("no TPU on this machine")

    told = prumo_here("cost", "results/eyes", "--json")
    assert told.returncode == 0
    assert '"cost_usd"' in told.stdout
    assert (
        "Validation loss"
        in prumo_here("report", "results/eyes", "--metric", "validation_loss").stdout
    )


class TestPhotographs:
    @pytest.mark.frameworks
    def test_that_are_there_and_split_are_trained_on(
        self, tmp_path: Path, data: Path, framework_python: FrameworkPython
    ) -> None:
        framework_python("tensorflow")
        study = Study.load(write_study(tmp_path))
        run = Run(next(study.scenarios()), 1)
        workload = open_workload(study, Silent())

        workload.prepare([run])

        task = workload.launch(run, tmp_path).task
        assert task is not None
        assert (task["kind"], task["data"]) == (
            "retina_training",
            {"records": str(data / "records")},
        )

    @pytest.mark.parametrize(
        ("folder", "reason"),
        [
            ("nowhere", "workload.data: there is no folder"),
            ("prepared/images", "has no records: `prumo retina convert` makes them"),
        ],
    )
    def test_that_are_not_there_are_an_error_at_their_place(
        self, tmp_path: Path, data: Path, folder: str, reason: str
    ) -> None:
        assert data.is_dir()

        with pytest.raises(StudyError, match=reason):
            prepare(write_study(tmp_path, workload={"kind": "retina", "data": folder}))

    def test_of_another_size_are_an_error_that_says_the_right_one(
        self, tmp_path: Path, data: Path
    ) -> None:
        assert data.is_dir()

        with pytest.raises(StudyError, match="photographs of 32 pixels: give `image_size: 32`"):
            prepare(write_study(tmp_path, fixed=FIXED | {"image_size": 64}))

    def test_in_folds_are_an_error(self, tmp_path: Path, data: Path) -> None:
        convert(data, Shares(folds=3), seed=1, shards=None, progress=Silent())

        with pytest.raises(StudyError, match="is in folds"):
            prepare(write_study(tmp_path))

    @pytest.mark.parametrize(
        ("card", "reason"),
        [
            ("{", r"records\.json cannot be read"),
            ("{}", "is not what Prumo writes; call `prumo retina convert` again"),
            ("[]", "is not what Prumo writes"),
        ],
    )
    def test_whose_card_is_damaged_are_an_error(
        self, tmp_path: Path, data: Path, card: str, reason: str
    ) -> None:
        (data / "records" / "records.json").write_text(card)

        with pytest.raises(StudyError, match=reason):
            prepare(write_study(tmp_path))


def test_a_forecast_says_that_such_trainings_are_not_probed(
    tmp_path: Path, prumo_here: Prumo
) -> None:
    study = write_study(tmp_path, workload={"kind": "retina"})

    told = prumo_here("plan", study, "--forecast")

    assert told.returncode == 0
    assert "trainings on photographs are not probed" in told.stdout


def test_such_a_study_compares_no_frameworks(tmp_path: Path, prumo_here: Prumo) -> None:
    told = prumo_here("check", write_study(tmp_path, workload={"kind": "retina"}))

    assert told.returncode == 2
    assert "of the kind `training` and not `retina`" in told.stderr
