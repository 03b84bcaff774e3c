"""Smaller numbers: what becomes of size, names, types and answers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner
from PIL import Image

from prumo.errors import InputError, UnavailableError
from prumo.progress import Silent
from prumo_serve.commands.model.variants import convert_command
from prumo_serve.convert import agreement as limits
from prumo_serve.convert.agreement import Difference, answer_difference, require_few_changes
from prumo_serve.convert.variant import VariantRequest, make_variant
from prumo_serve.package import open_package
from prumo_serve.package.making import PackageRequest, make_package
from prumo_serve.quantize.methods import inner_means, quantize_onnx
from support.convolution_networks import (
    FEATURES,
    INPUT,
    OUTPUTS,
    SCORES,
    coloured_images,
    write_convolution_network,
)
from support.model_packages import ColourNetwork, write_colour_package

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.choices import Precision

PRECISIONS: tuple[Precision, ...] = ("fp16", "int8", "int8-dynamic")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One network in all precisions, calibrated with images that nobody judges it by."""
    folder = tmp_path_factory.mktemp("networks")
    made = {"fp32": write_convolution_network(folder / "fp32.onnx")}
    for precision in PRECISIONS:
        made[precision] = folder / f"{precision}.onnx"
        quantize_onnx(made["fp32"], made[precision], precision, INPUT, coloured_images(40, seed=1))
    return made


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_quantized_network_keeps_its_tensors_and_takes_any_batch(
    networks: dict[str, Path], precision: Precision
) -> None:
    onnx.checker.check_model(networks[precision])
    session = _session(networks[precision])
    batch = np.concatenate(coloured_images(3, seed=2))

    scores, features = session.run([SCORES, FEATURES], {INPUT: batch})

    assert [tensor.type for tensor in (*session.get_inputs(), *session.get_outputs())] == [
        "tensor(float)"
    ] * 3
    assert scores.shape == (3, OUTPUTS)
    assert features.dtype == np.float32


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_quantized_network_gives_nearly_the_same_probabilities_to_other_images(
    networks: dict[str, Path], precision: Precision
) -> None:
    images = coloured_images(60, seed=2)
    before, after = (
        _probabilities(networks["fp32"], images),
        _probabilities(networks[precision], images),
    )

    assert len(set(before.argmax(axis=1))) == OUTPUTS
    assert np.mean(before.argmax(axis=1) == after.argmax(axis=1)) >= 0.9
    assert np.abs(before - after).max() < 0.06


def test_smaller_numbers_make_smaller_files(networks: dict[str, Path]) -> None:
    sizes = {name: path.stat().st_size for name, path in networks.items()}

    assert sizes["fp16"] < 0.65 * sizes["fp32"]
    assert sizes["int8"] < 0.7 * sizes["fp32"]
    assert sizes["int8-dynamic"] < 0.7 * sizes["fp32"]


def test_nodes_without_names_are_quantized_like_others(
    networks: dict[str, Path], tmp_path: Path
) -> None:
    model = onnx.load(networks["fp32"])
    for node in model.graph.node:
        node.name = ""
    onnx.save(model, tmp_path / "fp32.onnx")
    images = coloured_images(10, seed=1)
    quantize_onnx(tmp_path / "fp32.onnx", tmp_path / "int8.onnx", "int8", INPUT, images)

    named, unnamed = (
        [node.op_type for node in onnx.load(path).graph.node]
        for path in (networks["int8"], tmp_path / "int8.onnx")
    )
    assert unnamed.count("QuantizeLinear") == named.count("QuantizeLinear") > 0


def test_static_int8_scores_have_the_mean_of_the_original(networks: dict[str, Path]) -> None:
    images = coloured_images(40, seed=1)
    before, after = (_scores(networks[name], images).mean(axis=0) for name in ("fp32", "int8"))

    assert np.abs(before - after).max() < 1e-3


def test_rounded_weights_do_not_shift_the_means_of_features(networks: dict[str, Path]) -> None:
    images = coloured_images(40, seed=5)
    before, after = (
        inner_means(networks[name], INPUT, images, maps=[FEATURES])[FEATURES]
        for name in ("fp32", "int8")
    )

    # Without corrected biases it is 0.036.
    assert np.abs(before - after).mean() < 0.015


def test_static_int8_leaves_normalization_and_the_last_layer_in_32_bits(
    networks: dict[str, Path],
) -> None:
    nodes = {node.name: node for node in onnx.load(networks["int8"]).graph.node}
    made_by = {name: node.op_type for node in nodes.values() for name in node.output}

    for name in ("normalize", "centre", "scores"):
        assert "DequantizeLinear" not in {made_by.get(tensor) for tensor in nodes[name].input}
    for name in ("stem", "depthwise", "pointwise"):
        assert {made_by.get(tensor) for tensor in nodes[name].input} == {"DequantizeLinear"}


def test_dynamic_int8_spares_the_first_and_depthwise_convolutions(
    networks: dict[str, Path],
) -> None:
    kinds = Counter(node.op_type for node in onnx.load(networks["int8-dynamic"]).graph.node)

    assert kinds["Conv"] == 2
    assert kinds["ConvInteger"] == 1


def test_static_int8_wants_images(tmp_path: Path) -> None:
    network = write_convolution_network(tmp_path / "network.onnx")

    with pytest.raises(InputError, match="give --calibration"):
        quantize_onnx(network, tmp_path / "int8.onnx", "int8", INPUT)

    assert not (tmp_path / "int8.onnx").exists()


def test_there_is_no_way_to_bf16_in_onnx(tmp_path: Path) -> None:
    network = write_convolution_network(tmp_path / "network.onnx")

    with pytest.raises(UnavailableError, match="fp16, int8, int8-dynamic"):
        quantize_onnx(network, tmp_path / "bf16.onnx", "bf16", INPUT)


def test_the_difference_counts_labels_that_change(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "one")
    write_colour_package(tmp_path / "other", network=ColourNetwork(sharpness=-8))
    red = np.full((1, 32, 32, 3), (255, 0, 0), np.float32)
    grey = np.full((1, 32, 32, 3), 128, np.float32)

    with open_package(tmp_path / "one") as one, open_package(tmp_path / "other") as other:
        same = answer_difference(one, one, [red, grey])
        opposite = answer_difference(one, other, [red, grey])

    assert same == Difference(images=2, changed=0, largest=0, mean=0, labels=1)
    assert opposite.changed == 1
    assert opposite.largest > 0.9
    assert "1 of 2 images have another label" in str(opposite)


def test_a_difference_needs_an_image(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "one")

    with open_package(tmp_path / "one") as one, pytest.raises(InputError, match="no image"):
        answer_difference(one, one, [])


def test_a_network_that_changes_too_many_labels_is_refused_with_figures() -> None:
    near = Difference(images=100, changed=9, largest=0.3, mean=0.01, labels=3)
    require_few_changes(near, "int8")

    with pytest.raises(InputError, match=r"10 of 100 .* --accept-difference"):
        require_few_changes(replace(near, changed=10), "int8")


def test_a_difference_says_when_it_shows_little_and_keeps_the_digits_that_count() -> None:
    alike = Difference(images=9, changed=0, largest=3.2e-6, mean=1.1e-6, labels=1)

    assert str(alike) == (
        "0 of 9 images have another label; probabilities differ by at most 3.2e-06, 1.1e-06 in the "
        "mean (the original answers all images alike, so this shows little)"
    )
    assert "little" not in str(replace(alike, labels=2))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    network = write_convolution_network(folder / "network.onnx")
    settings = PackageRequest(labels=("a", "b", "c"), normalization="0..255")
    make_package(network, settings, folder / "model", Silent())
    return folder / "model"


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    for number, image in enumerate(coloured_images(12, seed=4)):
        Image.fromarray(image[0].astype(np.uint8)).save(folder / f"{number}.png")
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    return folder


def test_convert_tells_how_far_int8_is_from_the_original(
    package: Path, photographs: Path, tmp_path: Path
) -> None:
    words = [package, "--precision", "int8", "--calibration", photographs]
    result = CliRunner().invoke(
        convert_command, [*map(str, words), f"--out={tmp_path / 'int8'}", "--json"]
    )

    document = json.loads(result.stdout)
    assert document["calibration"] == {"images": 12, "ungradable": 0, "unreadable": 1}
    assert document["difference"]["images"] == 12
    assert 0 < document["difference"]["largest"] < 0.1
    with open_package(tmp_path / "int8") as made:
        assert made.manifest.network.precision == "int8"


def test_convert_refuses_too_large_a_difference_unless_it_is_accepted(
    package: Path, photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_CHANGED_SHARE", -0.01)
    settings = VariantRequest("onnxruntime", "int8-dynamic", photographs)

    with pytest.raises(InputError, match="the int8-dynamic network is too far from the original"):
        make_variant(package, settings, tmp_path / "refused", Silent())
    made = make_variant(
        package, replace(settings, accept_difference=True), tmp_path / "accepted", Silent()
    )

    assert not (tmp_path / "refused").exists()
    assert made.difference is not None
    assert (tmp_path / "accepted").is_dir()


def test_eight_bits_without_calibration_images_say_what_was_looked_at(
    package: Path, tmp_path: Path
) -> None:
    words = [package, "--precision", "int8-dynamic", "--out", tmp_path / "dynamic"]
    result = CliRunner().invoke(convert_command, [*map(str, words)])

    assert result.exit_code == 0
    assert "Only 6 drawn images were looked at" in result.stdout
    assert "prumo model compare --images" in result.stdout


def _session(path: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def _scores(path: Path, images: list[np.ndarray]) -> np.ndarray:
    session = _session(path)
    return np.concatenate([session.run([SCORES], {INPUT: image})[0] for image in images])


def _probabilities(path: Path, images: list[np.ndarray]) -> np.ndarray:
    powers = np.exp(_scores(path, images))
    shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return shares
