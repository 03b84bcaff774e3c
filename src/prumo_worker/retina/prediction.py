"""The task `retina_prediction`: scores of prepared photographs, and heat maps on request."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from prumo_worker.task import Task, first_line

# Errors only, and before the import: TensorFlow tells much about itself otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

from prumo_worker.frameworks.tensorflow import memory_errors
from prumo_worker.recipe import one_of, read_parameters
from prumo_worker.retina.network import SCORES_LAYER, SplitNetwork, scores_network
from prumo_worker.retina.strategy import place
from prumo_worker.task import DataError, TaskError

if TYPE_CHECKING:
    from prumo_worker.journal import Journal

NETWORK_FILE = "model.keras"
SCORES_FILE = "scores.npy"
HEAT_MAPS_FILE = "heat_maps.npy"
_DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Request:
    """How the photographs are to be judged."""

    batch_size: int = 16
    device: str = one_of(_DEVICES, "cpu")
    heat_maps: bool = False


@memory_errors()
def predict(task: Task, journal: Journal) -> dict[str, float]:
    """Score the photographs that the task names, in their order, on the device that it names."""
    request = read_parameters(Request, task.parameters)
    placement = place(request.device, "one", task.threads)
    with placement.strategy.scope():
        return score_photographs(task, request, placement.device, journal)


def score_photographs(
    task: Task, request: Request, device: str, journal: Journal
) -> dict[str, float]:
    """Write the scores, and the heat maps if requested, as one array each."""
    began = perf_counter()
    folder, out = Path(_path(task, "model")), Path(_path(task, "out"))
    images = _image_list(Path(_path(task, "images")))
    network = load_network(folder / NETWORK_FILE)
    judge = SplitNetwork(network).answer if request.heat_maps else _scorer(network)
    journal.event(
        "ready",
        device=device,
        threads=task.threads,
        versions={"tensorflow": tf.__version__, "keras": keras.__version__},
        network={"name": network.name, "parameters": network.count_params()},
        data={"source": str(folder), "images": len(images)},
        setup_seconds=perf_counter() - began,
    )
    answers = list(_answers(judge, images, _image_size(network), request.batch_size, journal))
    out.mkdir(parents=True, exist_ok=True)
    names = (SCORES_FILE, HEAT_MAPS_FILE) if request.heat_maps else (SCORES_FILE,)
    for name, parts in zip(names, zip(*answers)):
        np.save(out / name, np.concatenate(parts).astype(np.float32))
    return {"images": float(len(images)), "predict_seconds": perf_counter() - began}


def _scorer(network: keras.Model) -> Callable[[tf.Tensor], tuple[np.ndarray, ...]]:
    """What tells the scores of a batch before the last activation, and nothing else."""
    scores = scores_network(network)
    answer = tf.function(
        lambda images: scores(images, training=False),
        input_signature=[tf.TensorSpec(network.input_shape, tf.float32)],
        autograph=False,
    )
    return lambda images: (answer(images).numpy(),)


def load_keras(file: Path) -> keras.Model:
    """Any network of Keras, without running code that its file may bring."""
    try:
        network = keras.saving.load_model(file, compile=False, safe_mode=True)
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{file} cannot be loaded as a network: {first_line(error)}") from error
    if not isinstance(network, keras.Model):
        raise DataError(f"{file} holds no network but a {type(network).__name__}")
    return network


def load_network(file: Path) -> keras.Model:
    """A trained retina network."""
    network = load_keras(file)
    size = _image_size(network)
    if network.input_shape != (None, size, size, 3):
        raise DataError(f"{file} takes {network.input_shape} and not square RGB images")
    if SCORES_LAYER not in [layer.name for layer in network.layers]:
        raise DataError(f"{file} has no layer named {SCORES_LAYER!r}")
    return network


def _path(task: Task, name: str) -> str:
    if not isinstance(task.data.get(name), str):
        raise TaskError(f"data: {name} is missing")
    return task.data[name]


def _image_list(file: Path) -> list[str]:
    try:
        images = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaskError(f"{file} cannot be read as a list of images: {error}") from error
    if not images or not isinstance(images, list):
        raise TaskError(f"{file} must be a list of the paths of images, one at least")
    return [str(path) for path in images]


def _image_size(network: keras.Model) -> int:
    return int(network.input_shape[1] or 0)


def _answers(
    judge: Callable[[tf.Tensor], tuple[np.ndarray, ...]],
    images: Sequence[str],
    size: int,
    batch_size: int,
    journal: Journal,
) -> Iterator[tuple[np.ndarray, ...]]:
    began = perf_counter()
    batches = iter(_batches(images, size, batch_size))
    for step, first in enumerate(range(0, len(images), batch_size), start=1):
        try:
            batch = next(batches)
        except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError) as error:
            raise _image_error(images[first : first + batch_size], size) from error
        answer = judge(batch)
        now = perf_counter()
        journal.event("step", epoch=1, step=step, seconds=now - began, images=len(batch))
        began = now
        yield answer


def _batches(images: Sequence[str], size: int, batch_size: int) -> tf.data.Dataset:
    def read(path: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(_decoded(path), (size, size, 3))

    paths = tf.data.Dataset.from_tensor_slices([os.fsencode(path) for path in images])
    # Nothing here needs AutoGraph, whose temporary files would outlive a worker that is ended.
    plain = tf.autograph.experimental.do_not_convert(read)
    decoded = paths.map(plain, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return decoded.batch(batch_size).prefetch(1)


def _decoded(path: tf.Tensor | bytes) -> tf.Tensor:
    """Raw pixels from 0 to 255, decoded as in training: no other way gives the same ones."""
    pixels = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="INTEGER_ACCURATE")
    return tf.cast(pixels, tf.float32)


def _image_error(images: Sequence[str], size: int) -> DataError:
    """Which of the images of a batch is not as it should be, found by looking at each."""
    for path in images:
        try:
            height, width, _ = _decoded(os.fsencode(path)).shape
        except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError) as error:
            return DataError(f"{path} cannot be read as a JPEG: {error.message.splitlines()[0]}")
        if (width, height) != (size, size):
            return DataError(f"{path} is {width}x{height} pixels; the network takes {size}x{size}")
    return DataError("the images changed while they were read")
