"""Networks of the catalog with random weights, packaged to be served."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest

from prumo.errors import InputError
from prumo_serve.package import open_package
from prumo_serve.runtimes import Resources, load_network
from prumo_serve.source.catalog_network import write_catalog_network
from prumo_worker.networks.weights import initial_weights
from support.reference_network import scores

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("rede2", 32),
        pytest.param("alexnet", 67, marks=pytest.mark.slow),
        pytest.param("googlenet_aux", 96, marks=pytest.mark.slow),
        pytest.param("resnet18", 40, marks=pytest.mark.slow),
        ("dr_mobilenet", 64),
        pytest.param("inception_v3", 75, marks=pytest.mark.slow),
    ],
)
def test_the_onnx_file_computes_what_the_catalog_describes(
    tmp_path: Path, name: str, size: int
) -> None:
    network = write_catalog_network(name, tmp_path / "n.onnx", size_pixels=size, classes=7)
    images = np.random.default_rng(1).normal(size=(2, 3, size, size)).astype(np.float32)
    session = onnxruntime.InferenceSession(tmp_path / "n.onnx")
    (found,) = session.run(None, {"image": images})

    expected = scores(network, initial_weights(network, 1), images)
    assert found.shape == (2, 7)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_a_network_is_packaged_with_a_card_that_says_it_is_untrained(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    made = prumo_here("model", "untrained", "rede1", "--out", "m", "--classes", "3")
    checked = prumo_here("model", "check", "m")

    assert made.returncode == 0, made.stderr
    assert checked.returncode == 0, checked.stdout
    assert "what it answers\nmeans nothing" in (tmp_path / "m" / "card.md").read_text()


@pytest.mark.slow
def test_a_network_is_packaged_in_eight_bits_without_anybodys_images(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    for precision in ("fp32", "int8"):
        words = ("rede1", "--precision", precision, "--out", precision)
        made = prumo_here("model", "untrained", *words)
        assert made.returncode == 0, made.stderr

    large, small = ((tmp_path / name / "network.onnx").stat().st_size for name in ("fp32", "int8"))
    manifest = json.loads((tmp_path / "int8" / "manifest.json").read_text())
    assert small < 0.4 * large
    assert manifest["network"]["precision"] == "int8"


@pytest.mark.frameworks
def test_a_saved_model_answers_what_the_onnx_network_does(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    size = ("--size", "64")
    answers = {}
    images = np.random.default_rng(1).random((2, 64, 64, 3), np.float32)
    for runtime in ("onnxruntime", "tensorflow"):
        words = ("dr_mobilenet", *size, "--runtime", runtime, "--out", runtime)
        made = prumo_here("model", "untrained", *words)
        assert made.returncode == 0, made.stderr
        with open_package(tmp_path / runtime) as package:
            asked = package.manifest.input
            tensor = images if asked.layout == "NHWC" else images.transpose(0, 3, 1, 2)
            name = package.manifest.output.tensor
            with closing(load_network(package.network_path, runtime, Resources())) as network:
                answers[runtime] = network.run(np.ascontiguousarray(tensor), [name])[name]

    assert np.ptp(answers["onnxruntime"]) > 0
    np.testing.assert_allclose(answers["tensorflow"], answers["onnxruntime"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("rede9",), "no network 'rede9': did you mean 'rede2'"),
        (("lenet5",), "takes images without colours"),
        (("alexnet", "--size", "8"), "does not fit"),
        (("rede1", "--precision", "int3"), "'int3' is not one of"),
        (("rede1", "--precision", "int8", "--runtime", "tensorflow"), "for tensorflow is in fp32"),
    ],
)
def test_what_cannot_be_packaged_is_refused(
    prumo_here: Prumo, words: tuple[str, ...], complaint: str
) -> None:
    done = prumo_here("model", "untrained", *words, "--out", "m")

    assert done.returncode == 2
    assert complaint in done.stderr


def test_the_network_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no network 'moon'"):
        write_catalog_network("moon", tmp_path / "n.onnx")
