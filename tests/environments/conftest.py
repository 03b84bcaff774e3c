from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from support.fakes_environment import READY, make_index, offline
from support.heard_progress import Heard

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.environments.store import Environment


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("packages") / "index")


@pytest.fixture(scope="session")
def ready(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment that was set up once for all tests that only look at it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in offline(index, tmp_path_factory.mktemp("ready")).items():
            patch.setenv(name, value)
        return ensure(find_framework(READY))


@pytest.fixture
def cache(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and pip without a network."""
    folder = tmp_path / "cache"
    for name, value in offline(index, folder).items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def filled_cache(cache: Path, ready: Environment) -> Path:
    """A cache of one's own with an environment in it."""
    shutil.copytree(ready.path.parents[1], cache, symlinks=True)
    return cache
