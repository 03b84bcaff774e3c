"""The task `retina_prediction` in real TensorFlow: scores, heat maps and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from support.retina_networks import GRADE_WEIGHTS
from support.retina_prediction_process import BACKBONES, PATCH, ask

if TYPE_CHECKING:
    from conftest import FrameworkPython

pytestmark = pytest.mark.frameworks


@pytest.fixture(scope="module")
def told(
    framework_python: FrameworkPython, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    return ask(framework_python("tensorflow"), tmp_path_factory.mktemp("prediction"))


def test_scores_come_before_the_activation_in_the_order_of_the_images(told: dict[str, Any]) -> None:
    answer = told["scores"]
    expected = np.outer(answer["brightness"], GRADE_WEIGHTS)
    np.testing.assert_allclose(answer["scores"], expected, atol=1e-5)
    np.testing.assert_allclose(answer["with_maps"], expected, atol=1e-5)
    assert answer["kind"] == "float32"
    assert answer["maps"] == [7, 8, 8]


def test_the_journal_tells_what_is_loaded_and_how_far_it_is(told: dict[str, Any]) -> None:
    ready, *steps = told["scores"]["events"]
    assert (ready["event"], ready["device"], ready["network"]["name"]) == ("ready", "cpu", "grade")
    assert [(step["event"], step["images"]) for step in steps] == [
        ("step", 3),
        ("step", 3),
        ("step", 1),
    ]


@pytest.mark.parametrize("task", ["grade", "referral"])
@pytest.mark.parametrize("layers", ["nested", "flat"])
def test_a_heat_map_is_hottest_where_the_reason_is(
    told: dict[str, Any], task: str, layers: str
) -> None:
    heat = np.array(told["heat"][f"{task}, {layers}"])
    assert heat[PATCH] == 1
    others = np.delete(heat.ravel(), heat.argmax())
    assert len(others) == 63
    np.testing.assert_allclose(others, 20 / 240, rtol=1e-4)


def test_a_photograph_without_a_reason_has_a_cold_heat_map(told: dict[str, Any]) -> None:
    assert not np.array(told["dark"]).any()


def test_a_heat_map_under_a_linear_head_is_what_numpy_computes(told: dict[str, Any]) -> None:
    linear = {name: np.array(values) for name, values in told["linear"].items()}
    shares = np.exp(linear["scores"]) / np.exp(linear["scores"]).sum(axis=1, keepdims=True)
    below, above = shares[:, :2], shares[:, 2:]
    gradient = np.concatenate(
        [-below / below.sum(axis=1, keepdims=True), above / above.sum(axis=1, keepdims=True)],
        axis=1,
    )
    channels = gradient @ linear["weights"].T
    heat = np.maximum(np.einsum("irck,ik->irc", linear["features"], channels), 0)
    heat /= heat.max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(linear["maps"], heat, atol=1e-4)


@pytest.mark.parametrize("name", BACKBONES)
def test_every_backbone_has_heat_maps_and_the_same_scores_with_them(
    told: dict[str, Any], name: str
) -> None:
    answer = told["backbones"][name]
    np.testing.assert_allclose(answer["scores"], answer["plain"], rtol=1e-4, atol=1e-5)
    maps = np.array(answer["maps"])
    assert maps.ndim == 3
    assert 0 <= maps.min() <= maps.max() <= 1


@pytest.mark.parametrize(
    ("case", "kind", "reason"),
    [
        ("small", "DataError", "small.jpg is 32x32 pixels; the network takes 64x64"),
        ("text", "DataError", "text.jpg cannot be read as a JPEG"),
        ("missing", "DataError", "missing.jpg cannot be read as a JPEG"),
        ("none", "TaskError", "must be a list of the paths of images, one at least"),
        ("device", "TaskError", "device: must be one of cpu, cuda; it is 'gpu'"),
        ("batch", "TaskError", "batch_size: must be a whole number"),
        ("cut network", "DataError", "model.keras cannot be loaded as a network"),
        ("no network", "DataError", "model.keras cannot be loaded as a network"),
        ("other network", "DataError", "has no layer named 'scores'"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_a_reason(
    told: dict[str, Any], case: str, kind: str, reason: str
) -> None:
    refusal = told["refusals"][case]
    assert refusal.startswith(kind)
    assert reason in refusal


def test_a_machine_without_a_gpu_says_so(told: dict[str, Any]) -> None:
    if not told["cuda"]:
        pytest.skip("absent hardware: only a machine without a GPU can say so")
    assert told["cuda"].startswith("no CUDA device")
