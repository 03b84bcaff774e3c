"""Where a retina model is trained: one device, a copy on every GPU, or the cores of a TPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from prumo_worker.frameworks.tensorflow import hide_gpus, prepare_gpus, prepare_tpu, set_threads
from prumo_worker.task import TaskError, Unavailable

if TYPE_CHECKING:
    from prumo_worker.retina.recipe import RetinaRecipe


@dataclass(frozen=True)
class Placement:
    """TensorFlow's strategy, and what it runs on in words."""

    strategy: tf.distribute.Strategy
    device: str

    @property
    def replicas(self) -> int:
        """How many copies of the network share a batch."""
        return int(self.strategy.num_replicas_in_sync)

    def distributed(self, batches: tf.data.Dataset) -> Any:  # noqa: ANN401 (TensorFlow's own)
        """The same batches, each shared by the devices."""
        if self.replicas == 1:
            return batches
        return self.strategy.experimental_distribute_dataset(batches)

    @property
    def needs_whole_batches(self) -> bool:
        """Whether the last, smaller batch of an epoch must be left out.

        A TPU wants one shape; several replicas could get nothing of a small batch, and the
        statistics of nothing are not a number.
        """
        return self.replicas > 1 or self.device.startswith("TPU")


def open_placement(recipe: RetinaRecipe, threads: int) -> Placement:
    """The devices that the recipe names, or the reason why they are not here."""
    if recipe.precision == "fp16" and recipe.device != "cuda":
        raise Unavailable(f"fp16 needs a CUDA device; on {recipe.device} there is bf16")
    placement = place(recipe.device, recipe.strategy, threads)
    if recipe.batch_size % placement.replicas:
        raise TaskError(
            f"batch_size: {recipe.batch_size} photographs cannot be shared evenly by "
            f"{placement.replicas} devices"
        )
    return placement


def processor() -> Placement:
    """The processor alone, for what is too small to share."""
    return Placement(tf.distribute.OneDeviceStrategy("/CPU:0"), "cpu")


def place(device: str, strategy: str, threads: int) -> Placement:
    """Set TensorFlow up for a device; only before it has computed anything."""
    set_threads(threads)
    if (device == "tpu") != (strategy == "tpu") and strategy != "auto":
        raise TaskError(f"strategy: {strategy} does not go with the device {device}")
    if device == "tpu":
        tpu = tf.distribute.TPUStrategy(prepare_tpu()[0])
        return Placement(tpu, f"TPU, {tpu.num_replicas_in_sync} cores")
    if device == "cpu":
        hide_gpus()
        return _on_devices("CPU", "cpu", strategy)
    return _on_devices("GPU", prepare_gpus(), strategy)


def _on_devices(kind: str, title: str, strategy: str) -> Placement:
    names = [f"{kind}:{number}" for number in range(len(tf.config.list_logical_devices(kind)))]
    if strategy == "one" or (strategy == "auto" and len(names) == 1):
        return Placement(tf.distribute.OneDeviceStrategy(f"/{names[0]}"), title)
    if len(names) == 1:
        raise Unavailable(
            f"strategy mirrored needs two devices or more; TensorFlow finds one {kind}"
        )
    return Placement(tf.distribute.MirroredStrategy(names), f"{len(names)} x {title}")
