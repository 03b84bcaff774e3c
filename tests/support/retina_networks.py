"""Tiny networks for fundus photographs whose answers are known.

Run as a script in TensorFlow's environment it writes them; nothing here imports TensorFlow before.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.framework_process import arguments, run_script, tell

if TYPE_CHECKING:
    import keras

SIZE = 64
CELL = 8
"""The last features are the mean brightness of squares of this size."""

GRADE_WEIGHTS = [-2.0, -1.0, 1.0, 2.0, -1.0]
"""The score of each grade for a photograph that is white all over; 0 for a black one."""
REFERRAL_WEIGHT = 8.0
REFERRAL_OFFSET = -1.0
TEMPERATURE = 2.0
"""Of the models that are written."""


def write_models(python: Path, folder: Path) -> None:
    """The folders `grade` and `referral`, each a model that judges by brightness alone."""
    run_script(python, __file__, str(folder))


def brightness_network(task: str, *, is_nested: bool = True) -> keras.Model:
    """Scores that grow with the mean brightness of a photograph."""
    import keras  # noqa: PLC0415 (only in TensorFlow's environment)
    import numpy as np  # noqa: PLC0415 (as above)

    pixels = keras.Input((SIZE, SIZE, 3))
    scaled = keras.layers.Rescaling(1 / 255)(pixels)
    mean = keras.layers.Conv2D(1, CELL, strides=CELL, use_bias=False, name="mean")
    if is_nested:
        inside = keras.Input((SIZE, SIZE, 3))
        features = keras.Model(inside, mean(inside), name="backbone")(scaled, training=False)
    else:
        features = mean(scaled)
    mean.set_weights([np.full((CELL, CELL, 3, 1), 1 / (CELL * CELL * 3), np.float32)])
    pooled = keras.layers.GlobalAveragePooling2D()(features)
    pooled = keras.layers.Dropout(0.9)(pooled)
    weights = [REFERRAL_WEIGHT] if task == "referral" else GRADE_WEIGHTS
    offset = REFERRAL_OFFSET if task == "referral" else 0.0
    last = keras.layers.Dense(len(weights), name="scores")
    scores = last(pooled)
    last.set_weights([np.array([weights], np.float32), np.full(len(weights), offset, np.float32)])
    function = "sigmoid" if task == "referral" else "softmax"
    return keras.Model(
        pixels, keras.layers.Activation(function, name="probabilities")(scores), name=task
    )


def description(task: str, network: bytes, /, **changes: Any) -> dict[str, Any]:
    """A `model.json` for a network's file."""
    points = [
        _point("high_sensitivity", 0.3, 0.95, 0.8),
        _point("balanced", 0.6, 0.9, 0.9),
    ]
    return {
        "format": 1,
        "name": f"brightness-{task}",
        "created": "2026-11-16T12:00:00+00:00",
        "task": task,
        "network": "brightness",
        "preparation": {"size": SIZE},
        "normalization": {"offset": [0, 0, 0], "scale": [255, 255, 255]},
        "weights": "scratch",
        "network_sha256": sha256(network).hexdigest(),
        "points": points,
        "point": "high_sensitivity",
        **changes,
    }


def _point(name: str, threshold: float, sensitivity: float, specificity: float) -> dict[str, Any]:
    return {
        "name": name,
        "threshold": threshold,
        "rule": "made up",
        "chosen_on": "validation",
        "sensitivity": sensitivity,
        "specificity": specificity,
    }


def _main(folder: str) -> None:
    for task in ("grade", "referral"):
        model = Path(folder) / task
        model.mkdir(parents=True)
        brightness_network(task).save(model / "model.keras")
        document = description(task, (model / "model.keras").read_bytes(), temperature=TEMPERATURE)
        (model / "model.json").write_text(json.dumps(document))
    tell("written")


if __name__ == "__main__":
    _main(*arguments())
