"""`prumo setup`, as a user calls it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prumo.environments.store import environments
from support.fakes_environment import READY

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Prumo = Callable[..., subprocess.CompletedProcess[str]]

COMMANDS = """
name: demo
workload: {kind: command, command: "sleep {seconds}"}
factors: {seconds: [1, 2]}
"""


@pytest.mark.usefixtures("filled_cache")
def test_what_is_set_up_is_printed_for_people_and_for_programs(prumo: Prumo) -> None:
    (environment,) = environments()

    assert environment.name in prumo("setup", "--list").stdout
    listed = json.loads(prumo("setup", "--list", "--json").stdout)
    assert listed == {"environments": [environment.as_json()]}


@pytest.mark.usefixtures("cache")
def test_an_empty_list_says_how_to_make_an_environment(prumo: Prumo) -> None:
    assert "prumo setup pytorch" in prumo("setup", "--list").stdout
    assert json.loads(prumo("setup", "--list", "--json").stdout) == {"environments": []}


@pytest.mark.usefixtures("filled_cache")
def test_a_framework_that_is_there_is_found_by_its_name(prumo: Prumo) -> None:
    (environment,) = environments()

    result = prumo("setup", READY, "--json")
    assert json.loads(result.stdout)["environments"][0]["name"] == environment.name


@pytest.mark.usefixtures("filled_cache")
def test_environments_are_removed_by_name_or_all_at_once(prumo: Prumo) -> None:
    (environment,) = environments()

    misspelt = prumo("setup", "--remove", environment.name[:-1])
    assert misspelt.returncode == 2
    assert f"did you mean '{environment.name}'?" in misspelt.stderr

    assert f"removed {environment.name}" in prumo("setup", "--remove", "all").stdout
    assert environments() == []


@pytest.mark.usefixtures("cache")
def test_a_study_of_commands_is_told_that_it_needs_nothing(tmp_path: Path, prumo: Prumo) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(COMMANDS)

    result = prumo("setup", str(study), "--json")

    assert json.loads(result.stdout) == {"environments": []}
    assert "need no environment" in result.stderr


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pytroch"], "did you mean 'pytorch'?"),
        (["caffe@0.9.0"], "caffe 0.9.0 cannot be set up"),
        (["missing.yaml"], "no such file"),
        ([], "name a study file"),
        (["--list", "--remove"], "exclude each other"),
    ],
)
def test_mistakes_are_answered_without_a_traceback(
    words: list[str], message: str, prumo: Prumo
) -> None:
    result = prumo("setup", *words)

    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
