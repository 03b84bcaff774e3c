"""Operations know their shapes and arrays, and layers that do not fit together are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo_worker.networks import NetworkError
from prumo_worker.networks.layer import (
    Add,
    AveragePooling,
    BatchNormalization,
    ClippedRectifier,
    Concatenate,
    Convolution,
    Dense,
    Dropout,
    Flatten,
    GlobalAveragePooling,
    LocalResponseNormalization,
    MaxPooling,
    Padding,
    Rectifier,
)
from prumo_worker.networks.network import IMAGE, Layer, assemble

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.networks.operation import Operation, Shape

FIVE = (3, 5, 5)


@pytest.mark.parametrize(
    ("operation", "shape"),
    [
        (Convolution(8, kernel=3), (8, 3, 3)),
        (Convolution(8, kernel=3, stride=2, padding=1), (8, 3, 3)),
        (Convolution(8, kernel=(1, 3), padding=(0, 1)), (8, 5, 5)),
        (Convolution(8, kernel=(5, 1)), (8, 1, 5)),
        (Padding(top=0, bottom=1, left=2, right=3), (3, 6, 10)),
        (MaxPooling(2, 2), (3, 2, 2)),
        (MaxPooling(2, 2, ceil=True), (3, 3, 3)),
        (MaxPooling(3, 2, padding=1), (3, 3, 3)),
        (AveragePooling(3, 1, padding=1), (3, 5, 5)),
        (GlobalAveragePooling(), (3,)),
        (Flatten(), (75,)),
        (LocalResponseNormalization(5, 1e-4, 0.75), FIVE),
        (BatchNormalization(), FIVE),
        (ClippedRectifier(), FIVE),
        (Dropout(0.5), FIVE),
    ],
)
def test_an_operation_gives_its_shape(operation: Operation, shape: Shape) -> None:
    assert operation.output_shape(FIVE) == shape


def test_a_window_that_would_begin_behind_the_image_is_dropped() -> None:
    # Rounding up gives three places, of which the last would see padding alone.
    assert MaxPooling(2, 2, padding=1, ceil=True).output_shape((1, 3, 3)) == (1, 2, 2)
    assert MaxPooling(3, 2, padding=1, ceil=True).output_shape((1, 4, 4)) == (1, 3, 3)


def test_stride_padding_and_groups_count_in_shapes_and_work() -> None:
    convolution = Convolution(8, kernel=3, stride=2, padding=1, groups=2)
    built = assemble("own", (4, 7, 7), [Layer("conv", convolution)])
    (node,) = built.nodes
    assert node.output_shape == (8, 4, 4)
    assert node.weight_shapes == {"weight": (8, 2, 3, 3), "bias": (8,)}
    assert built.flops == 2 * (8 * 4 * 4) * (2 * 3 * 3)


def test_an_oblong_kernel_counts_its_own_cells() -> None:
    (node,) = assemble("own", (4, 7, 7), [Layer("conv", Convolution(8, (1, 7)))]).nodes
    assert node.weight_shapes["weight"] == (8, 4, 1, 7)
    assert node.flops == 2 * (8 * 7 * 1) * (4 * 7)


def test_biases_can_be_left_out() -> None:
    assert list(Convolution(8, kernel=3, bias=False).weight_shapes(FIVE)) == ["weight"]
    assert list(Dense(8, bias=False).weight_shapes((75,))) == ["weight"]


def test_the_state_of_a_batch_normalisation_is_counted_and_not_trained() -> None:
    layers = [
        Layer("scaled", BatchNormalization()),
        Layer("plain", BatchNormalization(scale=False)),
    ]
    built = assemble("own", FIVE, layers)
    scaled, plain = built.nodes
    assert list(scaled.weight_shapes) == ["weight", "bias"]
    assert list(plain.weight_shapes) == ["bias"]
    assert list(scaled.state_shapes) == list(plain.state_shapes) == ["mean", "variance"]
    assert (built.parameters, built.trained_parameters) == (7 * 3, 3 * 3)


def test_branches_meet() -> None:
    assert Add().output_shape(FIVE, FIVE, FIVE) == FIVE
    assert Concatenate().output_shape(FIVE, (4, 5, 5)) == (7, 5, 5)


def test_a_layer_can_name_an_earlier_one_as_its_input() -> None:
    layers = [
        Layer("left", Convolution(2, kernel=1)),
        Layer("right", Convolution(5, kernel=1), inputs=(IMAGE,)),
        Layer("both", Concatenate(), inputs=("left", "right")),
        Layer("after", Rectifier()),
    ]
    left, right, _, after = assemble("own", (3, 8, 8), layers).nodes
    assert (left.inputs, right.inputs, after.inputs) == ((IMAGE,), (IMAGE,), ("both",))
    assert after.output_shape == (7, 8, 8)


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ([], "has no layers"),
        ([Layer("one", Rectifier(), inputs=("two",))], "no earlier layer is named two"),
        ([Layer("one", Rectifier(), inputs=("imgae",))], "did you mean 'image'"),
        (
            [Layer("one", Rectifier(), inputs=("two",)), Layer("two", Rectifier())],
            "input two does not come before it.* without cycles",
        ),
        ([Layer("one", Rectifier(), inputs=("one",))], "without cycles"),
        ([Layer("one", Rectifier()), Layer("one", Rectifier())], "name is taken by an earlier"),
        ([Layer("image", Rectifier())], "name is taken by the network's input"),
        ([Layer("a/b", Rectifier())], "a name has letters, digits and _"),
        ([Layer("one", Dense(3))], "flatten first"),
        ([Layer("one", Flatten()), Layer("two", MaxPooling(2, 2))], "needs an image"),
        ([Layer("one", Convolution(4, kernel=1, groups=2))], "do not divide into 2 groups"),
        ([Layer("one", Convolution(4, kernel=9))], "a 9x9 window does not fit"),
        ([Layer("one", Convolution(4, (9, 1), padding=(0, 4)))], r"a 9x1 window .* \(0, 4\)"),
        ([Layer("one", Add())], "needs two inputs or more"),
        ([Layer("one", Rectifier(), inputs=("image", "image"))], "takes one input, not 2"),
        (
            [Layer("one", Convolution(4, 1)), Layer("two", Add(), inputs=("image", "one"))],
            "gets 3x8x8, 4x8x8: can only add what has one shape",
        ),
        (
            [Layer("one", MaxPooling(2, 2)), Layer("two", Concatenate(), inputs=("image", "one"))],
            "images of one size, not of 4x4, 8x8",
        ),
        (
            [Layer("one", Rectifier()), Layer("two", Rectifier(), inputs=("image",))],
            "layer one: nothing takes its output",
        ),
        (
            [
                Layer("flat", Flatten()),
                Layer("side", Dense(4), auxiliary=0.3),
                Layer("scores", Dense(5), inputs=("flat",)),
            ],
            "layer side: a head gives 5 scores as scores does, not 4",
        ),
    ],
)
def test_layers_that_do_not_fit_together_are_refused(layers: list[Layer], reason: str) -> None:
    with pytest.raises(NetworkError, match=reason):
        assemble("own", (3, 8, 8), layers)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Convolution(0, kernel=3), "outputs must be a whole number of 1 or more"),
        (lambda: Convolution(4, kernel=(3, 0)), r"kernel must .* not \(3, 0\)"),
        (lambda: Convolution(4, kernel=3, padding=-1), "padding must"),
        (lambda: MaxPooling(2, 0), "stride must"),
        (lambda: MaxPooling(2, 2, padding=2), "more than half of the 2x2 window"),
        (lambda: Dense(2.5), "outputs must be a whole number"),  # type: ignore[arg-type]
        (lambda: Dropout(1.0), "rate must be at least 0 and less than 1"),
        (lambda: ClippedRectifier(0.0), "limit must be a finite number of more than 0"),
        (lambda: LocalResponseNormalization(4, 1e-4, 0.75), "size must be odd"),
        (lambda: BatchNormalization(momentum=1.0), "momentum must"),
        (lambda: BatchNormalization(epsilon=0.0), "epsilon must"),
    ],
)
def test_impossible_settings_are_refused(make: Callable[[], Operation], reason: str) -> None:
    with pytest.raises(NetworkError, match=reason):
        make()
