"""What `make test` does about programs that only the system's packages have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parent.parent / "Makefile"
STAMP = ".venv/system-packages"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """All programs of a machine on which root has neither a browser nor, yet, apt-get."""
    folder = tmp_path / "bin"
    folder.mkdir()
    touch = shutil.which("touch")
    assert touch is not None
    (folder / "touch").symlink_to(touch)
    _write_program(folder / "id", "echo 0")
    return folder


def test_packages_that_cannot_be_installed_are_told_and_tried_again(programs: Path) -> None:
    _write_program(programs / "apt-get", "exit 100")

    failed = _make(programs)

    assert failed.returncode == 0, failed.stderr
    assert "not installed: chromium" in failed.stdout
    assert "tests that need them will skip" in failed.stdout
    assert not (programs.parent / STAMP).exists()

    _write_program(programs / "apt-get", "exit 0")

    assert _make(programs).returncode == 0
    assert (programs.parent / STAMP).exists()


def test_a_machine_without_apt_is_told_what_is_missing(programs: Path) -> None:
    done = _make(programs)

    assert done.returncode == 0, done.stderr
    assert "not installed: chromium" in done.stdout


def _make(programs: Path) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    if not make:
        pytest.skip("make is not installed")
    ready = programs.parent / ".venv" / "test-ready"
    ready.parent.mkdir(exist_ok=True)
    ready.touch()
    return subprocess.run(
        [make, "-f", MAKEFILE, "-o", ".venv/test-ready", STAMP],
        cwd=programs.parent,
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )


def _write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
