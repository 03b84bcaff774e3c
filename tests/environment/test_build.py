from __future__ import annotations

import pytest

from prumo.environment import find_framework
from prumo.environment.build import advice_on, choose_build
from prumo.errors import UnavailableError

EVERYTHING = ["2.14.0", "2.13.0+cu130", "2.13.0+cu126", "2.13.0+cpu", "2.13.0+rocm7.0", "2.13.0"]


def test_a_machine_without_a_gpu_takes_the_cpu_build() -> None:
    assert choose_build(find_framework("pytorch", gpu=False), EVERYTHING) == "2.13.0+cpu"


def test_a_machine_with_a_gpu_takes_the_newest_cuda_build() -> None:
    assert choose_build(find_framework("pytorch", gpu=True), EVERYTHING) == "2.13.0+cu130"


def test_a_machine_with_a_gpu_takes_the_plain_build_rather_than_the_cpu_build() -> None:
    request = find_framework("pytorch", gpu=True)

    assert choose_build(request, ["2.13.0+cpu", "2.13.0"]) == "2.13.0"


def test_a_cpu_build_is_not_forced_upon_a_gpu_even_when_it_is_the_only_one() -> None:
    request = find_framework("pytorch", gpu=True)

    with pytest.raises(UnavailableError, match=r"only a CPU build .* pytorch@2\.13\.0\+cpu"):
        choose_build(request, ["2.13.0+cpu"])


@pytest.mark.parametrize("gpu", [False, True])
def test_a_build_that_the_user_names_is_taken_on_any_machine(gpu: bool) -> None:
    request = find_framework("pytorch@2.13.0+cu126", gpu=gpu)

    assert choose_build(request, EVERYTHING) == "2.13.0+cu126"


def test_a_named_build_is_not_replaced_by_another() -> None:
    request = find_framework("pytorch@2.13.0+cu118", gpu=True)

    with pytest.raises(UnavailableError, match=r"offers no torch 2\.13\.0\+cu118"):
        choose_build(request, EVERYTHING)


def test_a_version_that_is_not_offered_is_answered_with_those_that_are() -> None:
    request = find_framework("pytorch@9.9.9", gpu=False)

    with pytest.raises(UnavailableError, match=r"no torch 9\.9\.9 .* offers 2\.14\.0, 2\.13\.0"):
        choose_build(request, EVERYTHING)


def test_the_plain_build_on_a_machine_without_a_gpu_comes_with_advice() -> None:
    request = find_framework("pytorch", gpu=False)

    assert choose_build(request, ["2.13.0"]) == "2.13.0"
    assert "download.pytorch.org/whl/cpu" in advice_on(request, "2.13.0")
    assert advice_on(request, "2.13.0+cpu") == ""
    assert advice_on(find_framework("pytorch", gpu=True), "2.13.0") == ""
