from __future__ import annotations

import re

import pytest

from prumo.environments.framework import LOCKS
from prumo.environments.frameworks import FRAMEWORKS, find_framework
from prumo.errors import InputError
from prumo.machine.accelerators import Gpus
from prumo_worker.frameworks import NAMES


def test_a_bare_name_is_the_version_that_prumo_was_tested_with() -> None:
    request = find_framework("pytorch", machine="cpu")

    assert request.version == "2.13.0"
    assert request.lock == LOCKS / "pytorch-2.13.0.txt"


def test_what_can_be_set_up_is_what_workers_can_train_with() -> None:
    assert set(FRAMEWORKS) == set(NAMES)


def test_the_words_of_a_level_win_over_the_versions_of_a_study() -> None:
    versions = {"pytorch": "2.12.0"}

    assert find_framework("pytorch", versions=versions, machine="cpu").version == "2.12.0"
    assert find_framework("pytorch@2.11.0", versions=versions, machine="cpu").version == "2.11.0"


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
    request = find_framework(text, machine="cpu")

    assert (request.version, request.label) == (version, label)


@pytest.mark.parametrize("text", ["pytorch@latest", "pytorch@2.x", "pytorch@../2.13.0"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a version of pytorch"):
        find_framework(text)


def test_a_misspelt_framework_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean 'pytorch'"):
        find_framework("pytroch@2.13.0")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_framework_has_a_version_that_prumo_was_tested_with(name: str) -> None:
    request = find_framework(name, machine="cpu")

    assert request.framework.name == name
    assert request.version == request.framework.default_version


def test_the_name_tells_framework_version_variant_and_lock() -> None:
    assert re.fullmatch(
        r"pytorch-2\.13\.0-cpu-[0-9a-f]{10}", find_framework("pytorch", machine="cpu").name
    )


def test_machines_with_and_without_a_gpu_share_no_environment() -> None:
    without, with_gpu = (find_framework("pytorch", machine=name) for name in ("cpu", "cuda"))

    assert without.variant == "cpu"
    assert with_gpu.variant == "cuda"
    assert without.name != with_gpu.name


@pytest.mark.parametrize(
    ("name", "variant"),
    [("pytorch", "cpu"), ("tensorflow", "tpu"), ("mxnet", "cpu"), ("jax", "tpu"), ("caffe", "cpu")],
)
def test_a_machine_with_a_tpu_gets_what_there_is_for_it(name: str, variant: str) -> None:
    assert find_framework(name, machine="tpu").variant == variant


def test_a_framework_that_is_built_for_processors_alone_is_the_same_on_every_machine() -> None:
    without, with_gpu = (find_framework("caffe", machine=name) for name in ("cpu", "cuda"))

    assert with_gpu == without
    assert with_gpu.name.startswith("caffe-1.0.0-cpu-")


@pytest.mark.parametrize("name", ["tensorflow", "mxnet", "jax", "caffe"])
def test_where_builds_have_no_labels_cpu_names_the_kind_of_machine(name: str) -> None:
    version = FRAMEWORKS[name].default_version

    named = find_framework(f"{name}@{version}+cpu", machine="cuda")

    assert named == find_framework(name, machine="cpu")


def test_a_kind_of_machine_can_be_named_in_place_of_the_one_that_is_there() -> None:
    assert find_framework("jax@0.10.2+tpu", machine="cpu") == find_framework("jax", machine="tpu")


def test_without_a_word_the_machine_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prumo.environments.frameworks.read_gpus", lambda: Gpus((), None, "none"))
    for there, variant in ((True, "tpu"), (False, "cpu")):
        monkeypatch.setattr("prumo.environments.frameworks.has_tpu", lambda there=there: there)

        assert find_framework("jax").variant == variant


def test_a_build_that_the_user_names_is_not_mistaken_for_what_prumo_would_choose() -> None:
    chosen, named = find_framework("pytorch", machine="cpu"), find_framework("pytorch@2.13.0+cpu")

    assert named.variant == chosen.variant
    assert named.name != chosen.name


def test_another_python_needs_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    request = find_framework("pytorch", machine="cpu")
    before = request.name
    monkeypatch.setattr("sys.version_info", _Version(3, 99))

    assert request.name != before


class _Version:
    def __init__(self, major: int, minor: int) -> None:
        self.major = major
        self.minor = minor
