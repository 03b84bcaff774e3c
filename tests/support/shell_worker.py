"""An environment whose interpreter is a script for the shell: a real one takes seconds to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.environments.store import Environment

if TYPE_CHECKING:
    from pathlib import Path


def shell_environment(folder: Path, script: str) -> Environment:
    """One in a folder, whose worker does what the script says."""
    python = folder / "environment/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return Environment(
        name="fake",
        path=folder / "environment",
        framework="tensorflow",
        version="",
        variant="",
        build="",
        python_version="",
        lock_hash="",
        created="",
        size_bytes=0,
        packages={},
    )
