"""A wheel has what an installed Prumo needs beside its modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_wheel_has_the_dockerfiles_and_modules(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, ROOT)
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("prumo-*.whl")
    names = {Path(name) for name in ZipFile(wheel).namelist()}
    for folder in ("images", "terraform"):
        files = [path for path in (ROOT / "infrastructure" / folder).rglob("*") if path.is_file()]
        sources = {path.relative_to(ROOT) for path in files if ".terraform" not in path.parts}
        assert sources
        assert {"prumo_endpoint" / source for source in sources} <= names
