"""Sections that do not fit together are refused with the place and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prumo.study import StudyError

if TYPE_CHECKING:
    from support.study_factory import StudyMaker

NETWORK = {"network": ["rede1"]}


def message(make: StudyMaker, **sections: Any) -> str:
    with pytest.raises(StudyError) as caught:
        make(**sections)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "level", "words"),
    [
        ("framework", "pytorh", "did you mean 'pytorch'?"),
        ("framework", "pytorch@", "not a version"),
        ("framework", "pytorch@../x", "not a version"),
        ("framework", 3, "should be text"),
        ("dataset", "minst", "did you mean 'mnist'?"),
        ("image_size", 0, "should be 1 or more"),
        ("image_size", 32.0, "should be a whole number"),
        ("image_size", "32", "should be a whole number, not '32'"),
        ("image_size", True, "should be a whole number, not true"),
        ("image_size", 1, "rede1"),
        ("batch_size", -1, "should be 1 or more"),
        ("batch_size", 65537, "should be 65536 or less"),
        ("epochs", 0, "should be 1 or more"),
        ("images", 0, "should be 1 or more"),
        ("learning_rate", 0, "should be more than 0"),
        ("momentum", 1, "should be less than 1"),
        ("precision", "fp8", "is not known"),
        ("optimizer", "sdg", "did you mean 'sgd'?"),
        ("device", "gpu", "did you mean 'cuda'?"),
        ("channels_last", 1, "should be true or false"),
        ("seed", -1, "should be 0 or more"),
    ],
)
def test_impossible_values_of_training_parameters(
    training: StudyMaker, name: str, level: Any, words: str
) -> None:
    as_factor = message(training, factors={**NETWORK, name: [level]})
    as_fixed = message(training, factors=NETWORK, fixed={name: level})

    assert f"factors.{name}[0]: " in as_factor
    assert f"fixed.{name}: " in as_fixed
    assert words in as_factor
    assert words in as_fixed


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"factors": {}}, "factors: needs at least one factor"),
        ({"factors": {"network": []}}, "factors.network: needs at least one level"),
        (
            {"factors": {"network": ["rede1", "rede1"]}},
            "factors.network[1]: 'rede1' is given twice",
        ),
        ({"factors": {"network": "rede1"}}, "factors.network: should be a list, not 'rede1'"),
        ({"factors": {"network": [None]}}, "factors.network[0]: should be text, a number"),
        ({"factors": {"network": [["rede1"]]}}, "not a list"),
        ({"factors": ["network"]}, "factors: should be a mapping"),
        ({"factors": {"epochs": [1]}}, "fixed.network: is required"),
        ({"factors": {**NETWORK, "Epochs": [1]}}, "lower-case"),
        ({"factors": {**NETWORK, "class": [1]}}, "lower-case"),
        ({"factors": {**NETWORK, "run": [1]}}, "meaning of its own"),
        ({"fixed": {"network": "rede1"}}, "fixed.network: is also a factor"),
        ({"fixed": {"epochs": float("inf")}}, "fixed.epochs: should be a finite number"),
        ({"fixed": {"epochs": 10**30}}, "too large"),
        ({"fixed": {"dataset": "a\nb"}}, "control characters"),
        ({"fixed": {"machine": "big"}}, "fixed.machine: 'big' is not under `machines`"),
        ({"workload": {}}, "workload: needs a `kind`"),
        ({"workload": {"kind": "trainin"}}, "workload.kind: 'trainin' is not known; did you mean"),
        ({"workload": {"kind": "training", "date": {}}}, "did you mean 'data'?"),
        ({"workload": "training"}, "workload: "),
        ({"replications": 0}, "replications: should be 1 or more"),
        ({"replications": "3"}, "replications: should be a whole number"),
        ({"replications": {"metric": "x"}}, "replications.maximum: is required"),
        (
            {"replications": {"metric": "x", "half_width_percent": 5, "minimum": 1, "maximum": 3}},
            "replications.minimum: should be 2 or more",
        ),
        (
            {"replications": {"metric": "x", "half_width_percent": 5, "minimum": 5, "maximum": 3}},
            "replications: maximum 3 is less than minimum 5",
        ),
        ({"order": "listd"}, "order.kind: 'listd' is not known; did you mean 'listed'?"),
        ({"design": "ful"}, "design.kind: 'ful' is not known; did you mean 'full'?"),
        ({"design": {"kind": "random"}}, "design.size: is required"),
        ({"design": {"kind": "random", "size": 5}}, "design.size: 5 is more than the 4"),
        ({"design": {"kind": "full", "size": 5}}, "design.size: unknown key"),
        ({"machines": {"a": {"price": "azure"}}}, "machines.a.price: 'azure' should be provider/"),
        ({"machines": {"a": {"device": "gpu"}}}, "did you mean 'cuda'?"),
        ({"versions": {"pytorch": 2.1}}, "versions.pytorch: put the version in quotes"),
        ({"versions": {"torch": "2.1"}}, "versions.torch: unknown framework; did you mean"),
        ({"measure": {"sample_seconds": 0.01}}, "measure.sample_seconds: should be 0.1 or more"),
        ({"measure": {"memory_bytes": "4Gi"}}, "measure.memory_bytes: should be a size"),
        ({"measure": {"memory_bytes": True}}, "measure.memory_bytes: should be a size"),
        ({"measure": {"memory_bytes": 1}}, "measure.memory_bytes: should be a size"),
        ({"measure": {"affinity": []}}, "measure.affinity: should not be empty"),
        ({"measure": {"affinity": [1, 1]}}, "names a CPU twice"),
        ({"exclude": ["network in [rede1, lenet5]"]}, "exclude: the rules leave no scenario"),
        ({"only": ["batch_size > 128"]}, "only: the rules leave no scenario"),
        ({"exclude": ["netwrk == rede1"]}, "exclude[0]: 'netwrk' is neither"),
        ({"exclude": "network == rede1"}, "exclude: should be a list"),
        ({"exclude": [3]}, "exclude[0]: should be a condition"),
        ({"name": "../up"}, "name: '../up' should be"),
        ({"name": ""}, "name: '' should be"),
    ],
)
def test_sections_that_cannot_be(
    training: StudyMaker, sections: dict[str, Any], words: str
) -> None:
    assert words in message(training, **sections)


def test_machines_give_the_device(training: StudyMaker) -> None:
    machines = {"fast": {"device": "cuda"}, "slow": {"device": "cpu"}, "other": {}}
    study = training(factors={"machine": ["fast", "slow", "other"], **NETWORK}, machines=machines)

    assert [s.parameters["device"] for s in study.scenarios()] == ["cuda", "cpu", "cpu"]
    assert [s.parameters["machine"] for s in study.scenarios()] == ["fast", "slow", "other"]


def test_a_machine_and_a_device_do_not_go_together(training: StudyMaker) -> None:
    machines = {"fast": {"device": "cuda"}}

    told = message(training, fixed={"machine": "fast", "device": "cpu"}, machines=machines)

    assert "fixed.device: the device comes from the machine" in told


def test_machine_and_environment_do_not_go_together(training: StudyMaker) -> None:
    told = message(
        training, fixed={"machine": "a", "environment": "a"}, machines={"a": {"device": "cpu"}}
    )

    assert "either `machine` or `environment`" in told


def test_a_commands_environment_factor_is_free_without_machines(command: StudyMaker) -> None:
    study = command(factors={"a": [1], "b": [1], "environment": ["test", "live"]})

    assert [s.parameters["environment"] for s in study.scenarios()] == ["test", "live"]


def test_a_batch_larger_than_the_images_is_refused_unless_a_rule_leaves_it_out(
    training: StudyMaker,
) -> None:
    factors = {**NETWORK, "images": [64, 256], "batch_size": [32, 128]}

    assert "factors.batch_size[1]: a batch_size of 128 is more than the 64 images" in message(
        training, factors=factors
    )
    assert "more than the 100 images" in message(training, fixed={"images": 100})
    assert "fixed.images: a batch_size of 128 is more than the 100 images" in message(
        training, factors=NETWORK, fixed={"images": 100}
    )
    assert len(list(training(factors=factors, exclude=["batch_size > images"]).scenarios())) == 3


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({"dataset": "mnist", "images": 60_001}, "fixed.images: mnist has 60000 images, not 60001"),
        (
            {"dataset": "mnist", "only_class": 10},
            "fixed.only_class: the classes of mnist are 0 to 9, not 10",
        ),
        ({"only_class": 12}, "the classes of generated are 0 to 9, not 12"),
    ],
)
def test_more_than_a_known_data_set_has_is_refused(
    training: StudyMaker, fixed: dict[str, Any], words: str
) -> None:
    assert words in message(training, factors=NETWORK, fixed=fixed)


def test_what_only_the_files_can_tell_is_left_to_them(training: StudyMaker) -> None:
    data = {"kind": "training", "data": {"mnist": "there", "own": "here"}}
    factors = {**NETWORK, "dataset": ["generated", "mnist", "own"], "images": [60_001]}

    assert len(list(training(workload=data, factors=factors).scenarios())) == 3
    factors = {**NETWORK, "dataset": ["own"], "only_class": [12]}
    assert len(list(training(workload=data, factors=factors).scenarios())) == 1


def test_a_network_that_the_default_size_does_not_fit_is_refused_where_it_is_named(
    training: StudyMaker,
) -> None:
    found = message(training, factors={"batch_size": [8], "network": ["rede1", "alexnet"]})

    assert "factors.network[1]: alexnet on 3x32x32 (image_size is 32 by default): layer" in found
    found = message(training, factors={"batch_size": [8]}, fixed={"network": "alexnet"})
    assert "fixed.network: alexnet on 3x32x32 (image_size is 32 by default): layer" in found


def test_more_scenarios_than_can_be_listed_are_refused(command: StudyMaker) -> None:
    factors = {name: list(range(100)) for name in "abcd"}

    assert "100,000,000 scenarios are too many" in message(command, factors=factors)
    assert (
        len(list(command(factors=factors, design={"kind": "random", "size": 4}).scenarios())) == 4
    )
