"""A converted network is compared with the original, and refused where it says something else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from prumo_serve.convert.agreement import (
    DisagreementError,
    Draft,
    NetworkFacts,
    answers_of,
    require_agreement,
)
from prumo_serve.manifest import NetworkFile
from prumo_worker.conversion.facts import ANY_PIXELS, RAW_PIXELS, drawn_images
from support.model_packages import ColourNetwork, colour_heat_map, write_network

if TYPE_CHECKING:
    from pathlib import Path

NETWORK = NetworkFile(file="network.onnx", runtime="onnxruntime")


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    write_network(tmp_path / "network.onnx", ColourNetwork(features=True))
    onnx.save(colour_heat_map(), tmp_path / "heat_map.onnx")
    facts = NetworkFacts(
        "image", 32, 32, "NHWC", "float32", "scores", "scores", "softmax", "features"
    )
    images = drawn_images(32, 32, "NHWC", "float32", RAW_PIXELS)
    answers = answers_of(tmp_path / "network.onnx", "onnxruntime", images, facts.outputs)
    maps = answers_of(tmp_path / "heat_map.onnx", "onnxruntime", answers["features"], ["heat_map"])
    return Draft(tmp_path, facts, images, {"scores": answers["scores"], **maps}, {})


def test_the_same_network_agrees_with_itself(draft: Draft) -> None:
    agreement = require_agreement(draft, NETWORK)

    assert agreement.images == agreement.same_labels == 6
    assert agreement.largest_difference == 0
    assert (agreement.allowed_difference or 0) >= 1e-3


def test_another_network_is_refused_with_the_largest_difference(draft: Draft) -> None:
    write_network(draft.folder / "network.onnx", ColourNetwork(features=True, sharpness=9))

    with pytest.raises(DisagreementError, match=r"differ by .* at most, where .* allowed"):
        require_agreement(draft, NETWORK)


def test_a_network_that_lost_its_weights_is_refused(draft: Draft) -> None:
    lost = ColourNetwork(features=True, sharpness=float("nan"))
    write_network(draft.folder / "network.onnx", lost)

    with pytest.raises(DisagreementError, match="nan"):
        require_agreement(draft, NETWORK)
    with pytest.raises(DisagreementError, match="nan"):
        require_agreement(draft, NETWORK.model_copy(update={"precision": "int8"}))


def test_smaller_numbers_may_differ_more(draft: Draft) -> None:
    write_network(draft.folder / "network.onnx", ColourNetwork(features=True, sharpness=8.1))

    agreement = require_agreement(draft, NETWORK.model_copy(update={"precision": "fp16"}))

    assert 0 < agreement.largest_difference < (agreement.allowed_difference or 0)


def test_of_eight_bits_only_numbers_are_wanted_here(draft: Draft) -> None:
    write_network(draft.folder / "network.onnx", ColourNetwork(features=True, sharpness=-80))

    agreement = require_agreement(draft, NETWORK.model_copy(update={"precision": "int8"}))

    assert agreement.allowed_difference is None
    assert agreement.same_labels < agreement.images


def test_an_original_that_answers_all_images_alike_shows_little(draft: Draft) -> None:
    write_network(draft.folder / "network.onnx", ColourNetwork(features=True, sharpness=0))
    alike = np.zeros_like(draft.reference["scores"])

    agreement = require_agreement(
        replace(draft, reference={**draft.reference, "scores": alike}), NETWORK
    )

    assert str(agreement).endswith("(the original answers all images alike, so this shows little)")
    assert "little" not in str(replace(agreement, is_conclusive=True))


def test_a_network_with_another_number_of_classes_is_refused(draft: Draft) -> None:
    write_network(draft.folder / "network.onnx", ColourNetwork(features=True, outputs=5))

    with pytest.raises(DisagreementError, match=r"gives \(6, 5\) numbers"):
        require_agreement(draft, NETWORK)


def test_heat_maps_that_changed_are_refused(draft: Draft) -> None:
    maps = draft.reference["heat_map"][:, ::-1]
    other = replace(draft, reference={**draft.reference, "heat_map": maps})

    with pytest.raises(DisagreementError, match="heat maps differ"):
        require_agreement(other, NETWORK)


@pytest.mark.parametrize(("layout", "shape"), [("NHWC", (6, 20, 30, 3)), ("NCHW", (6, 3, 20, 30))])
def test_drawn_images_are_the_same_every_time_in_every_layout(
    layout: str, shape: tuple[int, ...]
) -> None:
    images = drawn_images(20, 30, layout, "float32")

    assert images.shape == shape
    assert images.dtype == np.float32
    assert np.array_equal(images, drawn_images(20, 30, layout, "float32"))


@pytest.mark.parametrize(
    ("ranges", "dtype", "least", "most"),
    [(ANY_PIXELS, "float32", -1, 255), (RAW_PIXELS, "uint8", 0, 255)],
)
def test_drawn_images_have_the_range_of_pixels(
    ranges: Any, dtype: str, least: float, most: float
) -> None:
    images = drawn_images(64, 64, "NHWC", dtype, ranges)

    assert images.min() >= least
    assert images.max() <= most
    assert images.max() > 0.9 * most
