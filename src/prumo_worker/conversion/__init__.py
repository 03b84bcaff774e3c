"""Networks from one format into another, inside the framework that wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from prumo_worker.recipe import ParameterReader
from prumo_worker.task import TaskError

if TYPE_CHECKING:
    from prumo_worker.journal import Journal
    from prumo_worker.task import Task


ORIGINS = ("retina", "keras", "saved_model", "pytorch")
TARGETS = ("onnxruntime", "litert", "tensorflow", "pytorch")
PRECISIONS = ("fp32", "fp16", "int8", "int8-dynamic")


@dataclass(frozen=True)
class Request:
    """One network, and what is to become of it."""

    source: Path
    out: Path
    """The folder that the new network and what it must answer are written to."""
    origin: str
    target: str
    precision: str
    height: int | None
    """Of the images, where the network leaves it open."""
    width: int | None
    images: Path | None
    """An array of images as the network takes them, to compare answers and to calibrate with."""


def read_request(task: Task) -> Request:
    """Check the parameters of a conversion."""
    reader = ParameterReader(task.parameters)
    if not task.data.get("source") or not task.data.get("out"):
        raise TaskError("data: source and out must be given")
    images = task.data.get("images")
    return Request(
        source=Path(task.data["source"]),
        out=Path(task.data["out"]),
        origin=reader.choice("origin", ORIGINS, ""),
        target=reader.choice("target", TARGETS, "onnxruntime"),
        precision=reader.choice("precision", PRECISIONS, "fp32"),
        height=reader.optional_whole("height"),
        width=reader.optional_whole("width"),
        images=Path(images) if images else None,
    )


_MODULES = {
    "retina": "tensorflow_conversion",
    "keras": "tensorflow_conversion",
    "saved_model": "tensorflow_conversion",
    "pytorch": "pytorch_conversion",
}


def convert(task: Task, journal: Journal) -> dict[str, float]:
    """Convert in the framework that the network is of, imported only now."""
    request = read_request(task)
    request.out.mkdir(parents=True, exist_ok=True)
    module = import_module(f"prumo_worker.conversion.{_MODULES[request.origin]}")
    module.convert(request, journal)
    return {}
