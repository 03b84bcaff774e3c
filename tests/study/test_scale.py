"""The same factors on a smaller budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import InputError
from prumo.study import Study, StudyError, load, plan_of

if TYPE_CHECKING:
    from support.study_factory import Refusal, StudyMaker

STUDIES = Path(__file__).parents[2] / "studies"
SMALL = {"small": {"images": 128, "epochs": 1}}


def test_a_scale_changes_fixed_parameters_and_the_name_and_nothing_else(
    training: StudyMaker,
) -> None:
    study = training(fixed={"images": 1024, "epochs": 10, "momentum": 0.5}, scales=SMALL)
    small = study.scaled("small")
    assert small.name == "small-small"
    assert small.fixed == {"images": 128, "epochs": 1, "momentum": 0.5}
    assert [scenario.factors for scenario in small.scenarios()] == [
        scenario.factors for scenario in study.scenarios()
    ]


def test_the_study_itself_is_as_without_scales(training: StudyMaker) -> None:
    with_scales, without = training(scales=SMALL), training()
    assert list(with_scales.scenarios()) == list(without.scenarios())


@pytest.mark.parametrize(
    "file",
    [*sorted(STUDIES.glob("uf*.yaml")), STUDIES / "quantization.yaml"],
    ids=lambda file: file.stem,
)
def test_a_scaled_study_is_written_down_so_that_it_reads_the_same(
    file: Path, tmp_path: Path
) -> None:
    small = load(file).scaled("small")
    (tmp_path / "study.yaml").write_text(small.text)
    again = load(tmp_path / "study.yaml")
    assert again.model_dump() == small.model_dump()
    assert list(again.scenarios()) == list(small.scenarios())


def test_paths_of_a_scaled_study_start_where_its_file_is(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "name: own\nworkload: {kind: training, data: {mnist: mnist}}\n"
        "factors: {network: [rede1]}\nscales: {small: {epochs: 1}}\n"
    )
    assert load(file).scaled("small").data_paths() == {"mnist": tmp_path / "mnist"}


def test_a_command_can_be_scaled_too(command: StudyMaker) -> None:
    study = command(fixed={"rounds": 100}, scales={"tiny": {"rounds": 2}})
    assert study.scaled("tiny").fixed == {"rounds": 2}


def test_a_scale_that_is_not_there_is_refused_with_the_nearest(training: StudyMaker) -> None:
    with pytest.raises(InputError, match="did you mean 'small'"):
        training(scales=SMALL).scaled("smal")
    with pytest.raises(InputError, match="has no `scales`"):
        training().scaled("small")


@pytest.mark.parametrize(
    ("scale", "place", "reason"),
    [
        ({"batch_size": 8}, "scales.small.batch_size", "is a factor"),
        ({"epoch": 1}, "scales.small.epoch", "did you mean 'epochs'?"),
        ({"epochs": 0}, "scales.small.epochs", "should be 1 or more"),
        ({"images": 64}, "scales.small", "a batch_size of 128 is more than the 64 images"),
    ],
)
def test_a_scale_that_cannot_be_run_is_refused(
    training: StudyMaker, scale: dict[str, Any], place: str, reason: str
) -> None:
    with pytest.raises(StudyError) as caught:
        training(scales={"small": scale})
    assert f"{place}: " in str(caught.value)
    assert reason in str(caught.value)


def test_a_wrong_scale_is_found_in_its_line(refusal: Refusal) -> None:
    error = refusal(
        "name: own\nworkload: {kind: training}\nfactors: {network: [rede1]}\n"
        "scales:\n  small:\n    epochs: 0\n"
    )
    assert error.line == 6


def test_the_name_of_a_scale_must_fit_a_folder(training: StudyMaker) -> None:
    with pytest.raises(StudyError, match="lower-case letters and digits"):
        training(scales={"../x": {"epochs": 1}})


def test_the_study_of_ufsm_has_ten_batch_sizes_in_eight_series() -> None:
    study = load(STUDIES / "ufsm-2017.yaml")
    assert plan_of(study).runs == 80
    sizes = {
        (scenario.factors["network"], scenario.factors["image_size"])
        for scenario in study.scenarios()
    }
    assert sizes == {("alexnet", 227), ("googlenet", 224)}
    assert _iterations(study, batch_size=32) == 320


def _iterations(study: Study, batch_size: int) -> int:
    """Images / batch size x epochs, as the thesis counts."""
    return int(study.fixed["images"]) // batch_size * int(study.fixed["epochs"])
