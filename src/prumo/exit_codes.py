"""The exit codes of every command, in one place."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a shell or a CI system sees when a command ends."""

    DONE = 0
    FINDINGS = 1
    """The command did its work, and what it looked at is not in order: a run failed, a claim does
    not agree, a rule is broken."""
    BAD_INPUT = 2
    """Something given is wrong, absent or in use; the message says what would be right."""
    INTERNAL_ERROR = 70
    """A defect of Prumo's; `EX_SOFTWARE` of sysexits."""
    INTERRUPTED = 130
    """Ctrl-C or SIGTERM; what finished is kept. As shells report SIGINT."""
    BROKEN_PIPE = 141
    """The reader of the output has gone. As shells report SIGPIPE."""
