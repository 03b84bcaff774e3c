"""Exports of PyTorch's, converted and compared with what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
import pytest

from prumo.errors import UnavailableError
from prumo.progress import Silent
from prumo_serve import convert
from prumo_serve.convert import Conversion, converted
from prumo_serve.convert.agreement import require_agreement
from prumo_serve.manifest import NetworkFile
from prumo_serve.source.pytorch_export import write_harmless
from support import pytorch_export_process as process
from support.framework_process import run_script

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.choices import RuntimeName
    from prumo_serve.convert.agreement import ConvertedNetwork

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module", autouse=True)
def told(pytorch_python: Path, exports: Path) -> dict[str, Any]:
    answer: dict[str, Any] = run_script(pytorch_python, process.__file__, str(exports))
    return answer


def test_an_export_becomes_onnx_for_any_batch(exports: Path, tmp_path: Path) -> None:
    made = _converted(exports / "free.pt2", "onnxruntime", tmp_path)

    asked = made.interface
    assert (asked.layout, asked.height, asked.width) == ("NCHW", 16, 24)
    assert (asked.kind, asked.activation) == ("probabilities", "softmax")
    assert made.agreement.largest_difference < 1e-6
    assert made.agreement.same_labels == made.agreement.images
    taken = onnx.load(tmp_path / "network.onnx").graph.input[0]
    assert taken.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert process.__file__.encode() not in (tmp_path / "network.onnx").read_bytes()


def test_an_export_for_one_batch_size_answers_every_other_too(
    told: dict[str, Any], exports: Path
) -> None:
    draft = convert._draft_of_reply(told["fixed"]["events"], exports / "fixed")
    network = NetworkFile(file="network.pt2", runtime="pytorch")
    write_harmless(exports / "fixed.pt2", draft.folder / network.file)

    agreement = require_agreement(draft, network)

    assert draft.facts.kind == "scores"
    assert agreement.largest_difference < 1e-6
    assert agreement.same_labels == agreement.images


def test_an_export_that_wraps_its_answer_says_what_to_export_instead(
    told: dict[str, Any],
) -> None:
    assert "numbers inside of a dict; export a model" in told["named"]["error"]


def test_there_is_no_way_to_tensorflow(exports: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="no way from a model of the kind pytorch"):
        _converted(exports / "free.pt2", "litert", tmp_path)


def _converted(export: Path, target: RuntimeName, folder: Path) -> ConvertedNetwork:
    return converted(Conversion(export, "pytorch", target), folder, Silent())
