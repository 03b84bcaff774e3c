from __future__ import annotations

import subprocess
import sys

import pytest

from prumo_worker.networks import NAMES, NetworkError, network
from prumo_worker.networks.layer import Convolution, Dense, Flatten, MaxPooling, Rectifier
from prumo_worker.networks.network import IMAGE, Layer, assemble
from worker_process import SOURCES


def test_lenet5_has_the_published_number_of_parameters() -> None:
    assert network("lenet5", image_size=28, channels=1, classes=10).parameters == 61_706


def test_lenet5_has_twice_its_multiply_accumulates_as_flops() -> None:
    convolutions = 6 * 28 * 28 * 25 + 16 * 10 * 10 * 6 * 25
    dense = 400 * 120 + 120 * 84 + 84 * 10
    lenet5 = network("lenet5", image_size=28, channels=1, classes=10)
    assert lenet5.flops == 2 * (convolutions + dense)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("image_size", [28, 32, 64, 224])
def test_every_network_takes_every_usual_image(name: str, channels: int, image_size: int) -> None:
    built = network(name, image_size, channels, classes=7)
    assert built.input_shape == (channels, image_size, image_size)
    assert built.nodes[-1].output_shape == (7,)
    assert built.classes == 7


@pytest.mark.parametrize("image_size", [32, 64])
def test_rede2_is_the_larger_one(image_size: int) -> None:
    rede1 = network("rede1", image_size, channels=3, classes=10)
    rede2 = network("rede2", image_size, channels=3, classes=10)
    assert rede2.parameters > rede1.parameters
    assert rede2.flops > rede1.flops
    assert len(rede2.nodes) > len(rede1.nodes)


def test_an_image_too_small_is_refused_with_the_layer_and_the_shape_it_got() -> None:
    with pytest.raises(NetworkError, match=r"rede2 on 3x4x4: layer pool3: gets 128x1x1: a 2x2"):
        network("rede2", image_size=4, channels=3, classes=10)


def test_an_unknown_network_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NetworkError, match="'rede3'; known: lenet5, rede1, rede2"):
        network("rede3", image_size=32, channels=3, classes=10)


@pytest.mark.parametrize(("image_size", "classes"), [(0, 10), (-1, 10), (32, 0)])
def test_empty_images_and_no_classes_are_refused(image_size: int, classes: int) -> None:
    with pytest.raises(NetworkError):
        network("rede1", image_size, channels=3, classes=classes)


def test_stride_padding_and_groups_count_in_shapes_and_work() -> None:
    convolution = Convolution(8, kernel=3, stride=2, padding=1, groups=2)
    built = assemble("own", (4, 7, 7), [Layer("conv", convolution)])
    (node,) = built.nodes
    assert node.output_shape == (8, 4, 4)
    assert node.weight_shapes == {"weight": (8, 2, 3, 3), "bias": (8,)}
    assert built.flops == 2 * (8 * 4 * 4) * (2 * 3 * 3)


def test_a_layer_can_name_an_earlier_one_as_its_input() -> None:
    layers = [
        Layer("left", Convolution(2, kernel=1)),
        Layer("right", Convolution(5, kernel=1), inputs=(IMAGE,)),
        Layer("after", Rectifier()),
    ]
    left, right, after = assemble("own", (3, 8, 8), layers).nodes
    assert (left.inputs, right.inputs, after.inputs) == ((IMAGE,), (IMAGE,), ("right",))
    assert after.output_shape == (5, 8, 8)


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ([Layer("one", Rectifier(), inputs=("two",))], "no earlier layer is named two"),
        ([Layer("one", Rectifier()), Layer("one", Rectifier())], "name is taken"),
        ([Layer("one", Dense(3))], "flatten first"),
        ([Layer("one", Flatten()), Layer("two", MaxPooling(2, 2))], "needs an image"),
        ([Layer("one", Convolution(4, kernel=1, groups=2))], "do not divide into 2 groups"),
    ],
)
def test_layers_that_do_not_fit_together_are_refused(layers: list[Layer], reason: str) -> None:
    with pytest.raises(NetworkError, match=reason):
        assemble("own", (3, 8, 8), layers)


def test_networks_need_no_numpy() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None; from prumo_worker.networks import network; "
        "print(network('rede1', 32, 3, 10).parameters)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1116970\n"
