"""A SavedModel in TensorFlow, which lives in a process and an environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_serve.runtimes.framework_network import FrameworkNetwork

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.runtimes import Resources


def load(path: Path, resources: Resources) -> FrameworkNetwork:
    """Load the folder of a SavedModel."""
    return FrameworkNetwork("tensorflow", path, resources)
