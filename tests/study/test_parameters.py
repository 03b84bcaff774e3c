"""A scenario's parameters are all that its worker is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.study_factory import StudyMaker


def test_training_parameters_are_complete(training: StudyMaker) -> None:
    scenario = next(training(fixed={"framework": "pytorch@2.13.0", "learning_rate": 1}).scenarios())

    assert scenario.parameters == {
        "framework": "pytorch@2.13.0",
        "network": "rede1",
        "dataset": "generated",
        "image_size": 32,
        "batch_size": 32,
        "epochs": 1,
        "optimizer": "sgd",
        "learning_rate": 1.0,
        "momentum": 0.9,
        "weight_decay": 0.0,
        "schedule": "constant",
        "precision": "fp32",
        "channels_last": False,
        "device": "cpu",
        "seed": 1,
    }
    assert isinstance(scenario.parameters["learning_rate"], float)


def test_images_have_the_size_of_their_data_set_unless_the_study_gives_one(
    training: StudyMaker,
) -> None:
    datasets = ["mnist", "own", "imagenet", "cifar10"]
    workload = {"kind": "training", "data": {"own": "there"}}
    factors = {"dataset": datasets}
    study = training(workload=workload, factors=factors, fixed={"network": "rede1"})

    assert [s.parameters["image_size"] for s in study.scenarios()] == [28, 32, 224, 32]
    given = training(
        workload=workload, factors=factors, fixed={"network": "rede1", "image_size": 40}
    )
    assert [s.parameters["image_size"] for s in given.scenarios()] == [40] * 4
    fixed = training(factors={"network": ["lenet5"]}, fixed={"dataset": "mnist"})
    assert [s.parameters["image_size"] for s in fixed.scenarios()] == [28]
    varied = training(factors={"image_size": [40, 48], "dataset": ["mnist"], "network": ["rede1"]})
    assert [s.parameters["image_size"] for s in varied.scenarios()] == [40, 48]


def test_a_rule_may_look_at_the_size_that_a_data_set_brings(training: StudyMaker) -> None:
    study = training(
        factors={"network": ["rede1"], "dataset": ["mnist", "cifar10"]},
        exclude=["image_size < 32"],
    )

    assert [s.factors["dataset"] for s in study.scenarios()] == ["cifar10"]


def test_images_and_threads_are_told_only_when_given(training: StudyMaker) -> None:
    scenario = next(training(fixed={"images": 512, "threads": 2}).scenarios())

    assert (scenario.parameters["images"], scenario.parameters["threads"]) == (512, 2)


def test_command_parameters_are_as_given(command: StudyMaker) -> None:
    scenario = next(command(fixed={"momentum": 1, "flag": True}).scenarios())

    assert scenario.parameters == {"momentum": 1, "flag": True, "a": 1, "b": "x"}
    assert scenario.factors == {"a": 1, "b": "x"}


def test_a_version_is_taken_from_the_level_before_the_study(training: StudyMaker) -> None:
    study = training(versions={"pytorch": "2.2.0"})

    assert study.framework_version("pytorch") == "2.2.0"
    assert study.framework_version("pytorch@2.13.0") == "2.13.0"
    assert study.framework_version("jax") is None


def test_the_last_factor_varies_fastest(command: StudyMaker) -> None:
    names = [(s.name, s.factors["a"], s.factors["b"]) for s in command().scenarios()]

    assert names == [
        ("C1", 1, "x"),
        ("C2", 1, "y"),
        ("C3", 2, "x"),
        ("C4", 2, "y"),
        ("C5", 3, "x"),
        ("C6", 3, "y"),
    ]


def test_rules_apply_before_numbering(command: StudyMaker) -> None:
    study = command(only=["a > 1"], exclude=[{"a": 2, "b": ["x"]}])

    assert [(s.name, *s.factors.values()) for s in study.scenarios()] == [
        ("C1", 2, "y"),
        ("C2", 3, "x"),
        ("C3", 3, "y"),
    ]


def test_rules_may_look_at_fixed_parameters_defaults_and_the_machines_device(
    training: StudyMaker,
) -> None:
    machines = {"fast": {"device": "cuda"}, "slow": {"device": "cpu"}}
    factors = {"machine": ["fast", "slow"], "network": ["rede1"], "epochs": [1, 2]}
    study = training(
        factors=factors,
        machines=machines,
        fixed={"images": 512},
        only=["images == 512 and precision == fp32"],
        exclude=["device == cuda and epochs == 2"],
    )

    assert [tuple(s.factors.values()) for s in study.scenarios()] == [
        ("fast", "rede1", 1),
        ("slow", "rede1", 1),
        ("slow", "rede1", 2),
    ]
