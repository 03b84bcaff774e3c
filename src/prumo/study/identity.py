"""What makes two runs comparable, as a short hash."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from prumo.study.workload import Retina, Training

if TYPE_CHECKING:
    from prumo.study.model import Study
    from prumo.study.scenario import Scenario

_LENGTH = 16


def fingerprint(study: Study, scenario: Scenario) -> str:
    """Hash what decides about a run's figures.

    How often it is sampled, when it is given up and where files lie is left out.
    """
    conditions = study.measure.model_dump(include={"threads", "affinity", "warmup_steps"})
    content = {
        "workload": _workload(study, scenario),
        "parameters": dict(scenario.parameters),
        "conditions": conditions,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_LENGTH]


def _workload(study: Study, scenario: Scenario) -> dict[str, object]:
    if isinstance(study.workload, Retina):
        return {
            "kind": "retina",
            "version": study.framework_version("tensorflow"),
            "data_given": study.workload.data is not None,
        }
    if not isinstance(study.workload, Training):
        return study.workload.model_dump(mode="json")
    own = study.own_network(str(scenario.parameters["network"]))
    layers = {"layers": own.layers} if own else {}
    return {
        **layers,
        "kind": "training",
        "version": study.framework_version(str(scenario.parameters["framework"])),
        "data_given": scenario.parameters["dataset"] in study.workload.data,
    }
