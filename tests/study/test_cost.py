"""The study's section `cost`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prumo.study import CostSettings, Study, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.study_factory import Refusal, StudyMaker

jsonschema = pytest.importorskip("jsonschema")

TEXT = "name: s\nworkload: {kind: training}\nfactors: {network: [rede1]}\ncost: "


def test_without_the_section_a_training_pays_for_its_time_in_a_longer_rental(
    training: StudyMaker,
) -> None:
    assert training().cost == CostSettings(of="training", rental="shared", purchase="on_demand")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{setpu: true}", "unknown key; did you mean 'setup'?"),
        ("{of: serving}", "known: inference, training"),
        ("{idle_seconds: -1}", "should be 0.0 or more"),
        ("{rental: monthly}", "known: own, shared"),
        ("{purchase: reserved}", "known: on_demand, spot"),
        ("{setup: true, metric: train_seconds}", "give either `metric` or `setup`"),
        ("{watts_per_core: 0}", "should be more than 0.0, not 0"),
        ("{metric: ''}", "cost.metric"),
    ],
)
def test_a_wrong_section_is_refused_at_its_line(
    refusal: Refusal, section: str, message: str
) -> None:
    error = str(refusal(TEXT + section))

    assert message in error
    assert "study.yaml:4" in error


def test_what_is_paid_for_does_not_change_what_a_run_is(training: StudyMaker) -> None:
    plain, spot = training(), training(cost={"purchase": "spot", "idle_seconds": 600})

    assert [fingerprint(plain, scenario) for scenario in plain.scenarios()] == [
        fingerprint(spot, scenario) for scenario in spot.scenarios()
    ]


@pytest.mark.parametrize(
    ("section", "is_valid"),
    [
        ({"of": "inference", "metric": "full_latency_seconds"}, True),
        ({"setup": True, "idle_seconds": 600, "rental": "own", "purchase": "spot"}, True),
        ({"grid_grams_per_kwh": 80, "watts_per_core": 8.5}, True),
        ({"rental": "monthly"}, False),
        ({"hours": 3}, False),
    ],
)
def test_the_schema_for_editors_knows_the_section(
    section: Mapping[str, object], *, is_valid: bool
) -> None:
    schema = json.loads(json.dumps(Study.model_json_schema()))
    study = {
        "name": "s",
        "workload": {"kind": "training"},
        "factors": {"network": ["rede1"]},
        "cost": section,
    }

    assert jsonschema.Draft202012Validator(schema).is_valid(study) == is_valid
