"""A study of trainings on fundus photographs: its parameters, and what is wrong with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from prumo.environments.setup import study_requests
from prumo.study import Study, StudyError, fingerprint
from prumo_retina.workload import RetinaParameters

STUDIES = Path(__file__).parent.parent.parent / "studies"


def retina_study(**sections: Any) -> Study:
    plain: dict[str, Any] = {
        "name": "small",
        "workload": {"kind": "retina"},
        "factors": {"batch_size": [8, 16]},
        "fixed": {"network": "mobilenet"},
    }
    return Study.from_dict(plain | sections)


def fixed(**parameters: Any) -> dict[str, Any]:
    return {"fixed": {"network": "mobilenet"} | parameters}


def test_a_worker_is_told_every_parameter_that_has_a_value() -> None:
    told = next(retina_study(**fixed(learning_rate=1, task="grade")).scenarios()).parameters

    fields = RetinaParameters.model_fields.items()
    given = {"network", "learning_rate"}
    assert told.keys() == {name for name, field in fields if field.default is not None} | given
    assert (told["batch_size"], told["epochs"], told["image_size"]) == (8, 200, 299)
    assert isinstance(told["learning_rate"], float)
    assert RetinaParameters.model_validate(dict(told)).task == "grade"


def test_the_device_comes_from_the_machine() -> None:
    study = retina_study(
        factors={"machine": ["gpus", "tpu"]},
        machines={"gpus": {"device": "cuda"}, "tpu": {"device": "tpu"}},
    )

    assert [s.parameters["device"] for s in study.scenarios()] == ["cuda", "tpu"]


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ({"fixed": {}}, "fixed.network: is required, here or as a factor"),
        (fixed(network="mobilnet"), "unknown network 'mobilnet'; did you mean 'mobilenet'?"),
        (fixed(framework="pytorch"), "fixed.framework: training has no such parameter"),
        (fixed(head="128-128"), "'128-128' should be `linear` or the widths of hidden layers"),
        (fixed(head="0"), "'0' should be `linear` or the widths"),
        (fixed(task="grading"), "fixed.task: "),
        (fixed(weights="own.h5"), "a study begins from `scratch` or from the `library`'s own"),
        (fixed(network="inception_v3", image_size=64), "inception_v3 needs photographs of 75"),
        (fixed(frozen=True), "a frozen backbone without weights has nothing to tell"),
        (fixed(strategy="tpu"), "the strategy tpu does not go with the device cpu"),
        (fixed(device="tpu", strategy="mirrored"), "mirrored does not go with the device tpu"),
        (fixed(images=10), "a batch_size of 16 is more than the 10 images"),
        (
            fixed(images=100) | {"workload": {"kind": "retina", "data": "prepared"}},
            "says how many photographs to generate, and workload.data names real ones",
        ),
        ({"workload": {"kind": "retina", "data": ""}}, "workload.data: "),
        ({"workload": {"kind": "retina", "data": {"a": "b"}}}, "workload.data: "),
        ({"measure": {"profile": True}}, "trainings on photographs are not profiled"),
        (
            {
                "replications": {
                    "metric": "first_step_seconds",
                    "half_width_percent": 5,
                    "maximum": 9,
                }
            },
            "no training reports 'first_step_seconds'",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(sections: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=re.escape(reason)):
        retina_study(**sections)


def test_a_study_may_replicate_until_a_figure_of_the_validation_is_known() -> None:
    goal = {"metric": "validation_loss", "half_width_percent": 5, "maximum": 9}

    assert retina_study(replications=goal).replications


def test_runs_on_real_and_on_generated_photographs_are_not_comparable() -> None:
    generated, real, elsewhere = (
        fingerprint(study, next(study.scenarios()))
        for study in (
            retina_study(),
            retina_study(workload={"kind": "retina", "data": "prepared"}),
            retina_study(workload={"kind": "retina", "data": "/copied/prepared"}),
        )
    )

    assert generated != real == elsewhere
    newer = retina_study(versions={"tensorflow": "2.20.0"})
    assert fingerprint(newer, next(newer.scenarios())) != generated


def test_tensorflow_is_all_that_such_a_study_needs() -> None:
    requests, _ = study_requests(retina_study(versions={"tensorflow": "2.14.0"}))

    assert [(one.framework.name, one.version) for one in requests] == [("tensorflow", "2.14.0")]


class TestThePublishedComparison:
    def test_has_ten_trainings_on_gpus_and_ten_on_a_tpu(self) -> None:
        study = Study.load(STUDIES / "ufrgs-gpu-tpu.yaml")

        assert study.replications == 10
        assert [
            {name: scenario.parameters[name] for name in ("device", "batch_size", "epochs")}
            for scenario in study.scenarios()
        ] == [
            {"device": "cuda", "batch_size": 8, "epochs": 200},
            {"device": "tpu", "batch_size": 8, "epochs": 200},
        ]

    def test_has_a_processor_beside_them_at_a_small_scale(self) -> None:
        study = Study.load(STUDIES / "ufrgs-gpu-tpu.yaml").scaled("small")

        assert [s.parameters["device"] for s in study.scenarios()] == ["cuda", "tpu", "cpu"]
        assert {s.parameters["epochs"] for s in study.scenarios()} == {2}
