"""What computes a network: the interface of runtimes, which are plug-ins."""

from __future__ import annotations

import ctypes
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from prumo.errors import InputError, PluginError, PrumoError
from prumo.plugins import RUNTIMES

if TYPE_CHECKING:
    import numpy as np


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


class Runtime(ABC):
    """What computes networks of some formats: a plug-in of the group `prumo.runtimes`.

    Its module must not import the runtime itself before `load` is called.

    >>> runtime_named("openvino").endings
    ('.xml', '.onnx')
    """

    endings: ClassVar[tuple[str, ...]]
    """Of the files that it takes; empty for the folder of a SavedModel."""

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
