"""Backbones in real TensorFlow: what real PyTorch computes with the same weights, they compute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from prumo_retina.weights import named_arrays
from prumo_retina.weights.files import write_arrays
from prumo_worker.retina.backbones import NAMES, build_backbone
from prumo_worker.task import TaskError
from support.framework_process import run_script
from support.retina_backbones_process import APPLICATIONS, ask, compare
from support.weight_files import onnx_model, written

if TYPE_CHECKING:
    from conftest import FrameworkPython

TORCH_SCRIPT = "support/retina_pytorch_process.py"
IMAGENET_OFFSET = pytest.approx([123.675, 116.28, 103.53])
OFFSETS = {
    "densenet121": IMAGENET_OFFSET,
    "efficientnet_lite0": [127.0, 127.0, 127.0],
    "inception_v3": [127.5, 127.5, 127.5],
    "mobilenet": [127.5, 127.5, 127.5],
    "mobilenet_v2": IMAGENET_OFFSET,
    "resnet50": IMAGENET_OFFSET,
    "vgg19": IMAGENET_OFFSET,
}
QUICK = ("efficientnet_lite0", "mobilenet")
LARGE = ("densenet121", "inception_v3", "mobilenet_v2", "resnet50", "vgg19")
FOLDED = "mobilenet-folded"


def test_an_unknown_backbone_is_told_with_those_there_are() -> None:
    with pytest.raises(TaskError, match="no backbone is named 'vgg20'; known: densenet121, "):
        build_backbone("vgg20", 224, None)


def test_photographs_that_are_too_small_are_told() -> None:
    with pytest.raises(TaskError, match="inception_v3 needs photographs of at least 75 by 75"):
        build_backbone("inception_v3", 64, None)


def test_the_backbones_of_the_published_studies_are_there() -> None:
    assert {"mobilenet", "vgg19", "inception_v3", "efficientnet_lite0"} <= set(NAMES)


@pytest.fixture(scope="module")
def told(
    framework_python: FrameworkPython, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """All that TensorFlow answers in one process."""
    folder = tmp_path_factory.mktemp("backbones")
    _draw(framework_python("pytorch"), folder, QUICK)
    folded = written(folder, f"{FOLDED}.onnx", _folded_mobilenet(folder))
    write_arrays(named_arrays(folded), folder / f"{FOLDED}.arrays.npz")
    return ask(framework_python("tensorflow"), folder, [*QUICK, FOLDED])


@pytest.mark.frameworks
def test_weights_of_pytorch_give_the_features_of_pytorch(told: dict[str, Any]) -> None:
    found = told["compared"]

    assert {name: found[name]["difference"] < 1e-4 for name in (*QUICK, FOLDED)} == dict.fromkeys(
        (*QUICK, FOLDED), True
    )
    assert {name: found[name]["offset"] for name in QUICK} == {n: OFFSETS[n] for n in QUICK}
    assert found[FOLDED]["offset"] == OFFSETS["mobilenet"]
    assert told["average"] == pytest.approx(4 / 9)


@pytest.mark.frameworks
def test_what_is_left_over_of_weights_is_told(told: dict[str, Any]) -> None:
    assert told["compared"]["mobilenet"]["weights"] == (
        "135 arrays, classifier.weight, classifier.bias left over"
    )


@pytest.mark.frameworks
def test_weights_of_pytorch_come_back_out_of_a_file_of_keras(told: dict[str, Any]) -> None:
    assert told["compared"]["mobilenet"]["saved_again"] < 1e-6


@pytest.mark.slow
@pytest.mark.frameworks
def test_weights_of_large_networks_of_pytorch_do_too(
    framework_python: FrameworkPython, tmp_path: Path
) -> None:
    _draw(framework_python("pytorch"), tmp_path, LARGE)

    found = compare(framework_python("tensorflow"), tmp_path, list(LARGE))

    assert {name: found[name]["difference"] < 1e-4 for name in LARGE} == dict.fromkeys(LARGE, True)
    assert {name: found[name]["offset"] for name in LARGE} == {n: OFFSETS[n] for n in LARGE}


@pytest.mark.frameworks
@pytest.mark.parametrize("file", ["model.keras", "model.h5", "model.weights.h5"])
def test_what_keras_saved_comes_back_out_of_every_kind_of_file(
    told: dict[str, Any], file: str
) -> None:
    assert told["files"][file] < 1e-6


@pytest.mark.frameworks
def test_layers_that_keras_only_counts_find_their_arrays(told: dict[str, Any]) -> None:
    assert told["counted"] == [
        "kernel 1",
        "beta 3",
        "moving_mean 4",
        "moving_variance 4",
        "kernel 2",
    ]


@pytest.mark.frameworks
def test_the_weights_in_the_cache_of_keras_are_used(told: dict[str, Any]) -> None:
    assert told["library"]["weights"] == "library"
    assert told["library"]["difference"] < 1e-6


@pytest.mark.frameworks
def test_weights_that_keras_cannot_get_are_told_with_a_way_out(told: dict[str, Any]) -> None:
    absent = told["library"]["absent"]
    assert absent.startswith("Unavailable: Keras's own weights of vgg19 are neither in its cache")
    assert absent.endswith("a weights file can be given instead")
    assert told["library"]["unknown"].startswith("Unavailable: Keras has no weights of efficient")


@pytest.mark.frameworks
@pytest.mark.parametrize("name", APPLICATIONS)
def test_pixels_are_what_keras_makes_of_them(told: dict[str, Any], name: str) -> None:
    assert told["pixels"][name] < 1e-4


@pytest.mark.frameworks
def test_no_backbone_changes_pixels_by_itself(told: dict[str, Any]) -> None:
    assert told["own"] == ["InputLayer", "ZeroPadding2D"]


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ("missing", "nothing for conv2d_1/kernel of shape (1, 1, 3, 3)"),
        (
            "misshapen",
            "wants the shape (1, 1, 3, 3), but the array 'conv2d/kernel' has (1, 1, 3, 2)",
        ),
        ("foreign", "are not of inception_v3, which has no place for block6_conv1/kernel"),
        ("too large", "'conv2d/kernel' has values that are no finite numbers"),
        ("not a number", "'conv2d/kernel' has values that are no finite numbers"),
        ("of another program", "of efficientnet_b0 can come from a file of Keras only"),
        ("without names", "inception_v3 has branches"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_with_the_reason(
    told: dict[str, Any], arrays: str, reason: str
) -> None:
    assert told["refusals"][arrays].startswith("DataError: ")
    assert reason in told["refusals"][arrays]


def _draw(python: Path, folder: Path, names: tuple[str, ...]) -> None:
    """State dicts and features of PyTorch, and the state dicts as arrays."""
    run_script(python, str(Path(__file__).parents[1] / TORCH_SCRIPT), str(folder), names)
    for name in names:
        write_arrays(named_arrays(folder / f"{name}.pth"), folder / f"{name}.arrays.npz")


def _folded_mobilenet(folder: Path) -> bytes:
    """As PyTorch exports it: without names, each normalization inside the convolution before it."""
    state = named_arrays(folder / "mobilenet.pth").arrays
    convolutions = [key for key in state if np.ndim(state[key]) == 4]
    norms = [key.removesuffix(".running_mean") for key in state if key.endswith("running_mean")]
    nodes, arrays = [], {}
    for i, (key, norm) in enumerate(zip(convolutions, norms, strict=True)):
        factor = state[f"{norm}.weight"] / np.sqrt(state[f"{norm}.running_var"] + 1e-5)
        arrays[f"onnx::Conv_{2 * i}"] = state[key] * factor[:, None, None, None]
        shift = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * factor
        arrays[f"onnx::Conv_{2 * i + 1}"] = shift.astype(np.float32)
        strides = [2, 2] if i == 0 else [1, 1]
        nodes.append(
            onnx.helper.make_node(
                "Conv",
                [f"x{i}", f"onnx::Conv_{2 * i}", f"onnx::Conv_{2 * i + 1}"],
                [f"x{i + 1}"],
                strides=strides,
                pads=[1, 1, 1, 1],
            )
        )
    return onnx_model(nodes, arrays)
