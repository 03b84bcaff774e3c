"""From one format to another, checked against the original."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prumo.cache import LOGS, made_folder
from prumo.environments.setup import ensure_companion
from prumo.errors import StorageError, UnavailableError
from prumo.machine.machine import read_memory
from prumo.results.folder import LOG_FILE
from prumo.run.worker import (
    Environments,
    WorkerError,
    WorkerMemoryError,
    WorkerTask,
    do_task,
)
from prumo_serve.convert.agreement import (
    NETWORK_FILES,
    ConversionError,
    ConvertedNetwork,
    Draft,
    NetworkFacts,
    settled,
)
from prumo_serve.convert.onnx import draft_of_file, make_canonical, write_openvino
from prumo_serve.source import CATALOG_FORMAT, FORMATS
from prumo_serve.source.pytorch_export import write_harmless

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.run.journal import Event
    from prumo_serve.choices import Layout, Precision, RuntimeName


KIND = "model_conversion"
_REFERENCE_FILE = "reference.npz"
_IMAGES = "images"
_GIVEN_IMAGES_FILE = "given.npy"
_MEMORY_SHARE = 0.8
"""Of what is free: a conversion that grows is ended before the machine has none left."""


@dataclass(frozen=True)
class Conversion:
    """What is to be made of which network."""

    source: Path
    origin: str
    """The format of the source."""
    target: RuntimeName
    precision: Precision = "fp32"
    """Of the numbers inside; only LiteRT's are made smaller on the way."""
    size_pixels: int | None = None
    """The side of images, where the network leaves it open."""
    images: np.ndarray | None = None
    """As the network takes them, to calibrate int8 and to compare answers with; else drawn ones."""
    layout: Layout | None = None
    """Where images have their colours, where an ONNX file does not tell."""


def _converted_in_framework(job: Conversion, folder: Path, progress: Progress) -> Draft:
    """Have a worker write the network into an empty folder, with what the original answers."""
    framework = "pytorch" if job.origin == "pytorch" else "tensorflow"
    environment = Environments({}, progress).find(framework)
    companion = None
    # A task's heat maps are ONNX everywhere.
    if job.target == "onnxruntime" or job.origin not in (*FORMATS, CATALOG_FORMAT):
        companion = ensure_companion(f"{framework}-to-onnx", environment, progress)
    memory_bytes = int(read_memory().available_bytes * _MEMORY_SHARE)
    task = replace(_task(job, folder), companion=companion, memory_bytes=memory_bytes)
    progress.show(f"starting {framework}")

    def hear(event: Event) -> None:
        if event["event"] == "stage":
            progress.show(event["text"])

    try:
        events = do_task(task, environment, folder, hear)
    except WorkerError as error:
        kept = _kept_log(folder / LOG_FILE)
        raise ConversionError(_failure_text(job, error, memory_bytes, kept)) from error
    for path in folder.glob("*.onnx"):
        make_canonical(path)
    return _draft_of_reply(events, folder)


def _task(job: Conversion, folder: Path) -> WorkerTask:
    source = job.source
    if job.origin == "pytorch":
        # PyTorch would run parts of an export, which are left out.
        source = folder / NETWORK_FILES["pytorch"]
        write_harmless(job.source, source)
    data = {"source": str(source.absolute()), "out": str(folder)}
    if job.images is not None:
        np.save(folder / _GIVEN_IMAGES_FILE, job.images)
        data["images"] = str(folder / _GIVEN_IMAGES_FILE)
    parameters = {"origin": job.origin, "target": job.target, "precision": job.precision}
    size = {"height": job.size_pixels, "width": job.size_pixels} if job.size_pixels else {}
    return WorkerTask(KIND, parameters | size, data)


def _draft_of_reply(events: list[Event], folder: Path) -> Draft:
    reply = next(event for event in events if event["event"] == "converted")
    with np.load(folder / _REFERENCE_FILE, allow_pickle=False) as arrays:
        reference = dict(arrays)
    images = reference.pop(_IMAGES)
    return Draft(folder, NetworkFacts(**reply["network"]), images, reference, reply["versions"])


def _failure_text(job: Conversion, error: WorkerError, memory_bytes: int, log: Path) -> str:
    text = f"{job.source} could not be converted: {error}"
    if isinstance(error, WorkerMemoryError):
        text += (
            f". A conversion may have {_MEMORY_SHARE:.0%} of the memory that is free, here "
            f"{memory_bytes / 2**30:.1f} GiB: end other programs, or convert on a "
            "machine with more"
        )
    return f"{text}\nits log: {log}"


def _kept_log(log: Path) -> Path:
    """The log beside those of set-ups: the folder that it was written in goes."""
    kept = made_folder(LOGS) / f"{KIND}.log"
    try:
        shutil.copyfile(log, kept)
    except OSError as error:
        raise StorageError.on_writing(kept, error) from error
    return kept


_OF_TENSORFLOW: tuple[RuntimeName, ...] = ("onnxruntime", "openvino", "litert", "tensorflow")
_TARGETS: dict[str, tuple[RuntimeName, ...]] = {
    "keras": _OF_TENSORFLOW,
    "saved_model": _OF_TENSORFLOW,
    "pytorch": ("onnxruntime", "openvino", "pytorch"),
    "onnx": ("onnxruntime", "openvino"),
}


def converted(job: Conversion, folder: Path, progress: Progress) -> ConvertedNetwork:
    """Write a network for another runtime into a folder, once it answers what the original does.

    Raises:
        UnavailableError: There is no way from this format to that runtime.
        ConversionError: The network could not be converted.
        DisagreementError: It was, and answers something else.
    """
    require_way(job.origin, job.target)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".conversion-") as temporary:
        draft = _draft(job, Path(temporary), progress)
        return settled(draft, job.target, job.precision, folder, progress)


def require_way(origin: str, target: RuntimeName) -> None:
    """Raise an UnavailableError where no network of that kind can be made for a runtime."""
    # A task's own folder holds a Keras network.
    targets = _TARGETS.get(origin, _OF_TENSORFLOW)
    if target not in targets:
        raise UnavailableError(
            f"there is no way from a model of the kind {origin} to {target}; there is one to "
            f"{', '.join(targets)}"
        )


def _draft(job: Conversion, folder: Path, progress: Progress) -> Draft:
    """The network and what it has to answer; OpenVINO's is made of ONNX."""
    if job.target == "openvino":
        draft = _draft(replace(job, target="onnxruntime"), folder, progress)
        return write_openvino(draft, job.precision, progress)
    if job.origin == "onnx":
        return draft_of_file(job, folder)
    return _converted_in_framework(job, folder, progress)
