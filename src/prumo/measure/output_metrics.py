"""Figures that a command prints: JSON lines, and named groups of regular expressions."""

from __future__ import annotations

import json
import re
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

Keep = str
KEEPERS: dict[Keep, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "mean": fmean,
    "min": min,
    "max": max,
    "sum": sum,
}


def read_output_metrics(
    log: Path, *, json_lines: bool, patterns: Iterable[str], keep: Mapping[str, Keep]
) -> dict[str, float]:
    """The figures in a log; of a figure printed several times, what `keep` says (or the last).

    Values that are not finite are returned too: the verdict needs to see them.
    """
    values: dict[str, list[float]] = {}
    compiled = [re.compile(pattern) for pattern in patterns]
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = _from_json(line) if json_lines else {}
            for pattern in compiled:
                for match in pattern.finditer(line):
                    found.update(_from_groups(match))
            for name, value in found.items():
                values.setdefault(name, []).append(value)
    return {name: KEEPERS[keep.get(name, "last")](series) for name, series in values.items()}


def _from_json(line: str) -> dict[str, float]:
    if not line.lstrip().startswith("{"):
        return {}
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return {
        name: float(value)
        for name, value in content.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def _from_groups(match: re.Match[str]) -> dict[str, float]:
    found = {}
    for name, text in match.groupdict().items():
        try:
            found[name] = float(text)
        except (TypeError, ValueError):
            continue
    return found
