"""Backbones filled with weights of every kind of source, in TensorFlow's environment.

Run as a script it does all of it in one process, because TensorFlow takes seconds to import. The
readers of weights need no more than h5py, which that environment has too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_worker.retina.backbones import build_backbone
from support.framework_process import arguments, run_script, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import keras

    from prumo_worker.retina.backbones import Backbone

SIZE = 32
SMALL = 4
APPLICATIONS = ("densenet", "inception_v3", "mobilenet", "mobilenet_v2", "resnet50", "vgg19")
SAVED = "mobilenet"
"""What Keras saves after it was filled with weights of PyTorch."""
# Nobody listens there, so that Keras cannot fetch anything.
NOWHERE = "http://127.0.0.1:9"


def compare(python: Path, folder: Path, names: list[str]) -> dict[str, Any]:
    """How far Keras's features are from PyTorch's, whose files are in the folder."""
    compared: dict[str, Any] = run_script(python, __file__, "compare", str(folder), names)
    return compared


def ask(python: Path, folder: Path, names: list[str]) -> dict[str, Any]:
    """The same, what becomes of files that Keras itself wrote, and of arrays that do not fit."""
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE)
    variables = {"KERAS_HOME": str(folder / "keras"), **proxies}
    answers: dict[str, Any] = run_script(
        python, __file__, "ask", str(folder), names, variables=variables
    )
    return answers


def _main(job: str, place: str, names: list[str]) -> None:
    folder = Path(place)
    compared = {name: _compared(folder, name) for name in names}
    if job == "compare":
        tell(compared)
        return
    tell(
        {
            "compared": compared,
            "average": _average_at_the_corner(),
            "files": _keras_files(folder),
            "counted": _counted_layers(),
            "library": _library(folder),
            "own": _own_normalization(),
            "pixels": {name: _pixel_difference(name) for name in APPLICATIONS},
            "refusals": _refusals(),
        }
    )


def _compared(folder: Path, name: str) -> dict[str, Any]:
    backbone_name = name.partition("-")[0]
    with np.load(folder / f"{backbone_name}.npz") as reference:
        pixels, expected = reference["pixels"], reference["features"]
    with np.load(folder / f"{name}.arrays.npz") as arrays:
        backbone = build_backbone(backbone_name, pixels.shape[1], dict(arrays))
    found = np.asarray(backbone.network(pixels, training=False))
    return {
        "difference": _difference(found, expected),
        "weights": backbone.weights,
        "offset": backbone.normalization.offset,
        "saved_again": _saved_again(folder, backbone, pixels) if name == SAVED else None,
    }


def _saved_again(folder: Path, backbone: Backbone, pixels: np.ndarray) -> float:
    """How far the same backbone is by way of a file of Keras."""
    from prumo_retina.weights import named_arrays  # noqa: PLC0415

    backbone.network.save(folder / "again.keras")
    again = build_backbone(SAVED, pixels.shape[1], named_arrays(folder / "again.keras").arrays)
    return _difference(
        np.asarray(again.network(pixels, training=False)),
        np.asarray(backbone.network(pixels, training=False)),
    )


def _keras_files(folder: Path) -> dict[str, float]:
    """A model with a network inside it, saved in three ways and read back as arrays."""
    import keras  # noqa: PLC0415 (imports TensorFlow)

    from prumo_retina.weights import named_arrays  # noqa: PLC0415
    from prumo_worker.retina.backbones.assembly import fill  # noqa: PLC0415 (imports TensorFlow)

    original = _drawn(_small_network())
    inside = keras.Sequential([original, keras.layers.Flatten(), keras.layers.Dense(1)])
    inside.save(folder / "model.keras")
    inside.save(folder / "model.h5")
    inside.save_weights(folder / "model.weights.h5")
    pixels = _pixels(SMALL)
    expected = np.asarray(original(pixels, training=False))

    def difference(file: str) -> float:
        network = _small_network()
        fill(network, "inception_v3", named_arrays(folder / file).arrays)
        return _difference(np.asarray(network(pixels, training=False)), expected)

    return {file: difference(file) for file in ("model.keras", "model.h5", "model.weights.h5")}


def _counted_layers() -> list[str]:
    """Layers without names of their own, numbered as in another process."""
    from prumo_worker.retina.backbones.assembly import fill  # noqa: PLC0415 (imports TensorFlow)

    network = _small_network()
    names = ("conv2d_94/kernel", "conv2d_101/kernel", "batch_normalization_99/beta")
    shapes = ((1, 1, 3, 3), (1, 1, 3, 3), (3,))
    arrays = {
        name: np.full(shape, i + 1.0)
        for i, (name, shape) in enumerate(zip(names, shapes, strict=True))
    }
    for part in ("moving_mean", "moving_variance"):
        arrays[f"batch_normalization_99/{part}"] = np.full(3, 4.0)
    fill(network, "inception_v3", dict(reversed(arrays.items())))
    return [f"{weight.name} {np.asarray(weight).max():.0f}" for weight in network.weights]


def _small_network() -> keras.Model:
    """Two convolutions with a normalization between them, as Inception has many."""
    import keras  # noqa: PLC0415

    pixels = keras.Input((SMALL, SMALL, 3))
    x = keras.layers.Conv2D(3, 1, use_bias=False)(pixels)
    x = keras.layers.BatchNormalization(scale=False)(x)
    return keras.Model(pixels, keras.layers.Conv2D(3, 1, use_bias=False)(x))


def _average_at_the_corner() -> float:
    """Of ones, by an average over 3 by 3 pixels in PyTorch's form."""
    import keras  # noqa: PLC0415

    from prumo_worker.retina.backbones.keras import as_in_pytorch  # noqa: PLC0415

    pixels = keras.Input((SMALL, SMALL, 3))
    average = keras.layers.AveragePooling2D(3, strides=1, padding="same")(pixels)
    network = as_in_pytorch(keras.Model(pixels, average), "inception_v3")
    return float(np.asarray(network(np.ones((1, SMALL, SMALL, 3))))[0, 0, 0, 0])


def _library(folder: Path) -> dict[str, Any]:
    """Weights that lie in Keras's cache, and those of another network, which do not."""
    original = _drawn(build_backbone("mobilenet", SIZE, None).network)
    cache = folder / "keras/models"
    cache.mkdir(parents=True)
    original.save(cache / "mobilenet_1_0_224_tf_no_top.h5")
    cached = build_backbone("mobilenet", SIZE, None, library_weights=True)
    pixels = _pixels(SIZE)
    return {
        "difference": _difference(
            np.asarray(cached.network(pixels, training=False)),
            np.asarray(original(pixels, training=False)),
        ),
        "weights": cached.weights,
        "absent": _reason(lambda: build_backbone("vgg19", SIZE, None, library_weights=True)),
        "unknown": _reason(
            lambda: build_backbone("efficientnet_lite0", SIZE, None, library_weights=True)
        ),
    }


def _own_normalization() -> list[str]:
    """Layers of EfficientNet that change pixels before its first convolution."""
    network = build_backbone("efficientnet_b0", SIZE, None).network
    names = [layer.__class__.__name__ for layer in network.layers]
    return names[: names.index("Conv2D")]


def _pixel_difference(name: str) -> float:
    """Between our normalization and Keras's own function for the same network."""
    import keras  # noqa: PLC0415

    from prumo_worker.retina.backbones import FACTS  # noqa: PLC0415

    backbone = {"densenet": "densenet121"}.get(name, name)
    normalization = FACTS[backbone].normalization
    pixels = np.random.default_rng(3).integers(0, 256, (1, 4, 4, 3)).astype(np.float32)
    ordered = pixels[..., ::-1] if normalization.channels == "bgr" else pixels
    ours = (ordered - np.array(normalization.offset)) / np.array(normalization.scale)
    theirs = getattr(keras.applications, name).preprocess_input(pixels.copy())
    return float(np.abs(ours - theirs).max())


def _refusals() -> dict[str, str]:
    """What is said of arrays that do not fit."""
    from prumo_worker.retina.backbones.assembly import fill  # noqa: PLC0415

    first, second = "conv2d/kernel", "conv2d_1/kernel"
    kernel = np.ones((1, 1, 3, 3))
    parts = ("beta", "moving_mean", "moving_variance")
    weights = {
        first: kernel,
        second: kernel,
        **{f"batch_normalization/{part}": np.ones(3) for part in parts},
    }
    others = {
        "missing": {name: array for name, array in weights.items() if name != second},
        "misshapen": {**weights, first: kernel[..., :2]},
        "foreign": {**weights, "block6_conv1/kernel": kernel},
        "not a number": {**weights, first: np.full_like(kernel, np.nan)},
        "too large": {**weights, first: np.full_like(kernel, 1e300)},
    }

    def refused(arrays: Mapping[str, np.ndarray]) -> str:
        return _reason(lambda: fill(_small_network(), "inception_v3", arrays))

    return {
        **{name: refused(arrays) for name, arrays in others.items()},
        "of another program": _reason(
            lambda: fill(_small_network(), "efficientnet_b0", {"conv_stem.weight": kernel})
        ),
        "without names": _reason(
            lambda: fill(_small_network(), "inception_v3", {"conv_0.weight": kernel})
        ),
    }


def _reason(build: Callable[[], object]) -> str:
    try:
        build()
    except Exception as reason:  # noqa: BLE001 (the test looks at its kind)
        return f"{type(reason).__name__}: {reason}"
    return ""


def _drawn(network: keras.Model) -> keras.Model:
    """Every weight another than at the start, so that a normalization does something."""
    generator = np.random.default_rng(5)
    for weight in network.weights:
        factors = generator.uniform(0.8, 1.2, weight.shape)
        weight.assign(np.asarray(weight) * factors + (0.05 if weight.name == "beta" else 0))
    return network


def _pixels(size: int) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(2, size, size, 3)).astype(np.float32)


def _difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest, as a share of the largest feature; infinite where nothing is to be seen."""
    if found.shape != expected.shape or not expected.any():
        return float("inf")
    return float(np.abs(found - expected).max() / np.abs(expected).max())


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    _main(*arguments())
