"""A conversion before it is trusted: files in a folder of their own, and the original's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from prumo.model.runtimes import Resources, load_network

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from prumo.model.manifest import Layout, Precision, RuntimeName

NETWORK_FILES: dict[RuntimeName, str] = {
    "onnxruntime": "network.onnx",
    "openvino": "network.xml",
    "litert": "network.tflite",
    "tensorflow": "network",
    "pytorch": "network.pt2",
}
"""Where a package keeps its network."""
HEAT_MAP_FILE = "heat_map.onnx"
HEAT_MAP_TENSOR = "heat_map"


@dataclass(frozen=True)
class NetworkFacts:
    """How a network is asked, and what its answer is."""

    input_tensor: str
    height: int
    width: int
    layout: Layout
    dtype: Literal["float32", "uint8"]
    output_tensor: str
    kind: Literal["scores", "probabilities"]
    activation: Literal["softmax", "sigmoid"]
    features_tensor: str = ""
    """The output with the last map of features, where heat maps are made of it."""
    without_heat_map: str = ""
    """Why there can be no heat map, for a model that would need one."""
    original_precision: Precision = "fp32"
    """In which the original computes its answers."""

    @property
    def outputs(self) -> list[str]:
        """All that is compared."""
        return [self.output_tensor, *filter(None, [self.features_tensor])]


@dataclass(frozen=True)
class Draft:
    """What was made, and what it has to answer."""

    folder: Path
    facts: NetworkFacts
    images: np.ndarray
    """In the layout that the network takes."""
    reference: Mapping[str, np.ndarray]
    """The original's answers to these images by the names of outputs, and its heat maps."""
    versions: dict[str, str]


def answers_of(
    path: Path, runtime: RuntimeName, images: np.ndarray, outputs: Sequence[str]
) -> dict[str, np.ndarray]:
    """What a network answers, asked with one image and with two at a time as a server does."""
    network = load_network(path, runtime, Resources())
    try:
        parts = [network.run(images[:1], outputs)]
        parts += [
            network.run(images[start : start + 2], outputs) for start in range(1, len(images), 2)
        ]
    finally:
        network.close()
    return {name: np.concatenate([part[name] for part in parts]) for name in outputs}
