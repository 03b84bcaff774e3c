"""Parts of a retina training tried in TensorFlow's environment, on two logical processors.

Run as a script it does all of it in one process, because TensorFlow takes seconds to import.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_worker.journal import Journal
from prumo_worker.retina.recipe import RetinaRecipe, read_retina_recipe
from support.framework_process import arguments, run_script, tell
from support.worker_process import journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.retina.backbones import Backbone
    from prumo_worker.retina.fitting import Fitted
    from prumo_worker.retina.strategy import Placement

SIZE = 32
CHANNELS = 6
PARAMETERS: dict[str, Any] = {
    "network": "tiny",
    "task": "grade",
    "head": "linear",
    "frozen": False,
    "augment": True,
    "class_weights": True,
    "image_size": SIZE,
    "images": 40,
    "batch_size": 8,
    "epochs": 4,
    "learning_rate": 0.01,
    "weight_decay": 1.0,
    "reduce_epochs": 1,
}


def ask(python: Path, folder: Path, records: Path) -> dict[str, Any]:
    """What all parts answer; `records` holds folds of photographs of 32 pixels."""
    answers: dict[str, Any] = run_script(python, __file__, str(folder), str(records))
    return answers


def _main(place: str, records: str) -> None:
    _split_processor()
    folder = Path(place)
    # First, as TensorFlow takes no orders about its devices once it has computed anything.
    placements = _placements()
    tell(
        {
            "placements": placements,
            "parameters": {name: _study_parameters(name) for name in ("mobilenet", "vgg19")},
            "resumed": _resumed(folder),
            "mirrored": _mirrored(folder),
            "half": _half_precision(folder),
            "augmentation": _augmentation(),
            "trainable": _trainable(),
            "frozen": _frozen(folder),
            "weighed": _weighed(folder, Path(records)),
            "folds": _folds(folder, Path(records)),
            "records": _records(folder, Path(records)),
        }
    )


def _split_processor() -> None:
    import tensorflow as tf  # noqa: PLC0415 (the variables come first)

    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        processor, [tf.config.LogicalDeviceConfiguration()] * 2
    )


def _recipe(**changes: Any) -> RetinaRecipe:
    return read_retina_recipe({**PARAMETERS, **changes}, pretrained=False)


def _backbone(weights: str = "scratch", *, normalized: bool = True) -> Backbone:
    """A convolution and a batch normalization, the same at every call."""
    import keras  # noqa: PLC0415

    from prumo_worker.retina.backbones import CENTRED, Backbone  # noqa: PLC0415

    keras.utils.set_random_seed(7)
    pixels = keras.Input((SIZE, SIZE, 3))
    x = keras.layers.Conv2D(CHANNELS, 3, strides=2, name="conv")(pixels)
    if normalized:
        x = keras.layers.BatchNormalization(momentum=0.5, name="bn")(x)
    x = keras.layers.ReLU(name="relu")(x)
    return Backbone(keras.Model(pixels, x, name="tiny"), CENTRED, weights)


def _study_parameters(network: str) -> int:
    """Of the networks of a published study: five grades behind two dense layers of 128."""
    from prumo_worker.retina.backbones import build_backbone  # noqa: PLC0415
    from prumo_worker.retina.network import whole_network  # noqa: PLC0415

    recipe = _recipe(network=network, image_size=224, head="128+128")
    return int(whole_network(build_backbone(network, 224, None), recipe).count_params())


def _placements() -> dict[str, str]:
    from prumo_worker.retina.strategy import open_placement  # noqa: PLC0415

    def told(**changes: Any) -> str:
        return _told(lambda: open_placement(_recipe(**changes), 2).device)

    return {
        "auto": told(),
        "one": told(strategy="one"),
        "uneven": told(batch_size=5),
        "cuda": told(device="cuda"),
        "tpu": told(device="tpu"),
        "misfit": told(device="cpu", strategy="tpu"),
        "half": told(precision="fp16"),
    }


def _fit(
    recipe: RetinaRecipe, placement: Placement, folder: Path, *, normalized: bool = True
) -> Fitted:
    from prumo_worker.retina.approaches import FineTuning  # noqa: PLC0415
    from prumo_worker.retina.fitting import (  # noqa: PLC0415
        Checkpoint,
        Fitting,
        Stage,
    )
    from prumo_worker.retina.stages import generate_subsets  # noqa: PLC0415

    with placement.strategy.scope():
        approach = FineTuning(recipe, placement, _backbone(normalized=normalized))
    sets = generate_subsets(recipe)
    folder.mkdir(parents=True, exist_ok=True)
    fitting = Fitting(approach, recipe, Journal(folder / "events.jsonl"), warmup_steps=1)
    stage = Stage("train", sets["train"], sets["validation"], recipe.epochs)
    return fitting.fit(stage, Checkpoint(folder / "train.npz", "the same"))


def _resumed(folder: Path) -> dict[str, Any]:
    """One training without a break, and one that was stopped after two of its four epochs."""
    from prumo_worker.retina.strategy import processor  # noqa: PLC0415

    whole = _fit(_recipe(), processor(), folder / "whole")
    _fit(_recipe(epochs=2), processor(), folder / "stopped")
    resumed = _fit(_recipe(), processor(), folder / "stopped")
    return {
        "after": [whole.resumed_epoch, resumed.resumed_epoch],
        "losses": [[epoch["loss"] for epoch in one.course.epochs] for one in (whole, resumed)],
        "rates": [
            [epoch["learning_rate"] for epoch in one.course.epochs] for one in (whole, resumed)
        ],
        "weights": _apart(whole, resumed),
        "best": [one.course.best_epoch for one in (whole, resumed)],
        "told": journal(folder / "stopped/events.jsonl"),
    }


def _mirrored(folder: Path) -> dict[str, Any]:
    """The same training on one device and shared by two; statistics of a batch would differ."""
    from prumo_worker.retina.strategy import open_placement, processor  # noqa: PLC0415

    recipe = _recipe(epochs=1, augment=False)
    both = open_placement(replace(recipe, strategy="mirrored"), 2)
    one = _fit(recipe, processor(), folder / "one", normalized=False)
    two = _fit(recipe, both, folder / "two", normalized=False)
    return {
        "replicas": both.replicas,
        "device": both.device,
        "losses": [[epoch["loss"] for epoch in fitted.course.epochs] for fitted in (one, two)],
        "weights": _apart(one, two),
        "scores": float(np.abs(one.scores - two.scores).max()),
    }


def _half_precision(folder: Path) -> dict[str, Any]:
    import keras  # noqa: PLC0415

    from prumo_worker.retina.approaches import FrozenBackbone  # noqa: PLC0415
    from prumo_worker.retina.stages import generate_subsets  # noqa: PLC0415
    from prumo_worker.retina.strategy import processor  # noqa: PLC0415

    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        fitted = _fit(
            _recipe(precision="bf16", epochs=1, augment=False), processor(), folder / "half"
        )
        recipe = _recipe(precision="bf16", frozen=True, augment=False)
        backbone, sets = _backbone("4 arrays"), list(generate_subsets(recipe).values())
        kept = str(folder / "half_features")
        events = Journal(folder / "half.jsonl")
        for _ in range(2):
            approach = FrozenBackbone(recipe, processor(), backbone, kept, events)
            approach.prepare(sets)
        features = next(iter(approach.batches(sets[0], 1)))[0]
    finally:
        keras.config.set_dtype_policy("float32")
    network = fitted.learner.network
    return {
        "loss": fitted.course.epochs[0]["loss"],
        "computed_in": network.get_layer("tiny").output.dtype,
        "scores_in": str(fitted.scores.dtype),
        "features_in": features.dtype.name,
        "features_computed": [
            event["computed"] for event in journal(folder / "half.jsonl") if "seconds" in event
        ],
    }


def _augmentation() -> dict[str, Any]:
    import tensorflow as tf  # noqa: PLC0415

    from prumo_worker.retina.photographs import augmented  # noqa: PLC0415

    rows, columns = np.mgrid[:33, :33] - 16
    disc = (rows**2 + columns**2 <= 15**2)[..., None]
    picture = np.where(disc, np.array([180, 90, 30]), 0).astype(np.uint8)
    picture[10, 16] = 255

    def changed(*seed: int) -> np.ndarray:
        result: np.ndarray = augmented(tf.constant(picture), tf.constant(seed, tf.int64)).numpy()
        return result

    many = [changed(1, number) for number in range(8)]
    spots = [np.argwhere(one[..., 2] > one[..., 2].max() / 2).mean(axis=0) - 16 for one in many]
    return {
        "same": bool((changed(1, 2) == changed(1, 2)).all()),
        "others": len({one.tobytes() for one in many}),
        "range": [float(min(one.min() for one in many)), float(max(one.max() for one in many))],
        "corners": float(max(one[0, 0].max() for one in many)),
        "spots": [float(np.hypot(*spot)) for spot in spots],
    }


def _trainable() -> dict[str, list[str]]:
    from prumo_worker.retina.approaches import choose_trained_layers  # noqa: PLC0415

    def names(weights: str, count: int) -> list[str]:
        backbone = _backbone(weights)
        choose_trained_layers(backbone, count)
        return [layer.name for layer in backbone.network.layers if layer.trainable_weights]

    return {
        "scratch": names("scratch", 0),
        "pretrained": names("4 arrays", 0),
        "last": names("scratch", 2),
    }


def _frozen(folder: Path) -> dict[str, Any]:
    """A head on kept features, then another head on the same ones."""
    from prumo_worker.retina.approaches import FrozenBackbone  # noqa: PLC0415
    from prumo_worker.retina.network import scores_network  # noqa: PLC0415
    from prumo_worker.retina.stages import generate_subsets  # noqa: PLC0415
    from prumo_worker.retina.strategy import open_placement  # noqa: PLC0415

    recipe = _recipe(frozen=True)
    placement = open_placement(recipe, 2)
    with placement.strategy.scope():
        backbone = _backbone("4 arrays")
    sets = list(generate_subsets(recipe).values())
    events = folder / "frozen.jsonl"

    def opened(changed: RetinaRecipe) -> FrozenBackbone:
        kept = str(folder / "features")
        approach = FrozenBackbone(changed, placement, backbone, kept, Journal(events))
        approach.prepare(sets)
        return approach

    approach = opened(recipe)
    learner = approach.learner(sets[0])
    for batch in approach.batches(sets[0], 1):
        learner.step(batch)
    network = approach.whole_network(learner, sets[0])
    pixels = np.stack([picture for picture, _ in sets[1].pictures().as_numpy_iterator()])
    together = scores_network(network)(pixels.astype(np.float32), training=False).numpy()
    opened(replace(recipe, head="8", task="referral"))
    opened(replace(recipe, augment=False))
    return {
        "scores": float(np.abs(together - approach.scores(learner, sets[1])).max()),
        "spread": float(np.ptp(together)),
        "layers": [layer.name for layer in network.layers],
        "computed": [event["computed"] for event in journal(events) if "seconds" in event],
        "scratch": _told(
            lambda: FrozenBackbone(recipe, placement, _backbone(), None, Journal(events))
        ),
    }


def _weighed(folder: Path, records: Path) -> dict[str, Any]:
    """What a head trained with class weights thinks of grades that are not equally common."""
    from prumo_worker.retina.approaches import FrozenBackbone  # noqa: PLC0415
    from prumo_worker.retina.photographs import joined  # noqa: PLC0415
    from prumo_worker.retina.stages import open_records  # noqa: PLC0415
    from prumo_worker.retina.strategy import processor  # noqa: PLC0415

    def thought(task: str) -> list[float]:
        recipe = _recipe(frozen=True, task=task)
        events = Journal(folder / "weighed.jsonl")
        approach = FrozenBackbone(recipe, processor(), _backbone("4 arrays"), None, events)
        photographs = joined(list(open_records(records, SIZE).values()))
        approach.prepare([photographs])
        learner = approach.learner(photographs)
        for _ in range(30):
            learner.step(next(iter(approach.batches(photographs, 1))))
        scores = approach.scores(learner, photographs)
        both = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
        odds = np.exp(both)
        return [float(mean) for mean in (odds / odds.sum(axis=1, keepdims=True)).mean(axis=0)]

    return {task: thought(task) for task in ("referral", "grade")}


def _folds(folder: Path, records: Path) -> dict[str, Any]:
    """Folds whose own photographs have no say in the epoch that they are scored after."""
    from prumo_worker.retina.approaches import FrozenBackbone  # noqa: PLC0415
    from prumo_worker.retina.fitting import (  # noqa: PLC0415
        Checkpoint,
        Fitting,
    )
    from prumo_worker.retina.stages import open_records, train_folds  # noqa: PLC0415
    from prumo_worker.retina.strategy import processor  # noqa: PLC0415

    recipe = _recipe(frozen=True, task="referral", epochs=6)
    folds = open_records(records, SIZE)
    events = Journal(folder / "folds.jsonl")
    backbone = _backbone("4 arrays")
    approach = FrozenBackbone(recipe, processor(), backbone, None, events)
    approach.prepare(list(folds.values()))
    fitting = Fitting(approach, recipe, events, warmup_steps=0)
    trained = train_folds(fitting, folds, recipe, lambda _: Checkpoint(None, ""))
    return {
        "folds": list(folds),
        "best": {name: one.course.best_epoch for name, one in trained.stages.items()},
        "epochs": {name: one.course.epoch for name, one in trained.stages.items()},
        "scored_after": {fold["fold"]: fold["epoch"] for fold in trained.folds},
        "names": trained.judged.names,
        "fold_of": trained.judged.folds,
        "scores": list(trained.judged.scores.shape),
        "trained_on": len(trained.training.names),
    }


def _records(folder: Path, records: Path) -> dict[str, str]:
    from prumo_worker.retina.stages import open_records  # noqa: PLC0415

    damaged = folder / "damaged"
    damaged.mkdir()
    for shard in records.glob("*.tfrecord"):
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        (damaged / shard.name).write_bytes(content)
    lonely = folder / "lonely"
    lonely.mkdir()
    first = min(records.glob("*.tfrecord"))
    (lonely / first.name).write_bytes(first.read_bytes())
    (folder / "nothing").mkdir()
    return {
        "size": _told(lambda: open_records(records, 64)),
        "damaged": _told(lambda: open_records(damaged, SIZE)),
        "lonely": _told(lambda: open_records(lonely, SIZE)),
        "nothing": _told(lambda: open_records(folder / "nothing", SIZE)),
    }


def _apart(one: Fitted, other: Fitted) -> float:
    pairs = zip(one.learner.weights(), other.learner.weights(), strict=True)
    return max(float(np.abs(first - second).max()) for first, second in pairs)


def _told(work: Callable[[], object]) -> str:
    try:
        return str(work())
    except Exception as reason:  # noqa: BLE001 (the test looks at its kind)
        return f"{type(reason).__name__}: {reason}"


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    _main(*arguments())
