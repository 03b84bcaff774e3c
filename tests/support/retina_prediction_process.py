"""The worker's part of a prediction asked directly, in TensorFlow's environment.

Run as a script it does all of it in one process, because TensorFlow takes seconds to import.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_worker.journal import Journal
from prumo_worker.task import Task, Unavailable
from support.framework_process import arguments, run_script, tell
from support.retina_networks import CELL, SIZE, brightness_network

if TYPE_CHECKING:
    import keras

BACKBONES = ("efficientnet_lite0", "vgg19")
"""With and without layers that behave otherwise in training; all are built in alike."""
PATCH = (5, 2)
"""Row and column of the square that is bright in the picture of a known heat map."""


def ask(python: Path, folder: Path) -> dict[str, Any]:
    """All that the script finds out, with its files in a folder."""
    answers: dict[str, Any] = run_script(python, __file__, str(folder))
    return answers


def _main(place: str) -> None:
    folder = Path(place)
    tell(
        {
            "cuda": _refused_cuda(),
            "scores": _scores(folder),
            "heat": {
                f"{task}, {'nested' if is_nested else 'flat'}": _heat(task, is_nested)
                for task in ("grade", "referral")
                for is_nested in (True, False)
            },
            "dark": _dark(),
            "linear": _linear(),
            "backbones": {name: _backbone(name) for name in BACKBONES},
            "refusals": _refusals(folder),
        }
    )


def _refused_cuda() -> str:
    """Why there is no GPU here; asked first, as TensorFlow fixes its devices when it computes."""
    from prumo_worker.retina.strategy import place  # noqa: PLC0415 (imports TensorFlow)

    try:
        place("cuda", "one", threads=1)
    except Unavailable as reason:
        return str(reason)
    return ""


def _scores(folder: Path) -> dict[str, Any]:
    """Seven grey photographs in batches of three, and what the files and the journal hold."""
    model = folder / "model"
    model.mkdir()
    brightness_network("grade").save(model / "model.keras")
    greys = [10, 250, 60, 200, 90, 130, 170]
    images = [_grey_jpeg(folder / f"{grey}\udcff.jpg", grey) for grey in greys]
    events = _predict(folder, images, {"batch_size": 3, "heat_maps": True})
    with_maps = np.load(folder / "out/scores.npy")
    _predict(folder, images, {})
    return {
        "with_maps": with_maps.tolist(),
        "brightness": [grey / 255 for grey in greys],
        "scores": np.load(folder / "out/scores.npy").tolist(),
        "kind": str(np.load(folder / "out/scores.npy").dtype),
        "maps": list(np.load(folder / "out/heat_maps.npy").shape),
        "events": events,
    }


def _predict(folder: Path, images: list[str], parameters: dict[str, Any]) -> list[dict[str, Any]]:
    # Threads and devices can be set only once in a process.
    from prumo_worker.recipe import read_parameters  # noqa: PLC0415 (as below)
    from prumo_worker.retina.prediction import (  # noqa: PLC0415 (imports TensorFlow)
        Request,
        score_photographs,
    )

    listed, journal = folder / "images.json", folder / "events.jsonl"
    listed.write_text(json.dumps(images))
    journal.unlink(missing_ok=True)
    data = {"model": str(folder / "model"), "images": str(listed), "out": str(folder / "out")}
    task = Task("predict", journal, "retina_prediction", parameters, data, 0, 1)
    score_photographs(task, read_parameters(Request, parameters), "cpu", Journal(journal))
    return [json.loads(line) for line in journal.read_text().splitlines()]


def _heat(task: str, is_nested: bool) -> list[Any]:
    """The heat map of a picture with one bright square."""
    from prumo_worker.retina.network import SplitNetwork  # noqa: PLC0415 (imports TensorFlow)

    picture = np.full((1, SIZE, SIZE, 3), 20, np.float32)
    row, column = (CELL * place for place in PATCH)
    picture[:, row : row + CELL, column : column + CELL] = 240
    _, maps = SplitNetwork(brightness_network(task, is_nested=is_nested)).answer(picture)
    found: list[Any] = maps[0].tolist()
    return found


def _dark() -> list[Any]:
    """The heat map of a picture in which nothing speaks for a referral."""
    from prumo_worker.retina.network import SplitNetwork  # noqa: PLC0415 (imports TensorFlow)

    network = brightness_network("referral")
    _, maps = SplitNetwork(network).answer(np.zeros((1, SIZE, SIZE, 3), np.float32))
    found: list[Any] = maps[0].tolist()
    return found


def _linear() -> dict[str, Any]:
    """Features and weights under a linear head, from which numpy can compute the heat map."""
    import keras  # noqa: PLC0415 (imports TensorFlow)

    from prumo_worker.retina.network import SplitNetwork  # noqa: PLC0415 (as above)

    keras.utils.set_random_seed(4)
    inside = keras.Input((SIZE, SIZE, 3))
    features = keras.layers.Conv2D(6, 16, strides=16, activation="relu")(inside)
    backbone = keras.Model(inside, features)
    network = _with_head(backbone)
    pictures = np.random.default_rng(1).uniform(0, 255, (3, SIZE, SIZE, 3)).astype(np.float32)
    scores, maps = SplitNetwork(network).answer(pictures)
    return {
        "features": backbone(pictures / 255).numpy().tolist(),
        "weights": network.get_layer("scores").get_weights()[0].tolist(),
        "scores": scores.tolist(),
        "maps": maps.tolist(),
    }


def _backbone(name: str) -> dict[str, Any]:
    """Scores with and without heat maps, in a network as it is trained."""
    from prumo_worker.retina.backbones import build_backbone  # noqa: PLC0415 (imports TensorFlow)
    from prumo_worker.retina.network import (  # noqa: PLC0415 (as above)
        SplitNetwork,
        scores_network,
    )

    network = _with_head(build_backbone(name, SIZE, None, library_weights=False).network)
    pictures = np.random.default_rng(2).uniform(0, 255, (2, SIZE, SIZE, 3)).astype(np.float32)
    scores, maps = SplitNetwork(network).answer(pictures)
    plain = scores_network(network)(pictures, training=False).numpy()
    return {"scores": scores.tolist(), "plain": plain.tolist(), "maps": maps.tolist()}


def _with_head(backbone: keras.Model) -> keras.Model:
    import keras  # noqa: PLC0415 (imports TensorFlow)

    pixels = keras.Input((SIZE, SIZE, 3))
    features = backbone(keras.layers.Rescaling(1 / 255)(pixels), training=False)
    pooled = keras.layers.GlobalAveragePooling2D()(features)
    scores = keras.layers.Dense(5, name="scores")(pooled)
    return keras.Model(pixels, keras.layers.Activation("softmax", name="probabilities")(scores))


def _refusals(folder: Path) -> dict[str, str]:
    good = _grey_jpeg(folder / "good.jpg", 100)
    small = _grey_jpeg(folder / "small.jpg", 100, SIZE // 2)
    text = folder / "text.jpg"
    text.write_text("no photograph")
    cases: dict[str, tuple[list[str], dict[str, Any]]] = {
        "small": ([good, small], {}),
        "text": ([good, good, str(text)], {"batch_size": 2}),
        "missing": ([str(folder / "missing.jpg")], {}),
        "none": ([], {}),
        "device": ([good], {"device": "gpu"}),
        "batch": ([good], {"batch_size": 0}),
    }
    told = {name: _refusal(folder, images, wish) for name, (images, wish) in cases.items()}
    network = folder / "model/model.keras"
    whole = network.read_bytes()
    network.write_bytes(whole[: len(whole) // 2])
    told["cut network"] = _refusal(folder, [good], {})
    network.unlink()
    told["no network"] = _refusal(folder, [good], {})
    _unnamed_network().save(network)
    told["other network"] = _refusal(folder, [good], {})
    return told


def _refusal(folder: Path, images: list[str], parameters: dict[str, Any]) -> str:
    try:
        _predict(folder, images, parameters)
    except Exception as error:  # noqa: BLE001 (whichever it is, the test looks at it)
        return f"{type(error).__name__}: {error}"
    return ""


def _unnamed_network() -> keras.Model:
    import keras  # noqa: PLC0415 (imports TensorFlow)

    pixels = keras.Input((SIZE, SIZE, 3))
    return keras.Model(pixels, keras.layers.GlobalAveragePooling2D()(pixels))


def _grey_jpeg(path: Path, grey: int, size: int = SIZE) -> str:
    import tensorflow as tf  # noqa: PLC0415 (only in its environment)

    pixels = np.full((size, size, 3), grey, np.uint8)
    path.write_bytes(tf.io.encode_jpeg(pixels, quality=100, chroma_downsampling=False).numpy())
    return str(path)


if __name__ == "__main__":
    _main(*arguments())
