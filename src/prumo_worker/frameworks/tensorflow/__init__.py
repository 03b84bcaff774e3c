"""Training with TensorFlow, on the processor, on one CUDA device or on one core of a TPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

# Before the import. Warnings are kept: a oneDNN kernel that gets no memory logs one and then ends
# the process, so that the log is the only place where the reason can be found.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import tensorflow as tf

from prumo_worker.failure import Unavailable
from prumo_worker.frameworks.tensorflow.build import memory_errors
from prumo_worker.frameworks.tensorflow.trainer import DeviceTensorFlow, TensorFlow

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


@memory_errors()
def open_trainer(network: Network, recipe: Recipe, threads: int) -> TensorFlow:
    """Build the network where the recipe wants it, or say why that is not possible here."""
    if recipe.precision == "fp16" and recipe.device != "cuda":
        raise Unavailable(f"fp16 needs a CUDA device; on {recipe.device} there is bf16")
    _set_threads(threads)
    if recipe.device == "cpu":
        # Else TensorFlow takes the memory of every GPU that it sees.
        tf.config.set_visible_devices([], "GPU")
        return TensorFlow(network, recipe, tf.distribute.OneDeviceStrategy("/CPU:0"))
    if recipe.device == "cuda":
        name = _prepare_gpu()
        return DeviceTensorFlow(network, recipe, tf.distribute.OneDeviceStrategy("/GPU:0"), name)
    return DeviceTensorFlow(network, recipe, _tpu_strategy(), "TPU")


def _set_threads(threads: int) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def _prepare_gpu() -> str:
    """The name of the first GPU, whose memory is taken as needed, so that its use can be seen."""
    if not tf.test.is_built_with_cuda():
        raise Unavailable(f"no CUDA device: TensorFlow {tf.__version__} is built without CUDA")
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        raise Unavailable("no CUDA device: TensorFlow finds none on this machine")
    tf.config.experimental.set_memory_growth(gpus[0], enable=True)
    return str(tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU"))


def _tpu_strategy() -> tf.distribute.Strategy:
    """One core of the TPU in this machine, as one device is what all other trainers use."""
    if not tf.config.list_physical_devices("TPU"):
        raise Unavailable("no TPU: TensorFlow finds none on this machine")
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.config.experimental_connect_to_cluster(resolver)
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    one_core = tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=1)
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=one_core)
