"""Trainings of retina models in TensorFlow's real environment, a small network standing for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prumo.progress import Silent
from prumo_retina.records import convert
from prumo_retina.records.split import Shares
from support.prepared_photographs import graded, prepared_folder
from support.retina_training_process import ask

if TYPE_CHECKING:
    from conftest import FrameworkPython

pytestmark = pytest.mark.frameworks


GRADES = (3, 3, 9, 3, 3)


@pytest.fixture(scope="module")
def told(
    framework_python: FrameworkPython, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("training")
    data = prepared_folder(folder / "data", graded(*GRADES))
    convert(data, Shares(folds=3), seed=1, shards=2, progress=Silent())
    return ask(framework_python("tensorflow"), folder, data / "records")


def test_study_3s_networks_have_the_parameters_that_it_tells(told: dict[str, Any]) -> None:
    assert told["parameters"] == {"mobilenet": 3_377_221, "vgg19": 20_107_205}


def test_all_devices_of_a_kind_are_used_unless_one_is_asked_for(told: dict[str, Any]) -> None:
    assert told["placements"]["auto"] == "2 x cpu"
    assert told["placements"]["one"] == "cpu"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("uneven", "TaskError: batch_size: 5 photographs cannot be shared evenly by 2 devices"),
        ("cuda", "Unavailable: no CUDA device: TensorFlow"),
        ("tpu", "Unavailable: no TPU: TensorFlow finds none on this machine"),
        ("misfit", "TaskError: strategy: tpu does not go with the device cpu"),
        ("half", "Unavailable: fp16 needs a CUDA device; on cpu there is bf16"),
    ],
)
def test_devices_that_are_not_here_are_told(told: dict[str, Any], asked: str, answer: str) -> None:
    assert told["placements"][asked].startswith(answer)


def test_a_training_that_was_stopped_ends_like_one_that_was_not(told: dict[str, Any]) -> None:
    resumed = told["resumed"]
    assert resumed["after"] == [0, 2]
    whole, stopped = resumed["losses"]
    assert stopped == pytest.approx(whole, rel=1e-5)
    assert len(set(whole)) == 4
    assert resumed["rates"][0] == resumed["rates"][1]
    assert len(set(resumed["rates"][0])) > 1
    assert resumed["best"][0] == resumed["best"][1]
    assert resumed["weights"] < 1e-5


def test_the_journal_tells_epochs_steps_and_that_it_was_resumed(told: dict[str, Any]) -> None:
    events = told["resumed"]["told"]
    assert [event["epoch"] for event in events if event["event"] == "epoch"] == [1, 2, 3, 4]
    assert [event["epoch"] for event in events if event["event"] == "resumed"] == [2]
    steps = [event for event in events if event["event"] == "step"]
    assert [step["step"] for step in steps if step["epoch"] == 1] == [1, 2, 3, 4]
    assert sum(step["images"] for step in steps if step["epoch"] == 1) == 32
    # The rehearsal of each of the two processes.
    assert [step["step"] for step in steps if step["epoch"] == 0] == [1, 1]
    epoch = next(event for event in events if event["event"] == "epoch")
    assert epoch["seconds"] >= epoch["data_seconds"] + epoch["compute_seconds"]
    for name in ("loss", "accuracy", "auc", "sensitivity", "specificity", "kappa"):
        assert f"validation_{name}" in epoch


def test_two_devices_that_share_each_batch_train_the_same_network(told: dict[str, Any]) -> None:
    mirrored = told["mirrored"]
    assert (mirrored["replicas"], mirrored["device"]) == (2, "2 x cpu")
    one, two = mirrored["losses"]
    assert two == pytest.approx(one, rel=1e-4)
    assert mirrored["weights"] < 1e-3
    assert mirrored["scores"] < 1e-2


def test_half_precision_computes_the_scores_in_full(told: dict[str, Any]) -> None:
    assert told["half"]["computed_in"] == "bfloat16"
    assert told["half"]["scores_in"] == "float32"
    assert 0 < told["half"]["loss"] < 20


def test_features_in_half_precision_are_kept_for_the_next_training(told: dict[str, Any]) -> None:
    assert told["half"]["features_computed"] == [40, 0]
    assert told["half"]["features_in"] == "float32"


def test_augmentation_follows_its_seed_and_keeps_black_black(told: dict[str, Any]) -> None:
    seen = told["augmentation"]
    assert seen["same"]
    assert seen["others"] == 8
    assert 0 <= seen["range"][0] < seen["range"][1] <= 255
    assert seen["corners"] < 1
    # A spot stays as far from the centre as it was, wherever it was turned to.
    assert seen["spots"] == pytest.approx([6.0] * 8, abs=1.0)


def test_trained_statistics_are_kept_and_new_ones_are_learnt(told: dict[str, Any]) -> None:
    assert told["trainable"] == {"scratch": ["conv", "bn"], "pretrained": ["conv"], "last": ["bn"]}


def test_features_are_computed_once_for_all_heads(told: dict[str, Any]) -> None:
    # 40 photographs, as they are and mirrored; then another head, then without mirrored ones.
    assert told["frozen"]["computed"] == [80, 0, 0]


def test_the_whole_network_says_what_its_head_said(told: dict[str, Any]) -> None:
    assert told["frozen"]["spread"] > 0.01
    assert told["frozen"]["scores"] < 1e-4
    assert told["frozen"]["layers"][-2:] == ["scores", "probabilities"]


def test_class_weights_leave_probabilities_as_common_as_the_grades(told: dict[str, Any]) -> None:
    shares = [count / sum(GRADES) for count in GRADES]
    assert told["weighed"]["grade"] == pytest.approx(shares, abs=0.05)
    assert told["weighed"]["referral"] == pytest.approx(
        [sum(shares[:2]), sum(shares[2:])], abs=0.05
    )


def test_a_backbone_without_weights_cannot_be_frozen(told: dict[str, Any]) -> None:
    assert told["frozen"]["scratch"].startswith("TaskError: frozen: a backbone without weights")


def test_every_photograph_is_scored_by_a_network_that_has_not_seen_it(
    told: dict[str, Any],
) -> None:
    folds = told["folds"]
    assert folds["folds"] == ["fold-1", "fold-2", "fold-3"]
    assert sorted(folds["names"]) == [f"eye-{number:04d}" for number in range(21)]
    assert sorted(set(folds["fold_of"])) == folds["folds"]
    assert folds["scores"] == [21, 1]


def test_a_fold_has_no_say_in_the_epoch_that_it_is_scored_after(told: dict[str, Any]) -> None:
    best = {name: epoch for name, epoch in told["folds"]["best"].items() if name != "final"}
    for name, epoch in told["folds"]["scored_after"].items():
        assert epoch == min(other for fold, other in best.items() if fold != name)
    assert {told["folds"]["epochs"][name] for name in best} == {6}


def test_the_model_is_trained_on_all_folds_for_the_median_of_their_epochs(
    told: dict[str, Any],
) -> None:
    best = [epoch for name, epoch in told["folds"]["best"].items() if name != "final"]
    assert told["folds"]["trained_on"] == 21
    assert told["folds"]["epochs"]["final"] == sorted(best)[1]


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        ("size", "is 32x32 pixels, and the training wants 64x64"),
        ("damaged", "is damaged: "),
        ("lonely", "has one fold only; cross-validation needs two or more"),
        ("nothing", "has neither train and validation shards nor folds"),
    ],
)
def test_records_that_cannot_be_used_are_told(told: dict[str, Any], case: str, answer: str) -> None:
    assert told["records"][case].startswith("DataError: ")
    assert answer in told["records"][case]
