from __future__ import annotations

import re

import pytest

from prumo.environment import find_framework
from prumo.environment.framework import LOCKS
from prumo.errors import InputError, UnavailableError


def test_a_bare_name_is_the_version_that_prumo_was_tested_with() -> None:
    request = find_framework("pytorch", gpu=False)

    assert request.version == "2.13.0"
    assert request.lock == LOCKS / "pytorch-2.13.0.txt"


def test_the_words_of_a_level_win_over_the_versions_of_a_study() -> None:
    versions = {"pytorch": "2.12.0"}

    assert find_framework("pytorch", versions=versions, gpu=False).version == "2.12.0"
    assert find_framework("pytorch@2.11.0", versions=versions, gpu=False).version == "2.11.0"


@pytest.mark.parametrize(
    ("text", "version", "label"),
    [
        ("pytorch@2.13", "2.13.0", ""),
        ("pytorch@2.13.0+cpu", "2.13.0", "cpu"),
        ("pytorch@2.14.0rc1", "2.14.0rc1", ""),
        ("pytorch@2.13.0.post1+cu130", "2.13.0.post1", "cu130"),
    ],
)
def test_versions_are_read_as_pip_reads_them(text: str, version: str, label: str) -> None:
    request = find_framework(text, gpu=False)

    assert (request.version, request.label) == (version, label)


@pytest.mark.parametrize("text", ["pytorch@latest", "pytorch@2.x", "pytorch@../2.13.0"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a version of pytorch"):
        find_framework(text)


def test_a_misspelt_framework_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean 'pytorch'"):
        find_framework("pytroch@2.13.0")


@pytest.mark.parametrize("name", ["tensorflow", "mxnet", "jax", "caffe"])
def test_a_framework_that_cannot_be_installed_says_why(name: str) -> None:
    with pytest.raises(UnavailableError, match=f"{name} cannot be set up: .+"):
        find_framework(f"{name}@1.9.1")


def test_the_name_tells_framework_version_variant_and_lock() -> None:
    assert re.fullmatch(
        r"pytorch-2\.13\.0-cpu-[0-9a-f]{10}", find_framework("pytorch", gpu=False).name
    )


def test_machines_with_and_without_a_gpu_share_no_environment() -> None:
    without, with_gpu = (find_framework("pytorch", gpu=gpu) for gpu in (False, True))

    assert without.variant == "cpu"
    assert with_gpu.variant == "cuda"
    assert without.name != with_gpu.name


def test_a_build_that_the_user_names_is_not_mistaken_for_what_prumo_would_choose() -> None:
    chosen, named = find_framework("pytorch", gpu=False), find_framework("pytorch@2.13.0+cpu")

    assert named.variant == chosen.variant
    assert named.name != chosen.name


def test_another_python_needs_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    request = find_framework("pytorch", gpu=False)
    before = request.name
    monkeypatch.setattr("sys.version_info", _Version(3, 99))

    assert request.name != before


class _Version:
    def __init__(self, major: int, minor: int) -> None:
        self.major = major
        self.minor = minor
