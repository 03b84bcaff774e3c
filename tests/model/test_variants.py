"""`prumo model convert`: what a package becomes, and what it cannot become."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import helper

from prumo.errors import PrumoError
from prumo.progress import Silent
from prumo_serve.convert import Conversion, converted
from prumo_serve.convert.agreement import ConversionError, DisagreementError, answers_of
from prumo_serve.convert.variant import VariantRequest, make_variant
from prumo_serve.manifest import SEEN_FILE
from prumo_serve.package import open_package, write_package
from prumo_serve.runtimes import Resources, load_network
from support.model_packages import COLOURS, ColourNetwork, write_colour_package, write_network

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo
    from prumo_serve.choices import Precision
    from prumo_serve.package import Package

LARGEST_DIFFERENCE = {"fp32": 1e-3, "fp16": 1e-2, "bf16": 1e-1}
"""Of scores of about 1. Not every processor computes in the 8 bits of bf16; those that do not
answer more exactly."""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    write_colour_package(tmp_path / "model.tar.gz", "grade", heat_map=True)
    return tmp_path / "model.tar.gz"


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_openvino_answers_what_onnx_runtime_answered(
    package: Path, tmp_path: Path, precision: Precision
) -> None:
    out = tmp_path / "openvino"

    variant = make_variant(package, VariantRequest("openvino", precision), out, Silent())

    before, after = open_package(package), open_package(out)
    manifest = after.manifest
    assert manifest == variant.manifest
    assert (manifest.network.runtime, manifest.network.precision) == ("openvino", precision)
    assert manifest.version != before.manifest.version
    assert manifest.labels == before.manifest.labels
    assert manifest.points == before.manifest.points
    assert manifest.output.temperature == before.manifest.output.temperature
    assert manifest.heat_map == before.manifest.heat_map
    assert after.card == before.card
    assert {"openvino", "prumo"} <= manifest.versions.keys()
    agreement = variant.agreement
    if precision != "bf16":
        assert agreement.same_labels == agreement.images
    expected, scores = (_scores_of_pure_colours(opened) for opened in (before, after))
    best, second = np.sort(expected, axis=1)[:, :-3:-1].T
    assert len(set(expected.argmax(axis=1))) == len(COLOURS.T)
    # Where the best two scores differ by more than the networks do, the label cannot change.
    assert agreement.largest_difference <= LARGEST_DIFFERENCE[precision]
    assert (best - second > 2 * LARGEST_DIFFERENCE[precision]).all()
    np.testing.assert_array_equal(scores.argmax(axis=1), expected.argmax(axis=1))
    before.close()


def _scores_of_pure_colours(package: Package) -> np.ndarray:
    """For one image of each colour that a class stands for."""
    manifest = package.manifest
    size = (manifest.input.height, manifest.input.width)
    images = np.broadcast_to(COLOURS.T[:, None, None] * 255, (len(COLOURS.T), *size, 3))
    output = manifest.output.tensor
    runtime = manifest.network.runtime
    return answers_of(package.network_path, runtime, images.astype(np.float32), [output])[output]


def test_what_a_model_has_seen_comes_along(tmp_path: Path) -> None:
    manifest = write_colour_package(tmp_path / "model", "grade")
    (tmp_path / "model" / SEEN_FILE).write_text("a" * 64 + "\n")
    seeing = write_package(tmp_path / "model", manifest, tmp_path / "model")

    make_variant(tmp_path / "model", VariantRequest("openvino"), tmp_path / "out", Silent())

    assert open_package(tmp_path / "out").seen == frozenset({"a" * 64})
    assert seeing.version == manifest.version


def test_the_same_conversion_gives_the_same_bytes(package: Path, tmp_path: Path) -> None:
    archives = [tmp_path / "one.tar.gz", tmp_path / "other.tar.gz"]
    for archive in archives:
        make_variant(package, VariantRequest("openvino"), archive, Silent())

    assert archives[0].read_bytes() == archives[1].read_bytes()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--to", "onnx"], "is a network for onnxruntime in fp32 already"),
        (["--to", "openvino", "--precision", "int8-dynamic"], "no int8-dynamic for openvino"),
        (["--precision", "bf16"], "no bf16 for onnxruntime"),
        (["--precision", "int8"], "give --calibration"),
        (["--to", "litert"], "no way from a model of the kind onnx to litert"),
        (["--to", "openvino", "--original", "other.onnx"], "is not what model.tar.gz was made of"),
        (["--to", "openvino", "--original", "absent"], "there is no model absent"),
    ],
)
def test_what_cannot_be_made_says_why_and_writes_nothing(
    package: Path, prumo_here: Prumo, options: list[str], reason: str
) -> None:
    write_network(package.parent / "other.onnx", ColourNetwork())

    done = prumo_here("model", "convert", "model.tar.gz", *options, "--out", "out.tar.gz")

    assert done.returncode == 2
    assert reason in done.stderr
    assert not (package.parent / "out.tar.gz").exists()


def test_smaller_numbers_are_not_made_smaller_again(package: Path, prumo_here: Prumo) -> None:
    settings = VariantRequest("openvino", "fp16")
    make_variant(package, settings, package.parent / "half.tar.gz", Silent())

    done = prumo_here("model", "convert", "half.tar.gz", "--to", "onnx", "--out", "out.tar.gz")

    assert done.returncode == 2
    assert "half.tar.gz is of fp16 already" in done.stderr


def test_the_command_tells_how_near_the_answers_are(package: Path, prumo_here: Prumo) -> None:
    del package
    words = ("model", "convert", "model.tar.gz", "--to", "openvino", "--out", "out.tar.gz")

    plain, told = prumo_here(*words), prumo_here(*words, "--json")

    assert plain.returncode == told.returncode == 0
    assert "fp32 for openvino; the same label for 6 of 6 images" in plain.stdout
    document = json.loads(told.stdout)
    assert document["manifest"]["network"]["runtime"] == "openvino"
    assert document["agreement"]["largest_difference"] < 1e-3


def test_an_onnx_file_becomes_openvino_for_any_batch(tmp_path: Path) -> None:
    write_network(tmp_path / "network.onnx", ColourNetwork(layout="NCHW", probabilities=True))
    out = tmp_path / "out"
    out.mkdir()

    made = converted(Conversion(tmp_path / "network.onnx", "onnx", "openvino"), out, Silent())

    assert (made.interface.layout, made.interface.kind) == ("NCHW", "probabilities")
    network = load_network(out / made.network.file, "openvino", Resources())
    answers = network.run(np.zeros((3, 3, 32, 32), np.float32), [made.interface.output_tensor])
    network.close()
    assert answers[made.interface.output_tensor].shape == (3, 3)


def test_an_operator_that_openvino_does_not_know_is_named(tmp_path: Path) -> None:
    model = ColourNetwork().model()
    last = model.graph.node[-1]
    scores, last.output[0] = last.output[0], "unscaled"
    same = {"scale": [1.0], "offset": [0.0]}
    scaler = helper.make_node("Scaler", ["unscaled"], [scores], domain="ai.onnx.ml", **same)
    model.graph.node.append(scaler)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    onnx.save(model, tmp_path / "network.onnx")
    out = tmp_path / "out"
    out.mkdir()

    with pytest.raises(ConversionError, match=r"OpenVINO cannot read this network: .*Scaler"):
        converted(Conversion(tmp_path / "network.onnx", "onnx", "openvino"), out, Silent())


def test_nothing_is_left_of_a_conversion_that_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_network(tmp_path / "network.onnx", ColourNetwork())
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.setattr("prumo_serve.convert.agreement._ALLOWED", {"fp32": -1.0})

    with pytest.raises(DisagreementError, match="Nothing was written"):
        converted(Conversion(tmp_path / "network.onnx", "onnx", "openvino"), out, Silent())

    assert list(out.iterdir()) == []


def test_a_model_that_does_not_tell_enough_says_what_is_missing(tmp_path: Path) -> None:
    write_network(tmp_path / "network.onnx", ColourNetwork())

    with pytest.raises(PrumoError, match="--labels"):
        make_variant(
            tmp_path / "network.onnx", VariantRequest("openvino"), tmp_path / "out", Silent()
        )
