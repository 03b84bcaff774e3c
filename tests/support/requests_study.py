"""Throw-away studies of requests to an endpoint."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("endpoint_server.py")
SERVE = f"{sys.executable} {SERVER}"
QUICK: dict[str, Any] = {
    "requests": 12,
    "interval_seconds": 0.02,
    "seconds": 0.5,
    # What is tested here is not how precise the machine of the test is.
    "most_lateness_share": 100,
}


def write_study(
    folder: Path,
    experiments: list[str],
    *,
    payload: str | None = None,
    factors: dict[str, list[Any]] | None = None,
    **fixed: Any,
) -> Path:
    """A study of few requests; JSON is YAML too."""
    study = {
        "name": "asked",
        "workload": {"kind": "requests"} | ({"payload": payload} if payload else {}),
        "factors": {"experiment": experiments} | (factors or {}),
        "fixed": QUICK | fixed,
        "order": "listed",
        "measure": {"sample_seconds": 0.5, "stop_seconds": 2},
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path
