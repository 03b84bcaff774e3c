"""Golden files: what commands told once, normalised, which they must tell again.

`UPDATE_GOLDEN=1 pytest tests/golden` writes them anew; then read the difference.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import CompletedProcess

GOLDEN = Path(__file__).parent.parent / "golden"
EXPECTED = GOLDEN / "expected"
INPUTS = GOLDEN / "inputs"
RESULTS = GOLDEN / "results"
ROOT = GOLDEN.parent.parent

_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d{3,}(?:e[+-]?\d+)?(?![\w.])")
_AGE = re.compile(r"\b\d+ days old\b")
_LOADED = re.compile(r"\bloaded it in [\d.]+ s\b")
_TODAY = re.compile(r"<today>T\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00|Z)?")
_PORT = re.compile(r"(127\.0\.0\.1:|\bport )(?!8080)\d+")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def normalised(value: Any, known: Mapping[str, str] | None = None) -> Any:
    """Without what changes from day to day, from machine to machine or in the last digits.

    `known` names texts to replace, such as a temporary folder. Remarks on the age of a price are
    left out of lists, as they come with time.
    """
    if isinstance(value, dict):
        return {normalised(key, known): normalised(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [normalised(item, known) for item in value if not _is_of_age(item)]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return _normalised_text(value, known or {}) if isinstance(value, str) else value


def same_as_golden(name: str, told: str) -> None:
    """Compare with the file of this name, or write it where that is asked for."""
    path = EXPECTED / name
    text = "".join(f"{line.rstrip()}\n" for line in told.splitlines())
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert path.is_file(), f"{path} is missing: UPDATE_GOLDEN=1 pytest tests/golden writes it"
    before = path.read_text("utf-8")
    change = unified_diff(before.splitlines(), text.splitlines(), name, "told now", lineterm="")
    assert text == before, "\n".join(change)


def same_json(name: str, value: Any, known: Mapping[str, str] | None = None) -> None:
    """The same for anything that JSON can tell."""
    told = json.dumps(normalised(value, known), indent=1, ensure_ascii=False)
    same_as_golden(f"{name}.json", told)


def same_output(
    name: str, done: CompletedProcess[str], known: Mapping[str, str] | None = None
) -> None:
    """What a command printed, how it ended and, where it refused, with which words."""
    error = done.stderr if done.returncode == 2 else ""
    try:
        output = json.loads(done.stdout)
    except ValueError:
        ending = f"[exit code {done.returncode}]\n{error}" if done.returncode else ""
        suffix = "csv" if "csv" in name else "txt"
        same_as_golden(f"{name}.{suffix}", normalised(done.stdout + ending, known))
    else:
        told = {"exit_code": done.returncode, "output": output}
        same_json(name, told | ({"standard_error": error} if error else {}), known)


def keys(value: Any) -> Any:
    """The names of a document alone, for what a machine or a clock decides about."""
    if isinstance(value, dict):
        return {key: keys(item) for key, item in value.items()}
    return "…"


def _is_of_age(item: Any) -> bool:
    texts = item.values() if isinstance(item, dict) else [item]
    old_today = f"days on {_today()}, so that"
    return any(isinstance(text, str) and (_AGE.search(text) or old_today in text) for text in texts)


def _normalised_text(text: str, known: Mapping[str, str]) -> str:
    for found, put in {**known, str(ROOT): "<root>"}.items():
        text = text.replace(found, put)
    if text == __version__:
        return "<version>"
    text = text.replace(_today(), "<today>")
    text = _TODAY.sub("<now>", text)
    text = _AGE.sub("<n> days old", _LOADED.sub("loaded it in <n> s", text))
    text = _ADDRESS.sub("<address>", _PORT.sub(r"\1<port>", text))
    return _FLOAT.sub(lambda match: f"{float(match[0]):.6g}", text)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
