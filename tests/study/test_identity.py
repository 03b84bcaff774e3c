"""A fingerprint says whether two runs did the same, not how they were measured."""

from __future__ import annotations

from prumo.study import Study, fingerprint
from support.study_factory import command_study, training_study


def first(study: Study) -> str:
    return fingerprint(study, next(study.scenarios()))


def test_measuring_differently_keeps_the_fingerprint() -> None:
    plain = training_study()
    measured = training_study(
        name="other",
        description="other",
        replications=9,
        order="listed",
        measure={"sample_seconds": 1, "timeout_seconds": 5},
    )

    assert first(plain) == first(measured)


def test_a_parameter_is_the_same_as_factor_fixed_or_default() -> None:
    plain = training_study(factors={"network": ["rede1"]})
    spelt_out = training_study(
        factors={"learning_rate": [0.01], "weight_decay": [0]}, fixed={"network": "rede1"}
    )

    assert first(plain) == first(spelt_out)


def test_doing_something_else_changes_the_fingerprint() -> None:
    data = {"kind": "training", "data": {"generated": "folder"}}
    others = [
        training_study(),
        training_study(fixed={"epochs": 2}),
        training_study(versions={"pytorch": "2.2.0"}),
        training_study(workload=data),
        command_study(),
        command_study(workload={"kind": "command", "command": ["echo"]}),
        command_study(fixed={"c": 1}),
    ]

    assert len({first(study) for study in others}) == len(others)


def test_scenarios_of_a_study_have_fingerprints_of_their_own() -> None:
    study = command_study()

    assert len({fingerprint(study, scenario) for scenario in study.scenarios()}) == 6


def test_where_data_lies_does_not_matter() -> None:
    here = training_study(workload={"kind": "training", "data": {"generated": "/here"}})
    there = training_study(workload={"kind": "training", "data": {"generated": "/there"}})

    assert first(here) == first(there)


def test_fingerprints_stay_the_same_between_versions_of_prumo() -> None:
    assert first(command_study()) == "9e63b577a35a894f"
