"""Training with PyTorch, on the processor or on one CUDA device."""

from __future__ import annotations

import re
from contextlib import nullcontext
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from prumo_worker.failure import Unavailable
from prumo_worker.networks import layer
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from prumo_worker.networks import Network
    from prumo_worker.networks.network import Node
    from prumo_worker.recipe import Recipe

_NUMBER_FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}


def open_trainer(network: Network, recipe: Recipe, threads: int) -> PyTorch:
    """Build the network where the recipe wants it, or say why that is not possible here."""
    if recipe.device == "cpu":
        if recipe.precision == "fp16":
            raise Unavailable("fp16 needs a CUDA device; on the processor there is bf16")
        return PyTorch(network, recipe, threads)
    if recipe.device != "cuda":
        raise Unavailable(f"Prumo trains with PyTorch on cpu and cuda, not on {recipe.device}")
    if torch.version.cuda is None:
        raise Unavailable(f"no CUDA device: PyTorch {torch.__version__} is built without CUDA")
    if not torch.cuda.is_available():
        raise Unavailable("no CUDA device: PyTorch finds none on this machine")
    return CudaPyTorch(network, recipe, threads)


class PyTorch:
    """A trainer on the processor, where every operation is done when it returns."""

    def __init__(self, network: Network, recipe: Recipe, threads: int) -> None:
        torch.set_num_threads(threads)
        self.device = "cpu"
        self.threads: int = torch.get_num_threads()
        self.versions = _versions()
        self.build = _build()
        self._recipe = recipe
        self._place = torch.device(recipe.device)
        self._layout = torch.channels_last if recipe.channels_last else torch.contiguous_format
        self._graph = Graph(network)
        self._graph.modules.to_empty(device=self._place).to(memory_format=self._layout)
        self._optimizer = _optimizer(self._graph.modules, recipe)

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy the weights in and forget what the optimizer gathered."""
        self._graph.load(weights)
        self._optimizer = _optimizer(self._graph.modules, self._recipe)

    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Tensors over the arrays' own memory, in the layout of the model."""
        return (
            torch.from_numpy(images).contiguous(memory_format=self._layout),
            torch.from_numpy(labels),
        )

    def step(self, batch: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """One update; the tensors that come back hold no graph."""
        images, labels = batch
        with self._number_format():
            scores = self._graph.scores(images)
            loss = cross_entropy(scores, labels)
        self._optimizer.zero_grad(set_to_none=True)
        self._update(loss)
        return loss.detach(), scores.detach().argmax(1), labels

    def mark(self) -> Any:  # noqa: ANN401 (a moment on this trainer's own clock)
        """Nanoseconds of a clock that never goes back."""
        return perf_counter_ns()

    def spans(self, marks: Sequence[Any]) -> list[float]:
        """Seconds between marks."""
        return [(after - before) / 1e9 for before, after in zip(marks, marks[1:])]

    def fetch(self, outcomes: Sequence[tuple[torch.Tensor, ...]]) -> tuple[list[float], int]:
        """Bring losses and the count of right answers to the host in two transfers."""
        losses, predicted, labels = zip(*outcomes)
        right = torch.cat(predicted) == torch.cat(labels)
        return torch.stack(losses).float().tolist(), int(right.sum())

    def _number_format(self) -> AbstractContextManager[object]:
        context: AbstractContextManager[object] = nullcontext()
        if self._recipe.precision != "fp32":
            number_format = _NUMBER_FORMATS[self._recipe.precision]
            context = torch.autocast(self._place.type, dtype=number_format)
        return context

    def _update(self, loss: torch.Tensor) -> None:
        loss.backward()
        self._optimizer.step()


class CudaPyTorch(PyTorch):
    """A trainer on a CUDA device, which works on while Python goes ahead."""

    def __init__(self, network: Network, recipe: Recipe, threads: int) -> None:
        torch.backends.cudnn.benchmark = True
        super().__init__(network, recipe, threads)
        self.device = torch.cuda.get_device_name(self._place)
        self._scaler = _scaler(recipe)

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Also forget the scale of the gradients."""
        super().load(weights)
        self._scaler = _scaler(self._recipe)

    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Copies on the device; from pinned memory, so that nobody waits for the transfer."""
        pictures = torch.from_numpy(images).pin_memory().to(self._place, non_blocking=True)
        answers = torch.from_numpy(labels).pin_memory().to(self._place, non_blocking=True)
        return pictures.contiguous(memory_format=self._layout), answers

    def mark(self) -> Any:  # noqa: ANN401 (a moment on this trainer's own clock)
        """An event in the device's queue: no waiting here."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def spans(self, marks: Sequence[Any]) -> list[float]:
        """Seconds between events, after the device has come to the last one."""
        torch.cuda.synchronize(self._place)
        return [before.elapsed_time(after) / 1e3 for before, after in zip(marks, marks[1:])]

    def _update(self, loss: torch.Tensor) -> None:
        if self._scaler is None:
            super()._update(loss)
            return
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()


class Graph:
    """A network's nodes as PyTorch modules, computed in order."""

    def __init__(self, network: Network) -> None:
        self._nodes = network.nodes
        # On the meta device PyTorch draws no weights of its own, which takes long and is in vain.
        with torch.device("meta"):
            self.modules = nn.ModuleList(_module(node) for node in network.nodes)
        # Plain tuples, because the walk over them is part of every timed step.
        self._walk = [
            (node.name, node.inputs, module, spent)
            for node, module, spent in zip(network.nodes, self.modules, _last_uses(network.nodes))
        ]

    def scores(self, images: torch.Tensor) -> torch.Tensor:
        """Class scores; a value is let go after its last use, as memory is what limits batches."""
        values = {IMAGE: images}
        for name, inputs, module, spent in self._walk:
            values[name] = module(*[values[source] for source in inputs])
            for source in spent:
                del values[source]
        return values[self._nodes[-1].name]

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy weights in, under the names of `initial_weights`."""
        with torch.no_grad():
            for node, module in zip(self._nodes, self.modules):
                for part, parameter in module.named_parameters():
                    parameter.copy_(torch.from_numpy(weights[f"{node.name}.{part}"]))


def _last_uses(nodes: Sequence[Node]) -> list[list[str]]:
    """For each node the values that no later one needs."""
    last = {name: position for position, node in enumerate(nodes) for name in node.inputs}
    return [
        [name for name in set(node.inputs) if last[name] == position]
        for position, node in enumerate(nodes)
    ]


def _module(node: Node) -> nn.Module:
    return _MODULES[type(node.operation)](node.operation, node.input_shapes[0])


def _convolution(operation: layer.Convolution, shape: layer.Shape) -> nn.Module:
    return nn.Conv2d(
        shape[0],
        operation.outputs,
        operation.kernel,
        stride=operation.stride,
        padding=operation.padding,
        groups=operation.groups,
    )


_MODULES: dict[type[layer.Operation], Callable[[Any, layer.Shape], nn.Module]] = {
    layer.Convolution: _convolution,
    layer.Dense: lambda operation, shape: nn.Linear(shape[0], operation.outputs),
    layer.MaxPooling: lambda operation, _: nn.MaxPool2d(operation.kernel, operation.stride),
    layer.AveragePooling: lambda operation, _: nn.AvgPool2d(operation.kernel, operation.stride),
    layer.Rectifier: lambda *_: nn.ReLU(),
    layer.Tanh: lambda *_: nn.Tanh(),
    layer.Flatten: lambda *_: nn.Flatten(),
}


def _optimizer(modules: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    if recipe.optimizer == "adam":
        return torch.optim.Adam(
            modules.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
    return torch.optim.SGD(
        modules.parameters(),
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
    )


def _scaler(recipe: Recipe) -> torch.amp.GradScaler | None:
    """Half-precision gradients would vanish without a scale."""
    return torch.amp.GradScaler("cuda") if recipe.precision == "fp16" else None


def _versions() -> dict[str, str]:
    versions = {"pytorch": str(torch.__version__), "numpy": str(np.__version__)}
    if torch.version.cuda is not None:
        versions["cuda"] = torch.version.cuda
        versions["cudnn"] = str(torch.backends.cudnn.version())
    return versions


def _build() -> dict[str, str]:
    """The lines of PyTorch's own account of its build that decide about speed."""
    account = torch.__config__.show()
    patterns = {
        "compiler": r"^\s*- ((?:GCC|Clang|clang|MSVC)\b.*)$",
        "mkl": r"^\s*- .*Math Kernel Library Version ([\d.]+)",
        "onednn": r"^\s*- .*MKL-DNN (v\S+)",
        "openmp": r"^\s*- (OpenMP \d+)",
        "blas": r"\bBLAS_INFO=(\w+)",
        "optimization": r"\bCXX_FLAGS=.*?\s(-O\w+)",
    }
    found = {name: re.search(pattern, account, re.MULTILINE) for name, pattern in patterns.items()}
    facts = {name: match.group(1).strip() for name, match in found.items() if match}
    return {**facts, "cpu_capability": torch.backends.cpu.get_cpu_capability()}
