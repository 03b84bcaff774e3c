"""What a study asks of its data, before its first run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from prumo.datasets.preparation import prepared_sets
from prumo.datasets.study_data import StudyData
from prumo.errors import StudyError
from prumo.progress import Silent
from support import data_files as files
from support.heard_progress import Heard
from support.study_factory import training_study

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.study import Study


def study(folder: Path | None, **fixed: Any) -> Study:
    data = {"mnist": str(folder)} if folder else {}
    return training_study(
        workload={"kind": "training", "data": data},
        factors={"image_size": [28, 32], "batch_size": [5, 10]},
        fixed={"network": "lenet5", "dataset": "mnist", **fixed},
    )


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    return files.idx_folder(tmp_path / "mnist")


def test_every_size_is_prepared_once_for_all_scenarios(mnist: Path) -> None:
    asked = study(mnist, images=20)
    data = StudyData(asked, Silent())
    data.prepare(asked.scenarios())
    assert [prepared.shape[1] for prepared in prepared_sets()] == [28, 32]
    folders = {data.folders(scenario.parameters)["mnist"] for scenario in asked.scenarios()}
    assert folders == {str(prepared.folder) for prepared in prepared_sets()}


def test_the_files_of_all_sizes_are_read_once_and_told_of(mnist: Path) -> None:
    asked, heard = study(mnist), Heard()
    StudyData(asked, heard).prepare(asked.scenarios())
    assert heard.shown.count(f"reading {mnist}") == 1
    assert len(heard.said) == 2


def test_two_studies_with_the_same_files_each_name_their_own_place(
    mnist: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(mnist, tmp_path / "copy")
    first, second = (StudyData(study(folder), Silent()) for folder in (mnist, copy))
    parameters = next(study(mnist).scenarios()).parameters
    assert first.folders(parameters) == second.folders(parameters)
    assert first.sources(parameters) == {"mnist": str(mnist)}
    assert second.sources(parameters) == {"mnist": str(copy)}


def test_a_data_set_without_a_folder_is_left_to_the_worker() -> None:
    asked = study(None)
    data = StudyData(asked, Silent())
    data.prepare(asked.scenarios())
    assert prepared_sets() == []
    parameters = next(asked.scenarios()).parameters
    assert (data.folders(parameters), data.sources(parameters)) == ({}, {})


@pytest.mark.parametrize(
    ("fixed", "reason"),
    [
        ({"images": 31}, "workload.data.mnist: .*has 30 images, 31 were asked for"),
        (
            {"only_class": 1},
            r"factors.batch_size\[0\]: C1: a batch_size of 5 is more than the 3 images of mnist",
        ),
        ({"only_class": 1, "images": 10}, "has 3 images of class 1, 10 were asked for"),
    ],
)
def test_more_than_the_data_has_is_refused(mnist: Path, fixed: dict[str, int], reason: str) -> None:
    asked = study(mnist, **fixed)
    with pytest.raises(StudyError, match=reason):
        StudyData(asked, Silent()).prepare(asked.scenarios())


def test_files_that_are_another_data_set_are_refused_where_the_study_names_them(
    tmp_path: Path,
) -> None:
    asked = study(files.cifar_folder(tmp_path / "cifar10"))
    with pytest.raises(StudyError, match=r"workload\.data\.mnist: .*have 3 channels where 1 are"):
        StudyData(asked, Silent()).prepare(asked.scenarios())


def test_a_batch_that_the_study_leaves_to_the_default_is_told_at_the_data_set(mnist: Path) -> None:
    asked = training_study(
        workload={"kind": "training", "data": {"mnist": str(mnist)}},
        factors={"network": ["lenet5"], "dataset": ["mnist"]},
    )
    with pytest.raises(StudyError, match=r"factors\.dataset\[0\]: C1: a batch_size of 128 is more"):
        StudyData(asked, Silent()).prepare(asked.scenarios())


def test_more_generated_images_than_memory_holds_are_refused() -> None:
    asked = study(None, dataset="imagenet", images=1_000_000).model_copy(
        update={"factors": {"image_size": (4096,)}}
    )
    with pytest.raises(
        StudyError, match=r"fixed\.images: C1: 1000000 generated images of imagenet at 4096x4096"
    ):
        StudyData(asked, Silent()).prepare(asked.scenarios())
