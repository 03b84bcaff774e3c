"""A folder of its own for every golden test: fixed results and inputs, an empty cache."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support.golden_file import INPUTS, RESULTS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths told are relative; nothing of the user's cache, language or terminal has a say."""
    shutil.copytree(RESULTS, tmp_path / "results")
    shutil.copytree(INPUTS, tmp_path / "inputs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("PRUMO_LANG", "MLFLOW_TRACKING_URI", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def known(tmp_path: Path) -> dict[str, str]:
    """What stands for the folder of the test."""
    return {str(tmp_path): "<folder>"}
