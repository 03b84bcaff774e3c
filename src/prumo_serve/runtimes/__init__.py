"""What computes a network: the interface of runtimes, which are plug-ins, and what they share."""

from __future__ import annotations

import ctypes
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Condition
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from prumo.errors import InputError, PluginError, PrumoError, UnavailableError
from prumo.plugins import RUNTIMES


class NetworkError(PrumoError):
    """A loaded network does not answer."""


class LoadedNetwork(Protocol):
    """A network that is ready to answer; may be asked from several threads at once."""

    @property
    def input_names(self) -> tuple[str, ...]:
        """Of the tensors that it takes."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Of the tensors that it gives."""

    @property
    def is_ready(self) -> bool:
        """Whether it can answer now: not once it is closed, nor while its process is down."""

    def run(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The wanted outputs for a batch of any size, each with the batch as its first axis.

        Raises:
            NetworkError: It could not answer; it may the next time while `is_ready`.
        """

    def close(self) -> None:
        """Let go of what it holds, after the answers that are under way."""


@dataclass(frozen=True)
class Resources:
    """What a network may take of the machine."""

    threads: int = 1
    """That work on one batch."""
    callers: int = 1
    """That may ask at the same time."""
    may_spin: bool = False
    """Whether threads may wait for each other by spinning, which is faster and takes the core."""


class Runtime(ABC):
    """What computes networks of some formats: a plug-in of the group `prumo.runtimes`.

    Its module must not import the runtime itself before `load` is called.

    >>> runtime_named("openvino").endings
    ('.xml', '.onnx')
    """

    endings: ClassVar[tuple[str, ...]]
    """Of the files that it takes; empty for the folder of a SavedModel."""
    is_cheap_to_load_twice: ClassVar[bool] = False
    """Whether a server may load a network once for a lone request and once for many."""

    @abstractmethod
    def load(self, path: Path, resources: Resources) -> LoadedNetwork:
        """Load a network's file or folder.

        Raises:
            UnavailableError: The runtime is not installed, with how to install it.
            InputError: The file is not a network of this runtime.
        """

    def require_harmless(self, path: Path, shown: Path) -> None:
        """Refuse a network that would open other files or run code when it is loaded.

        Args:
            path: Of the network.
            shown: Of its package, as the user knows it.
        """
        del path, shown


@cache
def runtime_named(name: str) -> Runtime:
    """The installed runtime plug-in of a name."""
    found = RUNTIMES.load(name)
    if not isinstance(found, Runtime):
        raise PluginError(f"the runtime '{name}' is no instance of prumo_serve.runtimes.Runtime")
    return found


def load_network(path: Path, runtime: str, resources: Resources) -> LoadedNetwork:
    """Load a network's file or folder; the runtime is imported only now. See `Runtime.load`."""
    if not path.exists():
        raise InputError(f"there is no network {path}")
    network = runtime_named(runtime).load(path, resources)
    return_freed_memory()
    return network


def return_freed_memory() -> None:
    """Return freed memory to the machine, where the C library knows how to.

    A network is read, rewritten for this processor and packed, each time as a copy. Measured with
    ONNX Runtime: of MobileNet's 50 MB 35 were free already, of VGG19's 194 MB 116.
    """
    # Only the GNU C library has to be asked.
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def imported(module: str, runtime: str, extra: str) -> Any:  # noqa: ANN401 (a module without types)
    """The module of a runtime, or an error that names the extra which brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UnavailableError(
            f"this network needs {runtime}: install it with pip install 'prumo[{extra}]' ({error})"
        ) from error


def loading(path: Path, runtime: str) -> AbstractContextManager[None]:
    """Whatever a runtime raises here says that the file is not a network of its kind."""
    return _failing(InputError, f"{path} is not a network that {runtime} can load")


def answering(runtime: str) -> AbstractContextManager[None]:
    """Whatever a runtime raises here says that the network has no answer."""
    return _failing(NetworkError, f"{runtime} could not compute the network")


@contextmanager
def _failing(kind: type[PrumoError], text: str) -> Iterator[None]:
    try:
        yield
    except PrumoError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise kind(f"{text}: {lines[-1].strip() if lines else type(error).__name__}") from error


def require_outputs(wanted: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuse an output that the network does not give."""
    for name in wanted:
        if name not in known:
            raise NetworkError(f"the network gives no '{name}': it gives {', '.join(known)}")


def closed() -> NetworkError:
    """For a network that is asked after its end."""
    return NetworkError("the network is closed")


Item = TypeVar("Item")


class Pool(Generic[Item]):
    """At most so many items, made when they are first needed, each used by one thread at a time."""

    def __init__(self, make: Callable[[], Item], most: int) -> None:
        self._make = make
        self._change = Condition()
        self._unmade = most - 1
        # The first one is made at once, so that what cannot be made is known at once.
        self._free = [make()]
        self.is_open = True

    @contextmanager
    def one(self) -> Iterator[Item]:
        """Take one; whoever comes when all are in use waits."""
        item = self._taken()
        try:
            yield item
        finally:
            with self._change:
                if self.is_open:
                    self._free.append(item)
                self._change.notify()

    def close(self) -> None:
        """Let all of them go; those in use go when they come back."""
        with self._change:
            self.is_open = False
            self._free.clear()
            self._change.notify_all()

    def _taken(self) -> Item:
        with self._change:
            self._change.wait_for(lambda: self._free or self._unmade or not self.is_open)
            if not self.is_open:
                raise closed()
            if self._free:
                return self._free.pop()
            self._unmade -= 1
        try:
            return self._make()
        except BaseException:
            with self._change:
                self._unmade += 1
                self._change.notify()
            raise


def run_in_pieces(
    run: Callable[[np.ndarray], Mapping[str, np.ndarray]], batch: np.ndarray, size: int | None
) -> Mapping[str, np.ndarray]:
    """Ask with pieces of exactly that size, the last one filled up; None takes any size at once."""
    if size is None or len(batch) == size:
        return run(batch)
    missing = -len(batch) % size
    whole = np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)]) if missing else batch
    answers = [run(whole[start : start + size]) for start in range(0, len(batch), size)]
    return {
        name: np.concatenate([answer[name] for answer in answers])[: len(batch)]
        for name in answers[0]
    }
