"""Figures that a command prints: JSON lines, and named groups of regular expressions."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    for line in _lines(log):
        found = _from_json(line) if json_lines else {}
        for pattern in compiled:
            for match in pattern.finditer(line):
                found.update(_from_groups(match))
        for name, value in found.items():
            values.setdefault(name, []).append(value)
    return {name: KEEPERS[keep.get(name, "last")](series) for name, series in values.items()}


def _lines(log: Path) -> Iterator[str]:
    """The lines of a log; none where a run could not even begin one."""
    with suppress(FileNotFoundError), log.open(encoding="utf-8", errors="replace") as lines:
        yield from lines


def _from_json(line: str) -> dict[str, float]:
    if not line.lstrip().startswith("{"):
        return {}
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    found = {}
    for name, value in content.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            with suppress(OverflowError):
                found[name] = float(value)
    return found


def _from_groups(match: re.Match[str]) -> dict[str, float]:
    found = {}
    for name, text in match.groupdict().items():
        try:
            found[name] = float(text)
        except (TypeError, ValueError):
            continue
    return found
