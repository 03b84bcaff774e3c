"""Rede 1 in Caffe as a user would write it by hand: no marks, no accuracy, no journal."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import caffe

from prumo_worker.data.dataset import Feed

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.data.dataset import Dataset
    from prumo_worker.recipe import Recipe

INPUT = """
layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ {sizes} }} }} }}
"""
CONVOLUTION = """
layer {{
  name: "conv{name}" type: "Convolution" bottom: "{bottom}" top: "conv{name}"
  convolution_param {{
    num_output: {outputs} kernel_size: 3 pad: 1 weight_filler {{ type: "msra" }}
  }}
}}
layer {{ name: "relu{name}" type: "ReLU" bottom: "conv{name}" top: "conv{name}" }}
"""
POOLING = """
layer {{
  name: "pool{name}" type: "Pooling" bottom: "{bottom}" top: "pool{name}"
  pooling_param {{ pool: MAX kernel_size: 2 stride: 2 }}
}}
"""
DENSE = """
layer {
  name: "dense" type: "InnerProduct" bottom: "pool2" top: "dense"
  inner_product_param { num_output: 256 weight_filler { type: "msra" } }
}
layer { name: "relu" type: "ReLU" bottom: "dense" top: "dense" }
layer {
  name: "scores" type: "InnerProduct" bottom: "dense" top: "scores"
  inner_product_param { num_output: CLASSES weight_filler { type: "msra" } }
}
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "scores" bottom: "label" top: "loss" }
"""


def plain_loop(recipe: Recipe, dataset: Dataset) -> Callable[[int], None]:
    with TemporaryDirectory() as folder:
        solver = caffe.get_solver(_write_solver(Path(folder), recipe, dataset))
    blobs = solver.net.blobs
    feed = Feed(dataset, recipe.batch_size, recipe.seed)

    def loop(epoch: int) -> None:
        for images, labels in feed.epoch(epoch):
            blobs["image"].reshape(*images.shape)
            blobs["label"].reshape(*labels.shape)
            blobs["image"].data[...] = images
            blobs["label"].data[...] = labels
            solver.step(1)

    return loop


def _write_solver(folder: Path, recipe: Recipe, dataset: Dataset) -> str:
    layers = [
        _input("image", (recipe.batch_size, *dataset.shape)),
        _input("label", (recipe.batch_size,)),
        CONVOLUTION.format(name="1_1", bottom="image", outputs=32),
        CONVOLUTION.format(name="1_2", bottom="conv1_1", outputs=32),
        POOLING.format(name="1", bottom="conv1_2"),
        CONVOLUTION.format(name="2_1", bottom="pool1", outputs=64),
        CONVOLUTION.format(name="2_2", bottom="conv2_1", outputs=64),
        POOLING.format(name="2", bottom="conv2_2"),
        DENSE.replace("CLASSES", str(dataset.classes)),
    ]
    net = folder / "net.prototxt"
    net.write_text("\n".join(layers))
    solver = folder / "solver.prototxt"
    solver.write_text(
        f'net: "{net}"\nbase_lr: {recipe.learning_rate}\nlr_policy: "fixed"\n'
        f"momentum: {recipe.momentum}\nsolver_mode: CPU\nsnapshot_after_train: false\n"
    )
    return str(solver)


def _input(name: str, shape: tuple[int, ...]) -> str:
    return INPUT.format(name=name, sizes=" ".join(f"dim: {size}" for size in shape))
