"""Small networks of TensorFlow's, converted in one process: importing it takes seconds.

Run as a script in TensorFlow's environment with its companion; nothing here imports it before.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.framework_process import arguments, tell

if TYPE_CHECKING:
    import keras
    import numpy as np

SIZE = 16
CLASSES = 5

# Name of a case → source, origin, target, and what else is asked.
CASES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "keras to onnx": ("softmax.keras", "keras", "onnxruntime", {}),
    "older keras to onnx": ("any-size.h5", "keras", "onnxruntime", {"height": 20, "width": 12}),
    "keras to litert": ("softmax.keras", "keras", "litert", {}),
    "keras to litert in fp16": ("softmax.keras", "keras", "litert", {"precision": "fp16"}),
    "keras to litert in int8": ("softmax.keras", "keras", "litert", {"precision": "int8"}),
    "keras to dynamic litert": ("softmax.keras", "keras", "litert", {"precision": "int8-dynamic"}),
    "keras to tensorflow": ("softmax.keras", "keras", "tensorflow", {}),
    "saved model to onnx": ("saved", "saved_model", "onnxruntime", {}),
    "grade to onnx": ("grade.keras", "retina", "onnxruntime", {}),
    "referral to litert": ("referral.keras", "retina", "litert", {}),
    "mixed precision to onnx": ("mixed.keras", "retina", "onnxruntime", {}),
    "head without a way back": ("largest.keras", "retina", "onnxruntime", {}),
    "any size, none given": ("any-size.h5", "keras", "onnxruntime", {}),
    "another size": ("softmax.keras", "keras", "onnxruntime", {"height": 20, "width": 20}),
    "two inputs": ("two-inputs.keras", "keras", "onnxruntime", {}),
    "no row of numbers": ("map.keras", "keras", "onnxruntime", {}),
    "no images": ("numbers.keras", "keras", "onnxruntime", {}),
    "no network": ("broken.keras", "keras", "onnxruntime", {}),
    "no saved model": ("empty", "saved_model", "onnxruntime", {}),
    "int8 without images": (
        "softmax.keras",
        "keras",
        "litert",
        {"precision": "int8", "bare": True},
    ),
}


def write_networks(folder: Path) -> None:
    """One file or folder for each source of the cases."""
    import keras  # noqa: PLC0415 (only in TensorFlow's environment)
    import tensorflow as tf  # noqa: PLC0415 (as above)

    keras.utils.set_random_seed(3)
    # Answers that differ from image to image, as those of a trained network do.
    wide = keras.initializers.RandomUniform(-8, 8, seed=3)
    dense = partial(keras.layers.Dense, kernel_initializer=wide)
    pooled = keras.layers.GlobalAveragePooling2D
    image = (SIZE, SIZE, 3)
    softmax = _network(image, [pooled(), dense(CLASSES, activation="softmax")])
    softmax.save(folder / "softmax.keras")
    _network((None, None, 3), [pooled(), dense(CLASSES)]).save(folder / "any-size.h5")
    _network(image, [keras.layers.Conv2D(2, 3)]).save(folder / "map.keras")
    one, other = keras.Input(image), keras.Input(image)
    both = dense(CLASSES)(pooled()(one + other))
    keras.Model([one, other], both).save(folder / "two-inputs.keras")
    keras.Sequential([keras.Input((7,)), dense(2)]).save(folder / "numbers.keras")
    (folder / "broken.keras").write_bytes(b"not a network")
    (folder / "empty").mkdir()
    module = tf.Module()
    module.kept = softmax
    spec = tf.TensorSpec((None, *image), tf.float32, name="photographs")
    module.serve = tf.function(lambda photographs: {"shares": softmax(photographs)})
    signature = module.serve.get_concrete_function(spec)
    tf.saved_model.save(module, str(folder / "saved"), signatures={"serving_default": signature})
    _write_retina_networks(folder)


def _write_retina_networks(folder: Path) -> None:
    import keras  # noqa: PLC0415 (only in TensorFlow's environment)
    import numpy as np  # noqa: PLC0415 (as above)

    image = (SIZE, SIZE, 3)
    average = keras.layers.GlobalAveragePooling2D
    spread = keras.layers.Normalization(mean=np.full(8, 0.2), variance=np.full(8, 0.3))
    hidden = keras.layers.Dense(6, activation="relu", name="hidden1")
    for name, head, outputs in (
        ("grade", [average(), spread, hidden], 5),
        ("referral", [average(), keras.layers.Dropout(0.5)], 1),
        ("largest", [keras.layers.GlobalMaxPooling2D()], 1),
    ):
        scores = keras.layers.Dense(outputs, name="scores")
        last = keras.layers.Activation("softmax" if outputs > 1 else "sigmoid")
        _network(image, [*head, scores, last]).save(folder / f"{name}.keras")
    keras.config.set_dtype_policy("mixed_bfloat16")
    scores = keras.layers.Dense(5, name="scores", dtype="float32")
    last = keras.layers.Activation("softmax", dtype="float32")
    _network(image, [average(), scores, last]).save(folder / "mixed.keras")
    keras.config.set_dtype_policy("float32")


def _network(shape: tuple[int | None, ...], head: list[Any]) -> keras.Model:
    """Normalization, two convolutions with a normalized batch between them, and a head."""
    import keras  # noqa: PLC0415 (only in TensorFlow's environment)

    x = pixels = keras.Input(shape, name="pixels")
    x = keras.layers.Rescaling(1 / 127.5, offset=-1)(x)
    x = keras.layers.Conv2D(4, 3, strides=2, padding="same", use_bias=False)(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.ReLU(6.0)(x)
    x = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    for layer in head:
        x = layer(x)
    return keras.Model(pixels, x)


def _images(folder: Path) -> Path:
    import numpy as np  # noqa: PLC0415 (only in TensorFlow's environment)

    path = folder / "images.npy"
    images: np.ndarray = np.random.default_rng(5).uniform(0, 255, (24, SIZE, SIZE, 3))
    np.save(path, images.astype(np.float32))
    return path


def _main(folder_name: str) -> None:
    from prumo_worker.conversion import convert  # noqa: PLC0415 (as above)
    from prumo_worker.journal import Journal  # noqa: PLC0415 (as above)
    from prumo_worker.task import Task  # noqa: PLC0415 (as above)

    folder = Path(folder_name)
    write_networks(folder)
    images = str(_images(folder))
    told: dict[str, Any] = {}
    for name, (source, origin, target, more) in CASES.items():
        out = folder / name
        out.mkdir()
        data = {"source": str(folder / source), "out": str(out)}
        if more.get("precision") == "int8" and not more.get("bare"):
            data["images"] = images
        parameters = {"origin": origin, "target": target, **more}
        journal = out / "events.jsonl"
        task = Task(name, journal, "model_conversion", parameters, data, 0, 1)
        try:
            convert(task, Journal(journal))
            events = [json.loads(line) for line in journal.read_text().splitlines()]
            told[name] = {"events": events}
        except ValueError as error:
            told[name] = {"error": str(error)}
    tell(told)


if __name__ == "__main__":
    _main(*arguments())
