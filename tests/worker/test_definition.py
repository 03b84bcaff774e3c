"""Layers as plain data, the form in which a network of one's own reaches a worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prumo_worker.networks import NAMES, NetworkError, layer, network
from prumo_worker.networks.catalog import CATALOG
from prumo_worker.networks.definition import layer_document, network_documents, read_layers
from prumo_worker.networks.network import Layer, assemble
from support.small_networks import LAYERS

SCORES = {"name": "scores", "operation": "dense", "outputs": "classes"}
FLAT = {"name": "flat", "operation": "flatten"}
RESPONSE = {
    "name": "x",
    "operation": "local_response_normalization",
    "size": 5,
    "alpha": 1,
    "beta": 0.75,
}
CLIPPED = {"name": "x", "operation": "clipped_rectifier"}


@pytest.mark.parametrize("name", NAMES)
def test_every_network_survives_the_way_through_json(name: str) -> None:
    layers = list(CATALOG[name].layers(7))
    documents = json.loads(json.dumps([layer_document(layer) for layer in layers]))
    assert read_layers(documents, classes=7) == layers


@pytest.mark.parametrize("name", LAYERS)
def test_every_operation_survives_the_way_through_json(name: str) -> None:
    documents = json.loads(json.dumps([layer_document(layer) for layer in LAYERS[name]]))
    assert read_layers(documents, classes=7) == LAYERS[name]


def test_a_network_that_is_made_can_be_made_again_from_its_definition() -> None:
    heads = network("googlenet_aux", 96, 3, 7)
    assert network(heads.name, 96, 3, 7, network_documents(heads)) == heads


def test_what_is_as_usual_is_not_written() -> None:
    first, *_ = CATALOG["alexnet"].layers(10)
    assert layer_document(first) == {
        "name": "conv1",
        "operation": "convolution",
        "outputs": 96,
        "kernel": 11,
        "stride": 4,
    }


def test_the_data_set_decides_about_the_classes() -> None:
    for classes in (2, 10):
        assert network("own", 8, 3, classes, [FLAT, SCORES]).classes == classes


def test_one_input_may_stand_without_a_list() -> None:
    layers = read_layers([FLAT, {**SCORES, "inputs": "flat"}], classes=2)
    assert layers[1].inputs == ("flat",)


def test_a_last_layer_without_a_score_for_each_class_is_refused() -> None:
    with pytest.raises(NetworkError, match=r"each of the 10 classes, .* gives 5") as caught:
        network("own", 8, 3, 10, [FLAT, {**SCORES, "outputs": 5}])
    assert caught.value.position == 1


def test_a_last_layer_cannot_be_a_further_head_as_well() -> None:
    with pytest.raises(NetworkError, match="layer scores: the last layer gives the") as caught:
        network("own", 8, 3, 10, [FLAT, {**SCORES, "auxiliary": 0.3}])
    assert caught.value.position == 1


@pytest.mark.parametrize("weight", [-0.3, float("nan"), float("inf")])
def test_a_head_made_in_python_cannot_weigh_less_than_nothing_or_without_end(
    weight: float,
) -> None:
    head = Layer("side", layer.Dense(3), auxiliary=weight)
    layers = [Layer("flat", layer.Flatten()), head, Layer("scores", layer.Dense(3))]
    with pytest.raises(NetworkError, match="layer side: auxiliary must be a finite number"):
        assemble("own", (1, 2, 2), layers)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("conv1", "layer number 2: should be a mapping with `name` and `operation`"),
        ({"operation": "dense"}, "layer number 2: needs a word for its `name`"),
        ({"name": "x"}, "layer x: needs a word for its `operation`"),
        ({"name": "x", "operation": "densee"}, "named 'densee'; did you mean 'dense'"),
        ({"name": "x", "operation": "lstm"}, "named 'lstm'; known: convolution, padding"),
        ({"name": "x", "operation": "dense"}, "layer x: needs a number for its `outputs`"),
        (SCORES | {"output": 3}, "dense has no 'output'; did you mean 'outputs'"),
        (SCORES | {"outputs": "ten"}, "outputs must be a whole number, not 'ten'"),
        (SCORES | {"outputs": True}, "outputs must be a whole number, not True"),
        (SCORES | {"outputs": 0}, "outputs must be a whole number of 1 or more"),
        (SCORES | {"bias": 1}, "bias must be true or false"),
        (SCORES | {"inputs": 3}, "inputs must be names of layers"),
        (SCORES | {"auxiliary": "much"}, "auxiliary must be a number"),
        (SCORES | {"auxiliary": -0.3}, "auxiliary must be a finite number of 0 or more"),
        (SCORES | {"auxiliary": float("nan")}, "auxiliary must be a finite number"),
        ({"name": "x", "operation": "dropout", "rate": "half"}, "rate must be a number"),
        (RESPONSE | {"alpha": -1}, "alpha must be a finite number of 0 or more, not -1"),
        (RESPONSE | {"beta": float("inf")}, "beta must be a finite number of 0 or more"),
        (RESPONSE | {"k": 0}, "k must be a finite number of more than 0, not 0.0"),
        (CLIPPED | {"limit": 0}, "limit must be a finite number of more than 0"),
        (CLIPPED | {"limit": float("inf")}, "limit must be a finite number"),
        (CLIPPED | {"limit": 10**400}, "limit must be a finite number"),
        (
            {"name": "x", "operation": "batch_normalization", "epsilon": float("nan")},
            "epsilon must be a finite number",
        ),
        (
            {"name": "x", "operation": "convolution", "outputs": 3, "kernel": [3, "3"]},
            "kernel must be a whole number",
        ),
        (
            {"name": "x", "operation": "convolution", "outputs": 3, "kernel": [3, 3, 3]},
            "kernel must be a whole number",
        ),
    ],
)
def test_wrong_layers_are_refused_with_their_place(document: Any, reason: str) -> None:
    with pytest.raises(NetworkError, match=reason) as caught:
        read_layers([FLAT, document], classes=10)
    assert caught.value.position == 1
