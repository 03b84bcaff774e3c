"""What computes a network: one file for each runtime, behind one interface."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from prumo.errors import InputError, PrumoError
from prumo_serve.runtimes.memory import release_freed_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from prumo_serve.manifest import RuntimeName


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


_MODULES: dict[RuntimeName, str] = {
    "onnxruntime": "onnx_runtime",
    "openvino": "openvino_runtime",
    "litert": "litert_runtime",
    "tensorflow": "tensorflow_runtime",
    "pytorch": "pytorch_runtime",
}


def load_network(path: Path, runtime: RuntimeName, resources: Resources) -> LoadedNetwork:
    """Load a network's file or folder; the runtime is imported only now.

    Raises:
        UnavailableError: The runtime is not installed, with how to install it.
        InputError: The file is not a network of this runtime.
    """
    if not path.exists():
        raise InputError(f"there is no network {path}")
    module = import_module(f"prumo_serve.runtimes.{_MODULES[runtime]}")
    network: LoadedNetwork = module.load(path, resources)
    release_freed_memory()
    return network
