"""Training with PyTorch, on the processor or on one CUDA device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd import DeviceType
from torch.nn.functional import cross_entropy
from torch.profiler import ProfilerActivity

from prumo_worker.frameworks import Trainer
from prumo_worker.frameworks.pytorch.network import Graph
from prumo_worker.profile import OperationTime
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


def versions() -> dict[str, str]:
    """PyTorch's version, and those of the libraries it computes with."""
    found = {"pytorch": str(torch.__version__), "numpy": str(np.__version__)}
    if torch.version.cuda is not None:
        found["cuda"] = torch.version.cuda
        found["cudnn"] = str(torch.backends.cudnn.version())
    return found


def build_facts() -> dict[str, str]:
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


_NUMBER_FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}


class PyTorch(Trainer):
    """A trainer on the processor, where every operation is done when it returns."""

    def __init__(self, network: Network, recipe: Recipe, threads: int) -> None:
        torch.set_num_threads(threads)
        self.threads = torch.get_num_threads()
        self.versions = versions()
        self.build = build_facts()
        self.layout = "NHWC" if recipe.channels_last else "NCHW"
        self._recipe = recipe
        self._place = torch.device(recipe.device)
        memory = torch.channels_last if recipe.channels_last else torch.contiguous_format
        self._graph = Graph(network, dropout=recipe.dropout)
        self._graph.modules.to_empty(device=self._place).to(memory_format=memory)
        _, *self._head_weights = network.heads.values()
        self.parameters = self._graph.parameters

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy the weights in and forget what the optimizer gathered."""
        self._graph.load(weights)
        self._optimizer = _optimizer(self._graph.modules.parameters(), self._recipe)

    def set_learning_rate(self, rate: float) -> None:
        """Of all parameters."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Tensors over the arrays' own memory."""
        return self._pictures(images), torch.from_numpy(labels)

    def step(self, batch: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """One update; the tensors that come back hold no graph."""
        images, labels = batch
        with self._number_format():
            scores, *heads = self._graph.outputs(images)
            loss = cross_entropy(scores, labels)
            for weight, head in zip(self._head_weights, heads):
                loss = loss + weight * cross_entropy(head, labels)
        self._optimizer.zero_grad(set_to_none=True)
        self._update(loss)
        return loss.detach(), scores.detach().argmax(1), labels

    def scores(self, images: np.ndarray) -> np.ndarray:
        """Scores as the trained network would answer, the modules in training mode afterwards."""
        self._graph.modules.eval()
        with torch.inference_mode(), self._number_format():
            scores, *_ = self._graph.outputs(self._pictures(images).to(self._place))
        self._graph.modules.train()
        answer: np.ndarray = scores.float().cpu().numpy()
        return answer

    def fetch(self, outcomes: Sequence[tuple[torch.Tensor, ...]]) -> tuple[list[float], int]:
        """Bring losses and the count of right answers to the host in two transfers."""
        losses, predicted, labels = zip(*outcomes)
        right = torch.cat(predicted) == torch.cat(labels)
        return torch.stack(losses).float().tolist(), int(right.sum())

    def profile(self, batches: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> list[OperationTime]:
        """Operations of the processor by their own time."""
        with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as profiler:
            for batch in batches:
                self.step(batch)
        return [
            OperationTime(event.key, event.count, event.self_cpu_time_total / 1e6)
            for event in profiler.key_averages()
        ]

    def _pictures(self, images: np.ndarray) -> torch.Tensor:
        """Images by (image, channel, height, width), whatever their order in memory."""
        pictures = torch.from_numpy(images)
        return pictures.permute(0, 3, 1, 2) if self.layout == "NHWC" else pictures

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

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Also forget the scale of the gradients, without which those in fp16 would vanish."""
        super().load(weights)
        self._scaler = torch.amp.GradScaler("cuda", enabled=self._recipe.precision == "fp16")

    def batch(self, images: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Copies on the device; from pinned memory, so that nobody waits for the transfer."""
        pictures, answers = super().batch(images, labels)
        return (
            pictures.pin_memory().to(self._place, non_blocking=True),
            answers.pin_memory().to(self._place, non_blocking=True),
        )

    def mark(self) -> Any:  # noqa: ANN401 (a moment on this trainer's own clock)
        """An event in the device's queue: no waiting here."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def spans(self, marks: Sequence[Any]) -> list[float]:
        """Seconds between events, after the device has come to the last one."""
        torch.cuda.synchronize(self._place)
        return [before.elapsed_time(after) / 1e3 for before, after in zip(marks, marks[1:])]

    def profile(self, batches: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> list[OperationTime]:
        """Kernels of the device; the operations that started them would count the time twice."""
        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            for batch in batches:
                self.step(batch)
            torch.cuda.synchronize(self._place)
        return [
            OperationTime(event.key, event.count, event.self_device_time_total / 1e6)
            for event in profiler.key_averages()
            if event.device_type == DeviceType.CUDA
        ]

    def _update(self, loss: torch.Tensor) -> None:
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()


def _optimizer(parameters: Iterator[torch.nn.Parameter], recipe: Recipe) -> torch.optim.Optimizer:
    settings = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    if recipe.optimizer == "adam":
        return torch.optim.Adam(parameters, **settings)
    return torch.optim.SGD(parameters, momentum=recipe.momentum, **settings)


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
