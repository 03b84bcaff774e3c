from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError
from prumo.foreign.logs import KINDS, LoggedStep, read_log
from support.training_logs import CAFFE_LOG, TENSORFLOW_LOG

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.foreign.logs import LogKind

CAFFE, TENSORFLOW = KINDS["caffe-log"], KINDS["tensorflow-log"]


def written(folder: Path, text: str, name: str = "train_alexnet_CPU_064.log") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_caffe_log_gives_steps_and_iteration_0_without_a_time(tmp_path: Path) -> None:
    log = read_log(CAFFE, written(tmp_path, CAFFE_LOG))
    assert log.steps == (
        LoggedStep(0, 7.01242, None),
        LoggedStep(1, 6.5, 0.191),
        LoggedStep(2, 3.25e-05, 0.5),
        LoggedStep(3, -0.125, 0.25),
    )


def test_a_tensorflow_log_gives_steps(tmp_path: Path) -> None:
    log = read_log(TENSORFLOW, written(tmp_path, TENSORFLOW_LOG))
    assert log.steps == (
        LoggedStep(1, 7.8125, 3.5),
        LoggedStep(2, 6.25, 0.75),
        LoggedStep(3, 5.0, 0.5),
    )


def test_a_time_over_several_iterations_is_divided_among_them(tmp_path: Path) -> None:
    line = "I1222 10:00:00.1 7 solver.cpp:239] Iteration 20 (10 iter/s, 2s/20 iters), loss = 1\n"
    assert read_log(CAFFE, written(tmp_path, line)).steps == (LoggedStep(20, 1.0, 0.1, 20),)


def test_a_loss_that_is_not_a_number_is_kept_as_such(tmp_path: Path) -> None:
    line = "INFO:tensorflow:global step 5: loss = nan (0.5 sec/step)\n"
    (step,) = read_log(TENSORFLOW, written(tmp_path, line)).steps
    assert math.isnan(step.loss)


def test_a_training_that_began_again_counts_from_its_new_beginning(tmp_path: Path) -> None:
    log = read_log(TENSORFLOW, written(tmp_path, TENSORFLOW_LOG * 2))
    assert [step.number for step in log.steps] == [1, 2, 3]


@pytest.mark.parametrize(
    ("numbers", "iterations"),
    [
        ([20, 40, 60], [20, 20, 20]),
        ([1, 2, 3], [1, 1, 1]),
        ([1020, 1040, 1050], [20, 20, 10]),
        ([100], [100]),
    ],
)
def test_a_line_stands_for_the_steps_since_the_line_before(
    tmp_path: Path, numbers: list[int], iterations: list[int]
) -> None:
    lines = [f"INFO:tensorflow:global step {n}: loss = 5.0 (0.5 sec/step)\n" for n in numbers]
    log = read_log(TENSORFLOW, written(tmp_path, "".join(lines)))
    assert [step.iterations for step in log.steps] == iterations


def test_a_line_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    lines = TENSORFLOW_LOG.splitlines(keepends=True)
    log = read_log(TENSORFLOW, written(tmp_path, "".join([*lines[:5], lines[4], *lines[5:]])))
    assert [step.number for step in log.steps] == [1, 2, 3]


def test_the_name_says_what_was_trained(tmp_path: Path) -> None:
    text = CAFFE_LOG.replace("Use CPU.", "Using GPUs 0")
    log = read_log(CAFFE, written(tmp_path, text, "train_googlenet_GPU_008.log"))
    assert log.factors == {
        "framework": "caffe",
        "machine": "gpu",
        "network": "googlenet",
        "batch_size": 8,
    }


@pytest.mark.parametrize("name", ["caffe.INFO", "train_alexnet_TPU_1.log", "train_x_CPU_0.log"])
def test_another_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"train_NETWORK_MODE_BATCH\.log"):
        read_log(CAFFE, written(tmp_path, CAFFE_LOG, name))


def test_a_log_of_the_other_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="no step with its loss and time is in it; is it a whole caffe log"
    ):
        read_log(CAFFE, written(tmp_path, TENSORFLOW_LOG))


@pytest.mark.parametrize("name", ["train_alexnet_CPU_001.log", "nope.log"])
def test_an_absent_log_is_refused_as_absent_whatever_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: cannot be read: No such file"):
        read_log(CAFFE, tmp_path / name)


@pytest.mark.parametrize(
    ("kind", "text", "last", "told"),
    [
        (CAFFE, CAFFE_LOG, "Iteration 0 (", "0 steps"),
        (CAFFE, CAFFE_LOG, "Iteration 1 (", "1 step,"),
        (TENSORFLOW, TENSORFLOW_LOG, "global step 1:", "1 step,"),
    ],
)
def test_a_log_that_is_cut_before_there_are_figures_is_refused(
    tmp_path: Path, kind: LogKind, text: str, last: str, told: str
) -> None:
    end = text.index("\n", text.index(last))
    with pytest.raises(InputError, match=f"CPU_064.log: the log is cut: .* of {told}"):
        read_log(kind, written(tmp_path, text[: end + 1]))


def test_a_device_that_contradicts_the_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name says GPU, and the training in it used CPU"):
        read_log(CAFFE, written(tmp_path, CAFFE_LOG, "train_alexnet_GPU_064.log"))
    again = CAFFE_LOG + CAFFE_LOG.replace("Use CPU.", "Using GPUs 0, 1")
    with pytest.raises(InputError, match="name says CPU, and the training in it used GPU"):
        read_log(CAFFE, written(tmp_path, again))
