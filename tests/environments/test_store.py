from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.cache import reserved
from prumo.environments.frameworks import find_framework
from prumo.environments.store import environments, existing, remove, sweep
from prumo.errors import BusyError, InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_an_empty_cache_has_no_environments_and_none_is_made_by_looking(cache: Path) -> None:
    assert environments() == []
    assert existing(find_framework("pytorch", machine="cpu")) is None
    assert not cache.exists()


def test_a_removed_environment_is_gone_with_its_files(filled_cache: Path) -> None:
    (environment,) = environments()

    assert remove(environment.name) == environment

    assert environments() == []
    assert list((filled_cache / "environments").iterdir()) == []


@pytest.mark.usefixtures("filled_cache")
def test_a_misspelt_environment_is_answered_with_the_nearest_one() -> None:
    (environment,) = environments()

    with pytest.raises(InputError, match=f"did you mean '{environment.name}'"):
        remove(environment.name[:-1])


@pytest.mark.usefixtures("cache")
def test_removing_from_an_empty_cache_says_that_it_is_empty() -> None:
    with pytest.raises(InputError, match="there are no environments"):
        remove("pytorch-2.13.0-cpu-0123456789")


@pytest.mark.usefixtures("filled_cache")
def test_an_environment_that_is_being_set_up_is_not_removed() -> None:
    (environment,) = environments()

    with reserved(environment.name), pytest.raises(BusyError, match="being made or removed"):
        remove(environment.name)

    assert environments() == [environment]


def test_a_damaged_marker_makes_no_environment(filled_cache: Path) -> None:
    (environment,) = environments()
    (environment.path / "environment.json").write_text('{"framework": "pyt')

    assert environments() == []
    assert filled_cache.is_dir()


def test_a_sweep_takes_half_made_environments_and_leaves_everything_else(
    filled_cache: Path,
) -> None:
    folder = filled_cache / "environments"
    for name in ("half-made", "in-the-making", "of-the-user"):
        (folder / name).mkdir()
    with reserved("half-made"):
        pass

    with reserved("in-the-making"):
        sweep()

    left = {path.name for path in folder.iterdir()}
    assert left == {environments()[0].name, "in-the-making", "of-the-user"}
