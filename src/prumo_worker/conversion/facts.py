"""What a converted network is, and the images that it and its original are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prumo_worker.task import DataError, TaskError

if TYPE_CHECKING:
    from prumo_worker.conversion import Request

Ranges = tuple[tuple[float, float], ...]

_COARSE = 8
_SEED = 20
_COUNT = 6

RAW_PIXELS: Ranges = ((0.0, 255.0),)
ANY_PIXELS: Ranges = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0))
"""For a network of which nobody knows what it wants: in the wrong range it may answer 0 and 1 to
everything, and two networks that differ would agree."""


def drawn_images(
    height: int, width: int, layout: str, dtype: str, ranges: Ranges = ANY_PIXELS
) -> np.ndarray:
    """A few images, the same ones every time: large patches of colour under fine grain."""
    numbers = np.random.default_rng(_SEED)
    images = np.concatenate(
        [
            low + (high - low) * _patterns(numbers, _COUNT // len(ranges), height, width)
            for low, high in ranges
        ]
    )
    if layout == "NCHW":
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    return (images.round() if dtype == "uint8" else images).astype(dtype)


def _patterns(numbers: np.random.Generator, count: int, height: int, width: int) -> np.ndarray:
    """From 0 to 1."""
    coarse = numbers.random((count, _COARSE, _COARSE, 3))
    rows = np.arange(height) * _COARSE // height
    columns = np.arange(width) * _COARSE // width
    grain = numbers.random((count, height, width, 3))
    patterns: np.ndarray = 0.75 * coarse[:, rows][:, :, columns] + 0.25 * grain
    return patterns


OPSET = 18
"""Of 2022: every runtime of today reads it."""
ONNX_FILE = "network.onnx"
REFERENCE_FILE = "reference.npz"
IMAGES = "images"
"""The array of the reference that holds what was asked; each other one is an output's answers."""
OUTPUT = "answers"
"""What the only output is called where the original has no name for it."""
HEAT_MAP = "heat_map"
FEATURES = "features"
COLOURS = 3
COMPARED_IMAGES = 20
"""Of those that are given: more would only take time."""
_IMAGE_RANK = 4
_OUTPUT_RANK = 2


@dataclass(frozen=True)
class NetworkFacts:
    """How a network is asked, and what its answer is."""

    input_tensor: str
    height: int
    width: int
    layout: str
    dtype: str
    output_tensor: str
    kind: str
    """`scores` or `probabilities`."""
    activation: str
    features_tensor: str = ""
    """The output with the last map of features, where there is one."""
    without_heat_map: str = ""
    """Why no heat map can be made; empty where one can."""
    original_precision: str = "fp32"
    """In which the original computes its answers."""


def image_shape(shape: tuple[int | None, ...], request: Request) -> tuple[str, int, int]:
    """Layout, height and width of what a network takes, or what is wrong with it."""
    if len(shape) != _IMAGE_RANK or COLOURS not in (shape[1], shape[3]):
        raise DataError(
            f"{request.source} takes a tensor of the shape {shown_shape(shape)} and no batch of "
            "RGB images"
        )
    layout = "NHWC" if shape[3] == COLOURS else "NCHW"
    found = shape[1:3] if layout == "NHWC" else shape[2:4]
    height, width = (own or asked for own, asked in zip(found, (request.height, request.width)))
    if height is None or width is None:
        raise DataError(
            f"{request.source} takes images of any size; give the one that it was trained with, as "
            "--size 224"
        )
    if (request.height or height, request.width or width) != (height, width):
        raise DataError(f"{request.source} takes images of {found[1]}x{found[0]} pixels only")
    return layout, height, width


def require_classes(shape: tuple[int | None, ...], source: Path) -> int:
    """How many numbers a network gives for each image."""
    if len(shape) != _OUTPUT_RANK or not shape[1]:
        raise DataError(
            f"{source} gives a tensor of the shape {shown_shape(shape)}; a classifier gives one "
            "number for each class"
        )
    return shape[1]


def kind_of_output(last_operation: str, classes: int) -> tuple[str, str]:
    """Kind and activation, from the network's last operation."""
    kinds = {"softmax": "softmax", "sigmoid": "sigmoid", "logistic": "sigmoid"}
    known = kinds.get(last_operation.lower())
    if known:
        return "probabilities", known
    return "scores", "sigmoid" if classes == 1 else "softmax"


def asked_images(facts: NetworkFacts, request: Request) -> np.ndarray:
    """The first of those that the request brings; else drawn ones."""
    ranges = RAW_PIXELS if request.origin == "retina" or facts.dtype == "uint8" else ANY_PIXELS
    drawn = drawn_images(facts.height, facts.width, facts.layout, facts.dtype, ranges)
    if request.images is None:
        return drawn
    given = np.load(request.images, mmap_mode="r", allow_pickle=False)
    if given.shape[1:] != drawn.shape[1:]:
        raise TaskError(f"{request.images} has images of {given.shape[1:]}, not {drawn.shape[1:]}")
    return np.array(given[:COMPARED_IMAGES], drawn.dtype)


def write_reference(
    folder: Path, images: np.ndarray, answer: Callable[[np.ndarray], Mapping[str, np.ndarray]]
) -> None:
    """What the original answers, one image at a time so that many take no more memory."""
    answers = [answer(images[number : number + 1]) for number in range(len(images))]
    arrays = {
        name: np.concatenate([one[name] for one in answers]).astype(np.float32)
        for name in answers[0]
    }
    arrays[IMAGES] = images
    np.savez(folder / REFERENCE_FILE, allow_pickle=False, **arrays)


def shown_shape(shape: tuple[int | None, ...]) -> str:
    """As people write it: `(any, 224, 224, 3)`."""
    return f"({', '.join('any' if size is None else str(size) for size in shape)})"
