from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import prumo_worker
from prumo.environments.store import worker_path

if TYPE_CHECKING:
    from prumo.environments.store import Environment


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path))


def test_only_the_worker_can_be_imported_from_its_folder(ready: Environment) -> None:
    result = _import_in(ready.python, "prumo_worker")

    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).is_relative_to(worker_path())
    for name in ("prumo", "click"):
        assert f"No module named '{name}'" in _import_in(ready.python, name).stderr


def test_the_folder_holds_the_sources_and_nothing_compiled() -> None:
    assert [path.name for path in worker_path().iterdir()] == ["prumo_worker"]
    copied = {path.relative_to(worker_path()) for path in worker_path().rglob("*.py")}
    source = Path(prumo_worker.__file__).parents[1]
    assert copied == {path.relative_to(source) for path in source.glob("prumo_worker/**/*.py")}
    assert not list(worker_path().rglob("*.pyc"))


def test_the_same_source_is_copied_once() -> None:
    first = worker_path()
    before = first.stat().st_ino

    assert worker_path() == first
    assert first.stat().st_ino == before
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_a_changed_source_gets_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unchanged = worker_path()
    changed = tmp_path / "source" / "prumo_worker"
    changed.mkdir(parents=True)
    (changed / "__init__.py").write_text("changed = True\n")
    monkeypatch.delitem(sys.modules, "prumo_worker")
    monkeypatch.syspath_prepend(str(changed.parent))

    assert worker_path() != unchanged
    assert (worker_path() / "prumo_worker" / "__init__.py").read_text() == "changed = True\n"


def _import_in(python: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-c", f"import {name}; print({name}.__file__)"],
        env={"PYTHONPATH": str(worker_path()), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
