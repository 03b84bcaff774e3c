"""What a guard is told to run, and what it tells about the end."""

from __future__ import annotations

from dataclasses import dataclass

KEPT_LOG_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Order:
    """A command and its limits."""

    command: list[str]
    directory: str
    environment: dict[str, str]
    log: str
    timeout_seconds: float | None = None
    stop_seconds: float = 10.0
    memory_bytes: int | None = None
    """Watched by looking at the processes, where no control group can hold them."""
    affinity: list[int] | None = None
    join: tuple[str, ...] = ()
    """Files of control groups to which the command's process number is written."""
    log_bytes: int = KEPT_LOG_BYTES


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    exit_code: int | None = None
    signal: int | None = None
    cause: str | None = None
    """Why the guard ended it: `stopped`, `timeout`, `memory`; None when it ended by itself."""
    failure: str = ""
    """Why it could not be started at all."""
    wall_seconds: float = 0.0
    max_rss_bytes: int = 0
    """The most memory that the command, or one of its ended children, held by itself."""
    left_behind: int = 0
    """Processes that the command left running, killed by the guard."""
    survivors: int = 0
    """Processes that could not be killed: they belong to another user."""
    log_omitted_bytes: int = 0
