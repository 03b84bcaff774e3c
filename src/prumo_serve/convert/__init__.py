"""From one format to another, checked against the original."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo_serve.convert.agreement import NETWORK_FILES, Agreement, ConvertedNetwork, settled
from prumo_serve.convert.in_framework import FrameworkJob, converted_in_framework
from prumo_serve.convert.onnx import draft_of_file, write_openvino
from prumo_serve.manifest import NetworkFile

if TYPE_CHECKING:
    import numpy as np

    from prumo.progress import Progress
    from prumo_serve.convert.agreement import Draft
    from prumo_serve.manifest import Layout, Precision, RuntimeName

__all__ = ["Agreement", "ConvertedNetwork", "converted", "require_way"]

_OF_TENSORFLOW: tuple[RuntimeName, ...] = ("onnxruntime", "openvino", "litert", "tensorflow")
_TARGETS: dict[str, tuple[RuntimeName, ...]] = {
    "keras": _OF_TENSORFLOW,
    "saved_model": _OF_TENSORFLOW,
    "pytorch": ("onnxruntime", "openvino", "pytorch"),
    "onnx": ("onnxruntime", "openvino"),
}


def converted(  # noqa: PLR0913 (each is another thing)
    source_path: Path,
    origin_format: str,
    target: RuntimeName,
    folder: Path,
    progress: Progress,
    *,
    size_pixels: int | None = None,
    layout: Layout | None = None,
    precision: Precision = "fp32",
    images: np.ndarray | None = None,
) -> ConvertedNetwork:
    """Write a network for another runtime into a folder, once it answers what the original does.

    Args:
        source_path: The file or folder that holds the network.
        origin_format: What it is.
        target: The runtime that is to compute it.
        folder: Where the new network's files go; it must exist.
        progress: Hears how far it is.
        size_pixels: The side of images, where the network takes any.
        layout: Where images have their colours, where an ONNX file does not tell.
        precision: Of the numbers inside; only LiteRT's are made smaller on the way.
        images: To calibrate int8 with, and to compare the answers of smaller numbers, as the
            network takes them; else a few are drawn.

    Raises:
        UnavailableError: There is no way from this format to that runtime.
        ConversionError: The network could not be converted.
        DisagreementError: It was, and answers something else.
    """
    require_way(origin_format, target)
    network = NetworkFile(file=NETWORK_FILES[target], runtime=target, precision=precision)
    job = FrameworkJob(source_path, origin_format, target, precision, size_pixels, images)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".conversion-") as temporary:
        draft = _draft(job, layout, Path(temporary), progress)
        return settled(draft, network, folder, progress)


def require_way(origin: str, target: RuntimeName) -> None:
    """Raise an UnavailableError where no network of that kind can be made for a runtime."""
    # A task's own folder holds a Keras network.
    targets = _TARGETS.get(origin, _OF_TENSORFLOW)
    if target not in targets:
        raise UnavailableError(
            f"there is no way from a model of the kind {origin} to {target}; there is one to "
            f"{', '.join(targets)}"
        )


def _draft(job: FrameworkJob, layout: Layout | None, folder: Path, progress: Progress) -> Draft:
    """The network and what it has to answer; OpenVINO's is made of ONNX."""
    if job.origin == "onnx":
        draft = draft_of_file(job, layout, folder)
    elif job.target == "openvino":
        draft = converted_in_framework(replace(job, target="onnxruntime"), folder, progress)
    else:
        draft = converted_in_framework(job, folder, progress)
    return write_openvino(draft, job.precision, progress) if job.target == "openvino" else draft
