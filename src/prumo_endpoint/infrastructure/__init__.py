"""Where Dockerfiles and Terraform modules are: here in a wheel, at the root of a source tree."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
_FOLDER = _HERE if (_HERE / "images").is_dir() else _HERE.parents[2] / "infrastructure"

IMAGES = _FOLDER / "images"
TERRAFORM = _FOLDER / "terraform"
