"""A trainer over Gluon: steps, clock and profile."""

from __future__ import annotations

import ctypes
import json
import math
import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, profiler
from mxnet.base import MXNetError

from prumo_worker.frameworks import CompletionClock, Trainer, nothing
from prumo_worker.frameworks.mxnet.network import Graph, Loss
from prumo_worker.processor import gpu_facts
from prumo_worker.profile import OperationTime
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


def build_facts() -> dict[str, str]:
    """The features that MXNet was compiled with (MKLDNN is oneDNN), its compiler and OpenBLAS."""
    features = [feature.name for feature in mx.runtime.feature_list() if feature.enabled]
    facts = {"features": ", ".join(features), **_compiler()}
    # Linked into some builds only.
    describe = getattr(mx.base._LIB, "openblas_get_config", None)  # noqa: SLF001 (no other way)
    if describe is not None:
        describe.restype = ctypes.c_char_p
        facts["blas"] = describe().decode()
    return facts


def _compiler() -> dict[str, str]:
    """What GCC wrote about itself near the end of MXNet's library, where it is not stripped."""
    with Path(mx.libinfo.find_lib_path()[0]).open("rb") as stream:
        library = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        begin = library.rfind(b"GCC: (")
        if begin < 0:
            return {}
        return {"compiler": library[begin : library.find(b"\0", begin)].decode()}


@contextmanager
def plain_errors() -> Iterator[None]:
    """Leave out the calls of MXNet's own code, which its errors bring along before their end."""
    try:
        yield
    except MXNetError as error:
        raise MXNetError(str(error).strip().rpartition("\n")[2]) from error


_STATIC = {"static_alloc": True, "static_shape": True}
_ADAM_EPSILON = 1e-8


@plain_errors()
def open_trainer(network: Network, recipe: Recipe) -> MXNet:
    """A trainer on the device of the recipe, if it is there."""
    if recipe.device == "cpu":
        return MXNet(network, recipe, mx.cpu())
    if not mx.runtime.Features().is_enabled("CUDA"):
        raise Unavailable(f"no CUDA device: MXNet {mx.__version__} is built without CUDA")
    if not mx.context.num_gpus():
        raise Unavailable("no CUDA device: MXNet finds none on this machine")
    return DeviceMXNet(network, recipe, mx.gpu())


class MXNet(Trainer):
    """A trainer on the processor, over one compiled graph.

    MXNet's engine computes in the background here too. A mark waits for it, so that the time of a
    step is not taken for that of the next one's data.
    """

    layout = "NCHW"

    def __init__(self, network: Network, recipe: Recipe, place: mx.Context) -> None:
        self.device = str(place.device_type)
        # What OpenMP gives each of MXNet's operators.
        self.threads = int(ctypes.CDLL("libgomp.so.1").omp_get_max_threads())
        self.versions = {"mxnet": str(mx.__version__), "numpy": str(np.__version__)}
        self.build = build_facts()
        self._recipe = recipe
        self._place = place
        self._graph = Graph(network, dropout=recipe.dropout)
        self._graph.initialize(mx.init.Zero(), place)
        self._loss = Loss(self._graph, network)
        self._loss.hybridize(**_STATIC)
        self.parameters = self._graph.parameters

    @plain_errors()
    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy the weights in and forget what the optimizer gathered."""
        self._graph.load(weights)
        trained = self._graph.collect_params()
        self._trainer = gluon.Trainer(trained, _optimizer(self._recipe), kvstore=None)

    def set_learning_rate(self, rate: float) -> None:
        """Also of the velocity, in which MXNet keeps the rate of the steps behind it."""
        ratio = rate / self._trainer.learning_rate
        self._trainer.set_learning_rate(rate)
        if self._recipe.optimizer == "sgd" and self._recipe.momentum:
            for velocity in self._trainer._updaters[0].states.values():  # noqa: SLF001 (no other way)
                velocity[:] = velocity * ratio

    @plain_errors()
    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
        """Copies where the graph is."""
        return mx.nd.array(images, self._place), mx.nd.array(labels, self._place)

    @plain_errors()
    def step(self, batch: tuple[mx.nd.NDArray, mx.nd.NDArray]) -> tuple[mx.nd.NDArray, ...]:
        """One update, asked for and not waited for."""
        images, labels = batch
        with autograd.record():
            loss, predicted = self._loss(images, labels)
        loss.backward()
        # The loss is a mean already: there is no batch size left to divide by.
        self._trainer.step(1)
        return loss, predicted, labels

    @plain_errors()
    def scores(self, images: np.ndarray) -> np.ndarray:
        """Scores outside of any recording, which is MXNet's inference mode."""
        scores, *_ = self._graph(mx.nd.array(images, self._place))
        answer: np.ndarray = scores.asnumpy()
        return answer

    mark = plain_errors()(Trainer.mark)
    spans = plain_errors()(Trainer.spans)

    @plain_errors()
    def fetch(self, outcomes: Sequence[tuple[mx.nd.NDArray, ...]]) -> tuple[list[float], int]:
        """Bring losses and the count of right answers to the host."""
        losses, predicted, labels = zip(*outcomes)
        right = mx.nd.concat(*predicted, dim=0) == mx.nd.concat(*labels, dim=0)
        return [float(loss.asscalar()) for loss in losses], int(right.sum().asscalar())

    def profile(
        self, batches: Sequence[tuple[mx.nd.NDArray, mx.nd.NDArray]]
    ) -> list[OperationTime]:
        """Operators as MXNet's own profiler adds them up."""
        # In bulk they would be counted as one, under the names of all.
        self._loss.hybridize(**_STATIC, forward_bulk_size=0, backward_bulk_size=0)
        # MXNet deletes its trace file to write it anew, so it must be one that nobody else has.
        with TemporaryDirectory(prefix="prumo-mxnet-") as folder:
            trace = str(Path(folder, "trace.json"))
            profiler.set_config(profile_all=True, aggregate_stats=True, filename=trace)
            mx.nd.waitall()
            profiler.set_state("run")
            for batch in batches:
                self.step(batch)
            mx.nd.waitall()
            profiler.set_state("stop")
            operators = json.loads(profiler.dumps(reset=True, format="json"))["Time"]["operator"]
        self._loss.hybridize(**_STATIC)
        return [
            OperationTime(name, row["Count"], row["Total"] / 1e3) for name, row in operators.items()
        ]

    def _pending(self) -> Callable[[], object]:
        wait: Callable[[], object] = mx.nd.waitall
        return wait


class DeviceMXNet(MXNet):
    """A trainer on a GPU, which works on while Python goes ahead.

    MXNet gives no events of a device's queue, so marks are the moments at which a thread saw that
    the work before them was done; nobody else waits for it.
    """

    def __init__(self, network: Network, recipe: Recipe, place: mx.Context) -> None:
        super().__init__(network, recipe, place)
        gpu = gpu_facts()
        self.device = gpu.get("name", self.device)
        if "driver" in gpu:
            self.build = {**self.build, "driver": gpu["driver"]}
        self._clock = CompletionClock()
        self._latest: mx.nd.NDArray | None = None
        # Gluon's trainer updates in the order of the names.
        named = sorted(self._graph.collect_params().items())
        *_, self._updated_last = (array for _, array in named if array.grad_req != "null")

    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
        """Copies on the device, asked for and not waited for."""
        pair = super().batch(images, labels)
        self._latest = pair[-1]
        return pair

    def step(self, batch: tuple[mx.nd.NDArray, mx.nd.NDArray]) -> tuple[mx.nd.NDArray, ...]:
        """One update; a copy of what it changes last tells later when it was done."""
        outcome = super().step(batch)
        self._latest = self._updated_last.data()[:1].copy()
        return outcome

    def _pending(self) -> Callable[[], object]:
        return nothing if self._latest is None else self._latest.wait_to_read


class Adam(mx.optimizer.Adam):
    """Adam whose epsilon is added to the corrected deviation, as in its paper's first form.

    MXNet adds it to the deviation before the correction, where it weighs more in early steps.
    """

    def update(self, index: int, weight: Any, grad: Any, state: Any) -> None:  # noqa: ANN401 (MXNet's)
        """One step of one array."""
        step = self._index_update_count.get(index, self.begin_num_update) + 1
        self.epsilon = _ADAM_EPSILON * math.sqrt(1 - self.beta2**step)
        super().update(index, weight, grad, state)


def _optimizer(recipe: Recipe) -> mx.optimizer.Optimizer:
    settings = {"learning_rate": recipe.learning_rate, "wd": recipe.weight_decay}
    if recipe.optimizer == "adam":
        return Adam(**settings)
    return mx.optimizer.SGD(momentum=recipe.momentum, **settings)
