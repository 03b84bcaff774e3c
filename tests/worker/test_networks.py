"""The networks have the shapes, parameters and work that their authors published."""

from __future__ import annotations

import subprocess
import sys

import pytest

from prumo_worker.networks import NAMES, NetworkError, network
from prumo_worker.networks.catalog import CATALOG
from prumo_worker.networks.layer import Add, Concatenate, Convolution, Dense
from support.smallest_images import SMALLEST
from support.worker_process import SOURCES

PARAMETERS = {
    "lenet5": 61_706,
    "alexnet": 60_965_224,
    "googlenet": 6_998_552,
    "googlenet_aux": 13_378_280,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "mobilenet": 4_253_864,
    "inception_v3": 23_851_784,
    "dr_mobilenet": 3_377_221,
    "dr_vgg19": 20_107_205,
}
TRAINED_PARAMETERS = {
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "mobilenet": 4_231_976,
    "inception_v3": 23_817_352,
}
GIGA_MULTIPLY_ACCUMULATES = {
    "alexnet": 0.72,
    "googlenet": 1.58,
    "vgg16": 15.47,
    "vgg19": 19.63,
    "resnet18": 1.81,
    "resnet50": 4.09,
    "mobilenet": 0.57,
    "inception_v3": 5.71,
}


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS.items())
def test_a_network_has_the_published_number_of_parameters(name: str, parameters: int) -> None:
    made_for = CATALOG[name]
    built = network(name, made_for.image_size, made_for.channels, made_for.classes)
    assert built.parameters == parameters


@pytest.mark.parametrize(("name", "parameters"), TRAINED_PARAMETERS.items())
def test_a_network_trains_the_published_number_of_parameters(name: str, parameters: int) -> None:
    built = network(name, CATALOG[name].image_size, channels=3, classes=1000)
    assert built.trained_parameters == parameters
    assert built.parameters > built.trained_parameters


@pytest.mark.parametrize(("name", "giga"), GIGA_MULTIPLY_ACCUMULATES.items())
def test_flops_are_twice_the_published_multiply_accumulates(name: str, giga: float) -> None:
    built = network(name, CATALOG[name].image_size, channels=3, classes=1000)
    assert built.flops / 2e9 == pytest.approx(giga, abs=0.005)


def test_lenet5_has_twice_its_multiply_accumulates_as_flops() -> None:
    convolutions = 6 * 28 * 28 * 25 + 16 * 10 * 10 * 6 * 25
    dense = 400 * 120 + 120 * 84 + 84 * 10
    lenet5 = network("lenet5", image_size=28, channels=1, classes=10)
    assert lenet5.flops == 2 * (convolutions + dense)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("image_size", [28, 32, 64, 96, 224])
def test_a_network_takes_every_image_that_is_large_enough(
    name: str, channels: int, image_size: int
) -> None:
    if image_size < SMALLEST[name]:
        with pytest.raises(NetworkError, match="does not fit"):
            network(name, image_size, channels, classes=7)
        return
    built = network(name, image_size, channels, classes=7)
    assert built.input_shape == (channels, image_size, image_size)
    assert built.nodes[-1].output_shape == (7,)
    assert built.classes == 7


@pytest.mark.parametrize(("name", "image_size"), SMALLEST.items())
def test_an_image_one_pixel_too_small_is_refused_with_the_layer(name: str, image_size: int) -> None:
    network(name, image_size, channels=3, classes=10)
    with pytest.raises(NetworkError, match=r": layer \w+: gets .* does not fit|no network takes"):
        network(name, image_size - 1, channels=3, classes=10)


def test_a_refusal_says_which_layer_got_what() -> None:
    with pytest.raises(NetworkError, match=r"rede2 on 3x4x4: layer pool3: gets 128x1x1: a 2x2"):
        network("rede2", image_size=4, channels=3, classes=10)


@pytest.mark.parametrize(
    ("name", "layer", "shape"),
    [
        ("alexnet", "conv1", (96, 55, 55)),
        ("alexnet", "pool5", (256, 6, 6)),
        ("googlenet", "3a", (256, 28, 28)),
        ("googlenet", "4e", (832, 14, 14)),
        ("googlenet", "5b", (1024, 7, 7)),
        ("googlenet_aux", "head1_pool", (512, 4, 4)),
        ("vgg16", "pool5", (512, 7, 7)),
        ("resnet18", "stage4_2", (512, 7, 7)),
        ("resnet50", "stage4_3", (2048, 7, 7)),
        ("mobilenet", "pointwise13_relu", (1024, 7, 7)),
        ("inception_v3", "mixed2", (288, 35, 35)),
        ("inception_v3", "mixed7", (768, 17, 17)),
        ("inception_v3", "mixed10", (2048, 8, 8)),
        ("dr_vgg19", "pool", (512,)),
    ],
)
def test_layers_have_the_published_shapes(name: str, layer: str, shape: tuple[int, ...]) -> None:
    built = network(name, CATALOG[name].image_size, channels=3, classes=1000)
    assert {node.name: node.output_shape for node in built.nodes}[layer] == shape


def test_alexnet_has_three_convolutions_in_two_groups() -> None:
    alexnet = network("alexnet", 227, 3, 1000)
    groups = [
        node.operation.groups for node in alexnet.nodes if isinstance(node.operation, Convolution)
    ]
    assert groups == [1, 2, 1, 2, 2]


def test_resnets_add_and_inceptions_concatenate() -> None:
    resnet50, googlenet = network("resnet50", 64, 3, 10), network("googlenet", 64, 3, 10)
    assert sum(isinstance(node.operation, Add) for node in resnet50.nodes) == 16
    assert sum(isinstance(node.operation, Concatenate) for node in googlenet.nodes) == 9


def test_googlenet_has_heads_only_where_it_is_named_so() -> None:
    assert network("googlenet", 224, 3, 1000).auxiliary == {}
    heads = network("googlenet_aux", 224, 3, 1000).auxiliary
    assert heads == {"head1_scores": 0.3, "head2_scores": 0.3}


@pytest.mark.parametrize("name", ["vgg16", "alexnet"])
def test_the_first_dense_layer_follows_the_image(name: str) -> None:
    def inputs(image_size: int) -> int:
        nodes = network(name, image_size, channels=3, classes=10).nodes
        return next(n for n in nodes if isinstance(n.operation, Dense)).input_shapes[0][0]

    assert inputs(224) > inputs(96)


@pytest.mark.parametrize("image_size", [32, 64])
def test_rede2_is_the_larger_one(image_size: int) -> None:
    rede1 = network("rede1", image_size, channels=3, classes=10)
    rede2 = network("rede2", image_size, channels=3, classes=10)
    assert rede2.parameters > rede1.parameters
    assert rede2.flops > rede1.flops
    assert len(rede2.nodes) > len(rede1.nodes)


def test_an_unknown_network_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(NetworkError, match="'rede3'; did you mean 'rede2'"):
        network("rede3", image_size=32, channels=3, classes=10)
    with pytest.raises(NetworkError, match="'transformer'; known: rede1, rede2, lenet5"):
        network("transformer", image_size=32, channels=3, classes=10)


@pytest.mark.parametrize(("image_size", "classes"), [(0, 10), (-1, 10), (32, 0)])
def test_empty_images_and_no_classes_are_refused(image_size: int, classes: int) -> None:
    with pytest.raises(NetworkError):
        network("rede1", image_size, channels=3, classes=classes)


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
