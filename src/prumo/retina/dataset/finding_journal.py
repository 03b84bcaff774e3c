"""Findings kept line by line, so that a preparation that was stopped goes on where it was."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from prumo.errors import StorageError
from prumo.files import write_whole
from prumo.retina.dataset.finding import Finding
from prumo.retina.dataset.pseudonym import OWNER_ONLY
from prumo.retina.fundus.circle import Circle
from prumo.retina.fundus.quality import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


def read_findings(journal: Path) -> dict[str, Finding]:
    """By name; the last line about a name counts, and a line that was cut short does not."""
    findings: dict[str, Finding] = {}
    try:
        lines = journal.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return findings
    except OSError as error:
        raise StorageError(f"{journal}: cannot be read: {error.strerror or error}") from error
    for line in lines:
        try:
            finding = _finding(line)
        except (ValueError, TypeError, KeyError):
            continue
        findings[finding.name] = finding
    return findings


@contextmanager
def written_findings(
    journal: Path, known: Iterable[Finding]
) -> Iterator[Callable[[Finding], None]]:
    """A function that keeps one more finding, from that moment on whatever happens.

    The journal is first written anew with what is known, which drops lines that were cut short.
    """
    try:
        write_whole(journal, b"".join(map(_line, known)), mode=OWNER_ONLY)
        with journal.open("ab", buffering=0) as stream:

            def keep(finding: Finding) -> None:
                stream.write(_line(finding))

            yield keep
    except OSError as error:
        raise StorageError.on_writing(journal, error) from error


def _line(finding: Finding) -> bytes:
    return json.dumps(asdict(finding), separators=(",", ":")).encode() + b"\n"


def _finding(line: str) -> Finding:
    content = json.loads(line)
    circle = content["circle"] and Circle(**content["circle"])
    verdict = Verdict(content["verdict"])
    return Finding(**{**content, "circle": circle, "verdict": verdict})
