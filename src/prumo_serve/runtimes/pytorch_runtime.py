"""An export of PyTorch's, which lives in a process and an environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_serve.runtimes.framework_network import FrameworkNetwork
from prumo_serve.source.pytorch_export import require_harmless

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.runtimes import Resources


def load(path: Path, resources: Resources) -> FrameworkNetwork:
    """Load a .pt2 file in which nothing is left that PyTorch would run."""
    require_harmless(path)
    return FrameworkNetwork("pytorch", path, resources)
