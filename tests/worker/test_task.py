from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prumo_worker.recipe import Recipe, read_recipe
from prumo_worker.task import TaskError, read_task
from support.worker_process import LENET, task

if TYPE_CHECKING:
    from pathlib import Path

MINIMAL = {"framework": "pytorch", "network": "rede1", "dataset": "mnist"}


def test_a_task_file_is_read(tmp_path: Path) -> None:
    read = read_task(task(tmp_path, LENET, data={"mnist": "/data/mnist"}, warmup_steps=3))
    assert read.run == "C01-r1"
    assert read.journal == tmp_path / "events.jsonl"
    assert read.parameters == LENET
    assert read.data == {"mnist": "/data/mnist"}
    assert (read.warmup_steps, read.threads) == (3, 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"protocol": 2}, "protocol: this worker speaks 1, not 2"),
        ({"journal": None}, "journal: is missing"),
        ({"parameters": []}, "parameters: must be of type dict"),
        ({"threads": 0}, "threads: must be a whole number of 1 or more, not 0"),
        ({"warmup_steps": True}, "warmup_steps: must be a whole number"),
    ],
)
def test_a_wrong_task_is_refused_by_key(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TaskError, match=reason):
        read_task(task(tmp_path, LENET, **changes))


@pytest.mark.parametrize(("content", "reason"), [("{", "is not JSON"), ("[]", "not a JSON object")])
def test_a_file_that_is_no_task_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "task.json"
    file.write_text(content)
    with pytest.raises(TaskError, match=reason):
        read_task(file)


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="cannot be read: No such file"):
        read_task(tmp_path / "task.json")


def test_a_recipe_fills_in_what_a_study_leaves_out() -> None:
    assert read_recipe(MINIMAL) == Recipe("pytorch", "rede1", "mnist")


def test_a_recipe_takes_all_it_knows_and_leaves_the_rest() -> None:
    given: dict[str, Any] = {
        **MINIMAL,
        "image_size": 64,
        "images": 500,
        "batch_size": 32,
        "epochs": 4,
        "optimizer": "adam",
        "learning_rate": 1,
        "momentum": 0.5,
        "weight_decay": 0.001,
        "precision": "bf16",
        "channels_last": True,
        "device": "cuda",
        "threads": 4,
        "seed": 0,
    }
    assert read_recipe({**given, "machine": "laptop"}) == Recipe(**given)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"network": 5}, "network: must be a name; it is 5"),
        ({"batch_size": 0}, "batch_size: must be a whole number of 1 or more; it is 0"),
        ({"batch_size": 1.5}, "batch_size: must be a whole number"),
        ({"epochs": True}, "epochs: must be a whole number"),
        ({"images": -1}, "images: must be a whole number"),
        ({"optimizer": "sdg"}, "optimizer: must be one of sgd, adam; it is 'sdg'"),
        ({"learning_rate": "0.1"}, "learning_rate: must be a number; it is '0.1'"),
        ({"momentum": -0.1}, "momentum: must be a finite number of 0 or more"),
        ({"channels_last": "yes"}, "channels_last: must be true or false"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(TaskError, match=reason):
        read_recipe({**MINIMAL, **change})


def test_a_missing_parameter_is_refused_by_name() -> None:
    with pytest.raises(TaskError, match="framework: must be a name; it is missing"):
        read_recipe(json.loads('{"network": "rede1"}'))


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ({}, [0.4, 0.4, 0.4, 0.4]),
        ({"schedule": "step", "decay": 0.5, "decay_epochs": 2}, [0.4, 0.4, 0.2, 0.2]),
        ({"schedule": "cosine"}, [0.4, 0.34142, 0.2, 0.05858]),
    ],
    ids=["constant", "step", "cosine"],
)
def test_a_schedule_gives_every_epoch_its_rate(
    schedule: dict[str, Any], rates: list[float]
) -> None:
    recipe = read_recipe({**LENET, "epochs": 4, "learning_rate": 0.4, **schedule})
    assert [recipe.rate_in(epoch) for epoch in (1, 2, 3, 4)] == pytest.approx(rates, rel=1e-4)
