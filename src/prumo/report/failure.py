"""Runs that gave no figures, grouped so that many alike read as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.report.sentence import verdict_words

if TYPE_CHECKING:
    from prumo.report.content import Report


@dataclass(frozen=True)
class FailureGroup:
    """The runs that ended in the same way for the same reason."""

    verdict: str
    reason: Message | str
    runs: tuple[str, ...]

    @property
    def words(self) -> Message:
        """The verdict in words."""
        return verdict_words(self.verdict)


def failure_groups(report: Report) -> list[FailureGroup]:
    """Every failed run once, ordered by verdict, then reason."""
    groups = report.failures.group_by("verdict", "reason", maintain_order=True).agg("run")
    return [
        FailureGroup(verdict, reason or Message("no reason was recorded"), tuple(runs))
        for verdict, reason, runs in groups.sort("verdict", maintain_order=True).rows()
    ]
