from __future__ import annotations

import pytest

from prumo.environments.frameworks import find_framework
from prumo.environments.pip import VirtualEnvironment, advice_on, choose_build
from prumo.errors import UnavailableError

SOURCE = VirtualEnvironment("torch", cpu_index="https://nowhere.test/cpu")
EVERYTHING = ["2.14.0", "2.13.0+cu130", "2.13.0+cu126", "2.13.0+cpu", "2.13.0+rocm7.0", "2.13.0"]


def test_a_machine_without_a_gpu_takes_the_cpu_build() -> None:
    assert (
        choose_build(find_framework("pytorch", machine="cpu"), "torch", EVERYTHING) == "2.13.0+cpu"
    )


def test_a_machine_with_a_gpu_takes_the_newest_cuda_build() -> None:
    assert (
        choose_build(find_framework("pytorch", machine="cuda"), "torch", EVERYTHING)
        == "2.13.0+cu130"
    )


def test_a_machine_with_a_gpu_takes_the_plain_build_rather_than_the_cpu_build() -> None:
    request = find_framework("pytorch", machine="cuda")

    assert choose_build(request, "torch", ["2.13.0+cpu", "2.13.0"]) == "2.13.0"


def test_a_cpu_build_is_not_forced_upon_a_gpu_even_when_it_is_the_only_one() -> None:
    request = find_framework("pytorch", machine="cuda")

    with pytest.raises(UnavailableError, match=r"only a CPU build .* pytorch@2\.13\.0\+cpu"):
        choose_build(request, "torch", ["2.13.0+cpu"])


@pytest.mark.parametrize("machine", ["cpu", "cuda"])
def test_a_build_that_the_user_names_is_taken_on_any_machine(machine: str) -> None:
    request = find_framework("pytorch@2.13.0+cu126", machine=machine)

    assert choose_build(request, "torch", EVERYTHING) == "2.13.0+cu126"


def test_a_named_build_is_not_replaced_by_another() -> None:
    request = find_framework("pytorch@2.13.0+cu118", machine="cuda")

    with pytest.raises(UnavailableError, match=r"offers no torch 2\.13\.0\+cu118"):
        choose_build(request, "torch", EVERYTHING)


def test_a_cpu_build_that_is_named_is_not_replaced_by_the_plain_one() -> None:
    request = find_framework("pytorch@2.13.0+cpu", machine="cpu")

    with pytest.raises(UnavailableError, match=r"offers no torch 2\.13\.0\+cpu"):
        choose_build(request, "torch", ["2.13.0"])


@pytest.mark.parametrize(
    ("text", "package"), [("tensorflow@2.21", "tensorflow-cpu"), ("jax@0.10.2", "jax")]
)
def test_where_builds_have_no_labels_cpu_asks_for_the_plain_one(text: str, package: str) -> None:
    request = find_framework(f"{text}+cpu", machine="cuda")

    assert choose_build(request, package, [request.version]) == request.version


def test_a_version_without_a_package_for_tpus_is_told_with_the_way_without_one() -> None:
    request = find_framework("tensorflow@2.21.0", machine="tpu")

    with pytest.raises(UnavailableError, match=r"offers 2\.20\.0; .* tensorflow@2\.21\.0\+cpu"):
        choose_build(request, "tensorflow-tpu", ["2.20.0"])


def test_a_version_that_is_not_offered_is_answered_with_those_that_are() -> None:
    request = find_framework("pytorch@9.9.9", machine="cpu")

    with pytest.raises(UnavailableError, match=r"no torch 9\.9\.9 .* offers 2\.14\.0, 2\.13\.0"):
        choose_build(request, "torch", EVERYTHING)


def test_the_plain_build_on_a_machine_without_a_gpu_comes_with_advice() -> None:
    request = find_framework("pytorch", machine="cpu")

    assert choose_build(request, "torch", ["2.13.0"]) == "2.13.0"
    assert "nowhere.test/cpu" in advice_on(request, SOURCE, "2.13.0")
    assert advice_on(request, SOURCE, "2.13.0+cpu") == ""
    assert advice_on(find_framework("pytorch", machine="cuda"), SOURCE, "2.13.0") == ""
