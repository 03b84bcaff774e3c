"""What is to be started for a run: the same for every kind of workload."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)

# Of the controller's own interpreter: they would lead another interpreter astray.
PYTHON_VARIABLES = (
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
    "__PYVENV_LAUNCHER__",
)


@dataclass(frozen=True)
class Launch:
    """A command with its environment, and how its figures are found."""

    command: list[str]
    directory: Path
    environment: Mapping[str, str]
    task: Mapping[str, Any] | None = None
    """What the worker is asked, for workers that follow the protocol."""
    threads: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The isolated environment's name and packages, for the record."""


def thread_environment(threads: int) -> dict[str, str]:
    """The variables by which the numeric libraries learn how many threads to use."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


def clean_environment() -> dict[str, str]:
    """This process's environment without what belongs to its own interpreter."""
    return {name: value for name, value in os.environ.items() if name not in PYTHON_VARIABLES}
