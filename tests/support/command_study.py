"""Throw-away studies of commands, written as files the way a user writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def write_study(folder: Path, command: str | list[str], **changes: Any) -> Path:
    """A study whose runs are `sh -c command`, or the given words; JSON is YAML too."""
    words = ["sh", "-c", command] if isinstance(command, str) else command
    study: dict[str, Any] = {
        "name": "quick",
        "workload": {"kind": "command", "command": words},
        "factors": {"a": [1, 2], "b": ["x", "y"]},
        "order": "listed",
        "measure": {"sample_seconds": 0.1, "stop_seconds": 1.0},
    }
    for key, value in changes.items():
        nested = isinstance(study.get(key), dict) and isinstance(value, dict) and key != "factors"
        study[key] = study[key] | value if nested else value
    path = folder / "study.yaml"
    path.write_text(json.dumps(study, indent=1))
    return path


def records(results: Path) -> dict[str, dict[str, Any]]:
    """Run name → its run.json."""
    return {
        path.parent.name: json.loads(path.read_text())
        for path in sorted(results.glob("runs/*/run.json"))
    }


def verdicts(results: Path) -> dict[str, str]:
    """Run name → verdict."""
    return {name: record["verdict"] for name, record in records(results).items()}
