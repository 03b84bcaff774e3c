from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.environments.store import Environment, environments, existing
from prumo.errors import SetupError, StorageError
from support.fakes_environment import READY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.heard_progress import Heard


def test_the_build_that_was_named_and_the_pinned_packages_are_installed(ready: Environment) -> None:
    assert ready.build == "2.13.0+cpu"
    assert ready.packages["torch"] == "2.13.0+cpu"
    assert ready.packages["numpy"] == "2.4.6"
    assert ready.packages["filelock"] == "4.2.10"


def test_the_marker_tells_what_is_installed(ready: Environment) -> None:
    marker = json.loads((ready.path / "environment.json").read_text())

    assert marker["packages"] == ready.packages
    assert marker["python_version"].startswith("3.")
    assert marker["lock_hash"] == find_framework(READY).lock_hash
    assert marker["size_bytes"] > 1_000_000


def test_the_environment_has_the_framework_and_nothing_of_the_controller(
    ready: Environment,
) -> None:
    script = "import torch; print(torch.__version__); import click"
    result = subprocess.run(
        [ready.python, "-c", script], capture_output=True, text=True, check=False
    )

    assert result.stdout.strip() == "2.13.0+cpu"
    assert "No module named 'click'" in result.stderr


def test_an_environment_that_is_there_is_not_made_again(
    filled_cache: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(filled_cache / "nothing"))

    found = ensure(find_framework(READY), heard)

    assert found.path.is_relative_to(filled_cache)
    assert heard.said == heard.shown == []


def test_an_environment_whose_python_was_removed_does_not_count(filled_cache: Path) -> None:
    request = find_framework(READY)
    found = existing(request)
    assert found is not None
    found.python.unlink()

    assert existing(request) is None
    assert environments() == []
    assert filled_cache.is_dir()


@pytest.mark.usefixtures("cache")
def test_without_a_lock_pip_decides_and_its_decision_is_kept(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("PIP_TARGET", str(Path(__file__).parent / "astray"))
    monkeypatch.setenv("PIP_QUIET", "3")
    request = find_framework("pytorch@3.0.0", machine="cuda")
    assert request.lock is None

    made = ensure(request, heard)

    pins = (made.path / "lock.txt").read_text().splitlines()
    assert {"torch==3.0.0", "numpy==99.0", "filelock==99.0"} <= set(pins)
    assert any("torch" in activity for activity in heard.shown)


def test_what_pip_said_and_where_the_log_is_follow_a_failure(cache: Path, heard: Heard) -> None:
    request = find_framework("pytorch@5.0.0", machine="cpu")

    with pytest.raises(SetupError) as caught:
        ensure(request, heard)

    log = cache / "logs" / f"{request.name}.log"
    assert "No matching distribution found for nowhere-to-be-found" in str(caught.value)
    assert str(log) in str(caught.value)
    assert "-m pip install torch===5.0.0 numpy" in log.read_text()
    assert list((cache / "environments").iterdir()) == []
    assert any("no CPU build of torch 5.0.0" in said for said in heard.said)


@pytest.mark.parametrize(
    ("version", "reason"),
    [("4.0.0", "numpy is too new"), ("4.1.0", "'object' object is not callable")],
    ids=["cannot be imported", "does not understand numpy"],
)
def test_a_framework_that_does_not_work_is_not_an_environment(
    cache: Path, version: str, reason: str
) -> None:
    with pytest.raises(SetupError, match=f"torch {version} was installed and does not work") as no:
        ensure(find_framework(f"pytorch@{version}", machine="cpu"))

    assert reason in str(no.value)

    assert list((cache / "environments").iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_a_version_that_cannot_use_the_gpu_is_not_set_up_for_one() -> None:
    with pytest.raises(SetupError, match=r"comes without jax_cuda13_plugin.*: jax@8\.0\.0\+cpu"):
        ensure(find_framework("jax@8.0.0", machine="cuda"))

    assert environments() == []
    assert ensure(find_framework("jax@8.0.0+cpu", machine="cuda")).variant == "cpu"


@pytest.mark.usefixtures("cache")
def test_a_version_that_can_use_the_gpu_comes_with_its_plugin() -> None:
    made = ensure(find_framework("jax@9.0.0", machine="cuda"))

    assert made.variant == "cuda"
    assert made.packages["jax-cuda13-plugin"] == "9.0.0"


@pytest.mark.usefixtures("cache")
def test_a_python_without_venv_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)

    with pytest.raises(SetupError, match="apt install python3-venv"):
        ensure(find_framework("pytorch", machine="cpu"))


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    monkeypatch.setenv("PRUMO_CACHE", str(blocker / "cache"))

    with pytest.raises(StorageError, match=r"cannot write in the cache .* PRUMO_CACHE"):
        ensure(find_framework("pytorch", machine="cpu"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that is full before an environment is whole."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.root
@pytest.mark.usefixtures("cache")
def test_a_full_disk_is_named_and_nothing_half_made_stays_on_it(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(small_disk))

    with pytest.raises(SetupError, match="No space left on device"):
        ensure(find_framework("pytorch", machine="cpu"))

    assert list((small_disk / "environments").iterdir()) == []


@pytest.mark.root
def test_a_read_only_cache_is_named(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(small_disk))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    with pytest.raises(StorageError, match="Read-only file system; PRUMO_CACHE can name another"):
        ensure(find_framework("pytorch", machine="cpu"))


@pytest.mark.torch
def test_the_real_pytorch_computes(pytorch_python: Path) -> None:
    script = "import torch; print((torch.ones(2, 2) @ torch.ones(2, 2)).sum().item())"
    result = subprocess.run(
        [pytorch_python, "-I", "-c", script], capture_output=True, text=True, check=True
    )

    assert float(result.stdout) == 8.0
