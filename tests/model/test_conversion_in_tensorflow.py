"""Networks of TensorFlow's, converted for every runtime and compared with what they were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure, ensure_companion
from prumo.progress import Silent
from prumo.run.worker import WorkerError
from prumo_serve import convert
from prumo_serve.convert import Conversion, converted
from prumo_serve.convert.agreement import NETWORK_FILES, ConversionError, Draft, require_agreement
from prumo_serve.manifest import NetworkFile
from support import tensorflow_conversion_process as process
from support.framework_process import TESTS, run_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from prumo_serve.convert.agreement import Agreement

pytestmark = pytest.mark.frameworks

WORKING = [
    *("keras to onnx", "older keras to onnx", "keras to litert", "keras to litert in fp16"),
    *("keras to litert in int8", "keras to dynamic litert", "keras to tensorflow"),
    *("saved model to onnx", "grade to onnx", "referral to litert", "head without a way back"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conversions")


@pytest.fixture(scope="module")
def told(framework_python: Callable[[str], Path], folder: Path) -> dict[str, Any]:
    python = framework_python("tensorflow")
    environment = ensure(find_framework("tensorflow"))
    companion = ensure_companion("tensorflow-to-onnx", environment, Silent())
    paths = f"{TESTS.parent / 'src'}:{TESTS}:{companion}"
    answer: dict[str, Any] = run_script(
        python, process.__file__, str(folder), variables={"PYTHONPATH": paths}
    )
    return answer


@pytest.mark.parametrize("case", WORKING)
def test_a_converted_network_answers_what_the_original_answers(
    told: dict[str, Any], folder: Path, case: str
) -> None:
    agreement = _agreement(told, folder, case)

    assert agreement.same_labels == agreement.images
    if "int8" not in case and "fp16" not in case and "dynamic" not in case:
        assert agreement.largest_difference < 1e-5


def test_the_drawn_images_tell_a_network_from_one_that_says_always_the_same(
    told: dict[str, Any], folder: Path
) -> None:
    answers = _draft(told, folder, "keras to onnx").reference["answers"]

    assert np.abs(answers - answers[0]).max() > 0.05


@pytest.mark.parametrize(
    ("case", "output", "kind", "activation"),
    [
        ("keras to onnx", "answers", "probabilities", "softmax"),
        ("older keras to onnx", "answers", "scores", "softmax"),
        ("saved model to onnx", "shares", "probabilities", "softmax"),
        ("grade to onnx", "scores", "scores", "softmax"),
        ("referral to litert", "scores", "scores", "sigmoid"),
    ],
)
def test_it_is_told_what_an_output_is(
    told: dict[str, Any], folder: Path, case: str, output: str, kind: str, activation: str
) -> None:
    facts = _draft(told, folder, case).facts

    assert (facts.output_tensor, facts.kind, facts.activation) == (output, kind, activation)
    assert facts.input_tensor == ("photographs" if "saved" in case else "pixels")


def test_a_network_for_any_size_gets_the_one_that_is_given(
    told: dict[str, Any], folder: Path
) -> None:
    facts = _draft(told, folder, "older keras to onnx").facts

    assert (facts.height, facts.width) == (20, 12)


def test_what_was_trained_in_16_bits_computes_in_32(told: dict[str, Any], folder: Path) -> None:
    draft = _draft(told, folder, "mixed precision to onnx")
    strict = replace(draft, facts=replace(draft.facts, original_precision="fp32"))

    assert draft.facts.original_precision == "bf16"
    assert _agreement(told, folder, "mixed precision to onnx").largest_difference > 1e-4
    types = {tensor.data_type for tensor in _onnx_weights(draft)}
    assert TensorProto.BFLOAT16 not in types
    with pytest.raises(ConversionError, match="does not answer"):
        require_agreement(strict, _network("mixed precision to onnx"))


@pytest.mark.parametrize("case", ["grade to onnx", "referral to litert"])
def test_heat_maps_are_those_of_the_original(told: dict[str, Any], folder: Path, case: str) -> None:
    draft = _draft(told, folder, case)

    assert draft.facts.features_tensor == "features"
    assert draft.reference["heat_map"].max() == 1
    # The agreement compares the maps themselves; here, that others would not pass.
    flat = {**draft.reference, "heat_map": np.ones_like(draft.reference["heat_map"])}
    other = Draft(draft.folder, draft.facts, draft.images, flat, draft.versions)
    with pytest.raises(ConversionError, match="heat maps differ"):
        require_agreement(other, _network(case))


def test_a_head_without_a_known_way_back_has_no_heat_map_and_says_why(
    told: dict[str, Any], folder: Path
) -> None:
    facts = _draft(told, folder, "head without a way back").facts

    assert "GlobalMaxPooling2D" in facts.without_heat_map
    assert facts.features_tensor == ""
    assert not (folder / "head without a way back" / "heat_map.onnx").exists()


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("any size, none given", "takes images of any size"),
        ("another size", "takes images of 16x16 pixels only"),
        ("two inputs", "has 2 inputs"),
        ("no row of numbers", "gives a tensor of the shape (any, 6, 6, 2)"),
        ("no images", "takes a tensor of the shape (any, 7)"),
        ("no network", "cannot be loaded as a network"),
        ("no saved model", "cannot be loaded as a SavedModel"),
        ("int8 without images", "must be given"),
    ],
)
def test_what_cannot_be_converted_says_why(told: dict[str, Any], case: str, reason: str) -> None:
    assert reason in told[case]["error"]


def test_a_conversion_that_grows_is_ended_before_it_takes_the_machine(
    told: dict[str, Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del told
    monkeypatch.setattr(convert, "_MEMORY_SHARE", 0.004)

    with pytest.raises(ConversionError, match="A conversion may have") as refused:
        converted(Conversion(folder / "softmax.keras", "keras", "onnxruntime"), tmp_path, Silent())

    assert "passed its memory cap" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_only_want_of_memory_is_told_as_such(tmp_path: Path) -> None:
    job = convert.Conversion(tmp_path / "memory.keras", "keras", "onnxruntime")

    told = convert._failure_text(job, WorkerError(f"{job.source} is broken"), 2**30, tmp_path)

    assert "A conversion may have" not in told


def _onnx_weights(draft: Draft) -> Iterable[TensorProto]:
    weights: Iterable[TensorProto] = onnx.load(draft.folder / "network.onnx").graph.initializer
    return weights


def _agreement(told: dict[str, Any], folder: Path, case: str) -> Agreement:
    return require_agreement(_draft(told, folder, case), _network(case))


def _draft(told: dict[str, Any], folder: Path, case: str) -> Draft:
    assert "error" not in told[case], told[case]
    return convert._draft_of_reply(told[case]["events"], folder / case)


def _network(case: str) -> NetworkFile:
    _, _, target, more = process.CASES[case]
    return NetworkFile.model_validate(
        {
            "file": NETWORK_FILES[target],
            "runtime": target,
            "precision": more.get("precision", "fp32"),
        }
    )
