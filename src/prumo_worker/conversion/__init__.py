"""Networks from one format into another, inside the framework that wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from prumo_worker.recipe import one_of, read_parameters
from prumo_worker.task import Task, TaskError

if TYPE_CHECKING:
    from prumo_worker.journal import Journal


ORIGINS = ("retina", "keras", "saved_model", "pytorch", "catalog")
TARGETS = ("onnxruntime", "litert", "tensorflow", "pytorch")
PRECISIONS = ("fp32", "fp16", "int8", "int8-dynamic")


@dataclass(frozen=True)
class Request:
    """One network, and what is to become of it."""

    source: Path
    out: Path
    """The folder that the new network and what it must answer are written to."""
    images: Path | None
    """An array of images as the network takes them, to compare answers and to calibrate with."""
    origin: str = one_of(ORIGINS, "")
    target: str = one_of(TARGETS, "onnxruntime")
    precision: str = one_of(PRECISIONS, "fp32")
    height: int | None = None
    """Of the images, where the network leaves it open."""
    width: int | None = None


def convert(task: Task, journal: Journal) -> dict[str, float]:
    """Convert in the framework that the network is of, imported only now."""
    paths = {name: Path(path) for name, path in task.data.items() if path}
    if not paths.keys() >= {"source", "out"}:
        raise TaskError("data: source and out must be given")
    source, out, images = paths["source"], paths["out"], paths.get("images")
    request = read_parameters(Request, task.parameters, source=source, out=out, images=images)
    out.mkdir(parents=True, exist_ok=True)
    framework = "pytorch" if request.origin == "pytorch" else "tensorflow"
    import_module(f"prumo_worker.conversion.{framework}_conversion").convert(request, journal)
    return {}
