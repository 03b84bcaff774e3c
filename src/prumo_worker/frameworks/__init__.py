"""The frameworks that can train: a folder for each, behind one interface; the clocks they use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pkgutil import iter_modules
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    import numpy as np

    from prumo_worker.networks import Network
    from prumo_worker.profile import OperationTime
    from prumo_worker.recipe import Recipe


NAMES: tuple[str, ...] = tuple(sorted(part.name for part in iter_modules(__path__) if part.ispkg))


def nothing() -> None:
    """How to wait for work that was done when it returned."""


class HostClock:
    """For work on the processor: the caller waits, and then looks at the host's clock."""

    def mark(self, wait: Callable[[], object] = nothing) -> Any:  # noqa: ANN401 (each clock's own)
        """The moment at which `wait` returns, in nanoseconds that never go back."""
        wait()
        return perf_counter_ns()

    def spans(self, marks: Sequence[Any]) -> list[float]:
        """Seconds between each mark and the next."""
        return [(after - before) / 1e9 for before, after in zip(marks, marks[1:])]


class CompletionClock(HostClock):
    """For devices that work behind the caller's back and give no events of their own.

    A thread waits for each value in turn and looks at the host's clock when it has come. Values
    come in the order in which they were asked for, so that the spans between marks are the
    device's own: one in which nothing had to be waited for is nearly nothing.
    """

    def __init__(self) -> None:
        self._waiter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="completion")

    def mark(self, wait: Callable[[], object] = nothing) -> Any:  # noqa: ANN401 (as above)
        """The moment at which `wait` returns, asked after all earlier marks."""
        return self._waiter.submit(super().mark, wait)

    def spans(self, marks: Sequence[Any]) -> list[float]:
        """Seconds between each mark and the next; what went wrong in waiting is raised here."""
        return super().spans([mark.result() for mark in marks])


class Trainer(ABC):
    """A framework with one network in it.

    Devices may work behind the caller's back: `step` returns at once, and only `spans` and `fetch`
    wait. Whatever a trainer returns as `Any` is its own and goes back to it unread.
    """

    device = "cpu"
    """What the steps run on, in words: `cpu`, or the name of a GPU."""
    threads: int
    """The compute threads in use, as the framework itself counts them."""
    versions: Mapping[str, str]
    """The framework's version, and those of the libraries it brings."""
    build: Mapping[str, str]
    """What speed depends on: compiler, math libraries, vector instructions."""
    layout: str
    """The order in which `batch` and `scores` take images: `NCHW` or `NHWC`."""
    parameters: int
    """The numbers of the loaded network as the framework counts them, untrained state included."""
    _clock = HostClock()

    @abstractmethod
    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Start anew from these weights, the optimizer as if it had never run."""

    @abstractmethod
    def set_learning_rate(self, rate: float) -> None:
        """For the steps to come; what momentum gathered so far follows the new rate too."""

    @abstractmethod
    def batch(self, images: np.ndarray, labels: np.ndarray) -> Any:  # noqa: ANN401 (the trainer's own)
        """Bring a batch to where `step` wants it."""

    @abstractmethod
    def step(self, batch: Any) -> Any:  # noqa: ANN401 (the trainer's own)
        """Forward, loss with its auxiliary parts, backward, update.

        In training mode: dropout as the recipe says, batch normalisation by the batch itself.
        """

    @abstractmethod
    def scores(self, images: np.ndarray) -> np.ndarray:
        """Class scores as float32 (images, classes) in inference mode, before any softmax.

        Dropout is off and batch normalisation goes by its running state; nothing is updated.
        """

    @abstractmethod
    def profile(self, batches: Sequence[Any]) -> list[OperationTime]:
        """Take one step for each batch under the framework's own profiler.

        Seconds are an operation's own, without those it calls, on the device of the training. A
        framework that has no profiler for its device raises Unavailable with the reason.
        """

    def mark(self) -> Any:  # noqa: ANN401 (the clock's own)
        """A moment on the device's own clock, after all that was asked so far."""
        return self._clock.mark(self._pending())

    def spans(self, marks: Sequence[Any]) -> list[float]:
        """Seconds between each mark and the next, after all work is done."""
        return self._clock.spans(marks)

    def fetch(self, outcomes: Sequence[Any]) -> tuple[list[float], int]:
        """The loss of each step and, over all of them, how many images were classified right."""
        losses, right = zip(*outcomes)
        return [float(loss) for loss in losses], int(sum(right))

    def take_steps(self, batches: Sequence[Any]) -> None:
        """One step for each batch, and wait for all of them."""
        self.fetch([self.step(batch) for batch in batches])

    def _pending(self) -> Callable[[], object]:
        """How to wait for all that was asked so far."""
        return nothing


def open_trainer(network: Network, recipe: Recipe, threads: int) -> Trainer:
    """Import the recipe's framework and build the network in it."""
    name, _, version = recipe.framework.partition("@")
    if name not in NAMES:
        raise Unavailable(f"no framework is named {name!r}; known: {', '.join(NAMES)}")
    try:
        module = import_module(f"{__name__}.{name}")
        # Some set variables first that their framework reads when it is imported.
        trainer: Trainer = module.open_trainer(network, recipe, threads)
    except ImportError as error:
        raise Unavailable(f"{name} cannot be imported in this environment: {error}") from error
    here = trainer.versions[name]
    # A local build adds its own mark after a plus sign: 2.13.0+cpu is a 2.13.0.
    if version and version not in (here, here.partition("+")[0]):
        raise Unavailable(f"this environment has {name} {here}, not the {version} asked for")
    return trainer
