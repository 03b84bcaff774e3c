from __future__ import annotations

from typing import Any

from prumo.environments.setup import study_requests
from prumo.study import Study


def _study(**changes: Any) -> Study:
    data = {
        "name": "demo",
        "workload": {"kind": "training"},
        "factors": {"framework": ["pytorch", "pytorch@2.12.0"], "batch_size": [32, 64]},
        "fixed": {"network": "rede1"},
    }
    return Study.from_dict(data | changes)


def test_every_framework_and_version_of_a_study_is_asked_for_once() -> None:
    requests, unavailable = study_requests(_study())

    assert [request.version for request in requests] == ["2.13.0", "2.12.0"]
    assert unavailable == []


def test_the_versions_of_a_study_count() -> None:
    requests, _ = study_requests(_study(versions={"pytorch": "2.11.0"}))

    assert [request.version for request in requests] == ["2.11.0", "2.12.0"]


def test_a_framework_that_the_rules_leave_out_is_not_asked_for() -> None:
    requests, _ = study_requests(_study(exclude=["framework == 'pytorch@2.12.0'"]))

    assert [request.version for request in requests] == ["2.13.0"]


def test_a_framework_that_cannot_be_installed_does_not_hinder_the_others() -> None:
    factors = {"framework": ["caffe@0.9.0", "pytorch"]}
    requests, unavailable = study_requests(_study(factors=factors))

    assert [request.framework.name for request in requests] == ["pytorch"]
    assert unavailable[0].startswith("caffe 0.9.0 cannot be set up")


def test_a_study_of_commands_needs_no_environment() -> None:
    study = Study.from_dict(
        {
            "name": "demo",
            "workload": {"kind": "command", "command": ["sleep", "{seconds}"]},
            "factors": {"seconds": [1, 2]},
        }
    )

    assert study_requests(study) == ([], [])
