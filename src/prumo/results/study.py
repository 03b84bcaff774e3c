"""The study and the plan that a results folder keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prumo.results.folder import PLAN_FILE, STUDY_FILE
from prumo.study import load

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.study import Study


def read_study(results: Path) -> Study:
    """The study as it was run, with the user's own networks as its plan keeps them.

    Somebody else may have made the folder, so no program that the study names is run.

    Raises:
        StudyError: The study cannot be read, or one of its networks is not in the plan.
    """
    networks = read_plan(results).get("networks")
    kept = networks if isinstance(networks, dict) else {}
    return load(
        results / STUDY_FILE,
        {name: layers for name, layers in kept.items() if isinstance(layers, list)},
    )


def read_plan(results: Path) -> dict[str, Any]:
    """How the study was ordered, and its own networks; empty without a whole plan.json."""
    try:
        plan = json.loads((results / PLAN_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return plan if isinstance(plan, dict) else {}
