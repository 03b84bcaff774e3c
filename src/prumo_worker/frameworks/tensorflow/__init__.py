"""Training with TensorFlow, on the processor, on one CUDA device or on one core of a TPU."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

# Before the import. Warnings are kept: a oneDNN kernel that gets no memory logs one and then ends
# the process, so that the log is the only place where the reason can be found.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
import tensorflow as tf

# Whether oneDNN is in use depends on the processor too, and only this module knows.
from tensorflow.python.util import _pywrap_util_port
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from prumo_worker.frameworks import CompletionClock, Trainer, nothing
from prumo_worker.frameworks.tensorflow.network import Graph
from prumo_worker.frameworks.tensorflow.optimizer import LossScale, optimizer
from prumo_worker.profile import OperationTime, device_events, grouped
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


def versions() -> dict[str, str]:
    """TensorFlow's version, and those of the libraries it computes with."""
    found = {"tensorflow": str(tf.__version__), "numpy": str(np.__version__)}
    build = tf.sysconfig.get_build_info()
    for library in ("cuda", "cudnn"):
        if f"{library}_version" in build:
            found[library] = str(build[f"{library}_version"])
    return found


def build_facts() -> dict[str, str]:
    """Compiler, math library and the flags that TensorFlow was compiled with."""
    flags = [flag for flag in tf.sysconfig.get_compile_flags() if not flag.startswith("-I")]
    return {
        "compiler": str(tf.version.COMPILER_VERSION).partition(" (")[0],
        "flags": " ".join(flags),
        "source": str(tf.version.GIT_VERSION),
        "onednn": "on" if _pywrap_util_port.IsMklEnabled() else "off",
        "xla": "off",
        "tensor_float_32": (
            "on" if tf.config.experimental.tensor_float_32_execution_enabled() else "off"
        ),
    }


# A batch for which a GPU has no room is an internal error about the tensor it was to become.
_TELLING = ("OOM", "Dst tensor is not initialized")


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a MemoryError with the one line of TensorFlow's report that says what did not fit."""
    try:
        yield
    except (tf.errors.ResourceExhaustedError, tf.errors.InternalError) as error:
        lines = str(error).splitlines()
        telling = [line.strip() for line in lines if any(words in line for words in _TELLING)]
        if not telling and not isinstance(error, tf.errors.ResourceExhaustedError):
            raise
        raise MemoryError((telling or lines)[0]) from error


def operation_times(work: Callable[[], object]) -> list[OperationTime]:
    """What `work` spent in each kind of operation, on the device where there is one."""
    with TemporaryDirectory(prefix="prumo-") as folder:
        options = tf.profiler.experimental.ProfilerOptions(python_tracer_level=0)
        with tf.profiler.experimental.Profile(folder, options):
            work()
        files = [path.read_bytes() for path in Path(folder).rglob("*.xplane.pb")]
    planes = [plane for file in files for plane in xplane_pb2.XSpace.FromString(file).planes]
    spans = [span for plane in planes for span in _device_spans(plane)]
    spans = spans or [span for plane in planes for span in _host_spans(plane)]
    return grouped(spans)


def _device_spans(plane: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401 (a protocol buffer)
    for event in device_events(plane):
        yield plane.event_metadata[event.metadata_id].name, event.duration_ps / 1e12


def _host_spans(plane: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401 (a protocol buffer)
    """The kernels among all that the host tells: `gradient_tape/Relu:ReluGrad` is a ReluGrad."""
    for line in plane.lines if plane.name == "/host:CPU" else ():
        for event in line.events:
            metadata = plane.event_metadata[event.metadata_id]
            kind = metadata.display_name
            if kind and metadata.name.endswith(f":{kind}"):
                yield kind, event.duration_ps / 1e12


# Those of two steps, each after its batch and after itself.
_MARKS_AHEAD = 4

_NUMBER_FORMATS = {"fp32": tf.float32, "bf16": tf.bfloat16, "fp16": tf.float16}


class TensorFlow(Trainer):
    """A trainer on the processor, where a step is done when it returns.

    One `tf.function` holds the whole step: forward, loss, backward and update. Variables are fp32
    in every precision; images and what is computed of them are in the recipe's.
    """

    def __init__(self, network: Network, recipe: Recipe, strategy: tf.distribute.Strategy) -> None:
        self.threads = tf.config.threading.get_intra_op_parallelism_threads()
        self.versions = versions()
        self.build = build_facts()
        self.layout = "NHWC"
        self._recipe = recipe
        self._strategy = strategy
        self._number_format = _NUMBER_FORMATS[recipe.precision]
        _, *self._head_weights = network.heads.values()
        with strategy.scope():
            self._graph = Graph(network)
            self._optimizer = optimizer(self._graph.trained, recipe)
            self._loss_scale = LossScale() if recipe.precision == "fp16" else None
            self._steps = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.parameters = self._graph.parameters
        self._step = tf.function(self._on_device(self._train), jit_compile=False)
        self._infer = tf.function(self._on_device(self._answer), jit_compile=False)

    @memory_errors()
    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy the weights in; the optimizer and the dropped values begin anew."""
        self._graph.load(weights)
        self._optimizer.forget()
        self._steps.assign(0)
        if self._loss_scale:
            self._loss_scale.forget()

    def set_learning_rate(self, rate: float) -> None:
        """For the steps to come."""
        self._optimizer.set_learning_rate(rate)

    @memory_errors()
    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[tf.Tensor, tf.Tensor]:
        """Tensors on the processor."""
        return tf.convert_to_tensor(images), tf.convert_to_tensor(labels)

    @memory_errors()
    def step(self, batch: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """One update; the loss, and how many images were classified right."""
        outcome: tuple[tf.Tensor, tf.Tensor] = self._step(*batch)
        return outcome

    @memory_errors()
    def scores(self, images: np.ndarray) -> np.ndarray:
        """Scores as the trained network would answer."""
        answer: np.ndarray = self._infer(tf.convert_to_tensor(images)).numpy()
        return answer

    spans = memory_errors()(Trainer.spans)

    @memory_errors()
    def fetch(self, outcomes: Sequence[tuple[tf.Tensor, tf.Tensor]]) -> tuple[list[float], int]:
        """Bring losses and counts to the host in two transfers."""
        losses, right = zip(*outcomes)
        return tf.stack(losses).numpy().tolist(), int(tf.reduce_sum(right))

    def profile(self, batches: Sequence[tuple[tf.Tensor, tf.Tensor]]) -> list[OperationTime]:
        """Operations by the time of their kernels."""
        return operation_times(partial(self.take_steps, batches))

    def _on_device(self, work: Any) -> Any:  # noqa: ANN401 (a function and the same elsewhere)
        def run(*tensors: tf.Tensor) -> Any:  # noqa: ANN401 (what `work` returns)
            return self._strategy.run(work, args=tensors)

        return run

    def _train(self, images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        steps = self._steps.assign_add(1)
        seed = tf.stack([tf.constant(self._recipe.seed, tf.int64), steps])
        with tf.GradientTape() as tape:
            outputs = self._graph.outputs(
                tf.cast(images, self._number_format),
                training=True,
                seed=seed if self._recipe.dropout else None,
            )
            loss = self._loss(outputs, labels)
            scaled = self._loss_scale.scaled(loss) if self._loss_scale else loss
        gradients = tape.gradient(scaled, self._graph.trained)
        if self._loss_scale:
            self._loss_scale.update(gradients, self._optimizer)
        else:
            self._optimizer.update(gradients)
        right = tf.equal(tf.argmax(outputs[0], axis=1), labels)
        return loss, tf.math.count_nonzero(right)

    def _loss(self, outputs: Sequence[tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
        loss, *heads = (
            tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
            for scores in outputs
        )
        for weight, head in zip(self._head_weights, heads):
            loss += weight * head
        return loss

    def _answer(self, images: tf.Tensor) -> tf.Tensor:
        scores, *_ = self._graph.outputs(tf.cast(images, self._number_format), training=False)
        return scores


class DeviceTensorFlow(TensorFlow):
    """A trainer on a GPU or TPU, which works on while Python goes ahead.

    TensorFlow has no events in a device's queue, so marks are the moments at which a thread saw
    that the work before them was done. What it looks at comes from the device by a copy that waits
    for all that is queued by then, so that a mark tells the truth only when little is: Python goes
    one step ahead and no further, and a mark comes late by that step at most.
    """

    def __init__(
        self, network: Network, recipe: Recipe, strategy: tf.distribute.Strategy, name: str
    ) -> None:
        super().__init__(network, recipe, strategy)
        self.device = name
        self._clock = CompletionClock()
        self._marks: deque[Any] = deque(maxlen=_MARKS_AHEAD)
        self._latest: tuple[tf.Tensor, ...] = ()

    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[tf.Tensor, tf.Tensor]:
        """Copies on the device."""
        with tf.device(self._graph.trained[0].device):
            self._latest = super().batch(images, labels)
        return self._latest

    @memory_errors()
    def step(self, batch: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """One update, asked for when the one before the last is done, and not waited for."""
        if len(self._marks) == _MARKS_AHEAD:
            self._marks[0].result()
        outcome = self._latest = super().step(batch)
        return outcome

    def mark(self) -> Any:  # noqa: ANN401 (a moment on this trainer's own clock)
        """When the latest work is done."""
        self._marks.append(super().mark())
        return self._marks[-1]

    def _pending(self) -> Callable[[], object]:
        return self._latest[-1].numpy if self._latest else nothing


@memory_errors()
def open_trainer(network: Network, recipe: Recipe, threads: int) -> TensorFlow:
    """Build the network where the recipe wants it, or say why that is not possible here."""
    if recipe.precision == "fp16" and recipe.device != "cuda":
        raise Unavailable(f"fp16 needs a CUDA device; on {recipe.device} there is bf16")
    set_threads(threads)
    if recipe.device == "cpu":
        hide_gpus()
        return TensorFlow(network, recipe, tf.distribute.OneDeviceStrategy("/CPU:0"))
    if recipe.device == "cuda":
        name = prepare_gpus()
        return DeviceTensorFlow(network, recipe, tf.distribute.OneDeviceStrategy("/GPU:0"), name)
    return DeviceTensorFlow(network, recipe, _tpu_strategy(), "TPU")


def set_threads(threads: int) -> None:
    """Inside an operation and beside it; only before TensorFlow has computed anything."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def hide_gpus() -> None:
    """Else TensorFlow takes the memory of every GPU that it sees."""
    tf.config.set_visible_devices([], "GPU")


def prepare_gpus() -> str:
    """The name of the first GPU; memory is taken as needed, so that its use can be seen."""
    if not tf.test.is_built_with_cuda():
        raise Unavailable(f"no CUDA device: TensorFlow {tf.__version__} is built without CUDA")
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        raise Unavailable("no CUDA device: TensorFlow finds none on this machine")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, enable=True)
    return str(tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU"))


def prepare_tpu() -> tuple[Any, Any]:
    """The cluster resolver and the topology of the TPU in this machine."""
    if not tf.config.list_physical_devices("TPU"):
        raise Unavailable("no TPU: TensorFlow finds none on this machine")
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.config.experimental_connect_to_cluster(resolver)
    return resolver, tf.tpu.experimental.initialize_tpu_system(resolver)


def _tpu_strategy() -> tf.distribute.Strategy:
    """One core, as one device is what all other trainers use."""
    resolver, topology = prepare_tpu()
    one_core = tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=1)
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=one_core)
