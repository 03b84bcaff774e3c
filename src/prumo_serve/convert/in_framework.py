"""A conversion by a worker in the environment of the framework that wrote the network."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.cache import LOGS, made_folder
from prumo.environments.setup import ensure_companion
from prumo.errors import StorageError
from prumo.machine.machine import read_memory
from prumo.results.folder import LOG_FILE
from prumo.run.worker import (
    Environments,
    Terms,
    WorkerError,
    WorkerMemoryError,
    WorkerTask,
    do_task,
)
from prumo_serve.convert.agreement import NETWORK_FILES, ConversionError, Draft, NetworkFacts
from prumo_serve.convert.onnx import make_canonical
from prumo_serve.source import FORMATS
from prumo_serve.source.pytorch_export import write_harmless

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.run.journal import Event
    from prumo_serve.manifest import Precision, RuntimeName

KIND = "model_conversion"
_REFERENCE_FILE = "reference.npz"
_IMAGES = "images"
_GIVEN_IMAGES_FILE = "given.npy"
_MEMORY_SHARE = 0.8
"""Of what is free: a conversion that grows is ended before the machine has none left."""


@dataclass(frozen=True)
class FrameworkJob:
    """What is to be made of which network."""

    source: Path
    origin: str
    target: RuntimeName
    precision: Precision = "fp32"
    size_pixels: int | None = None
    """The side of images, where the network leaves it open."""
    images: np.ndarray | None = None
    """As the network takes them, to calibrate int8 and to compare answers with; else drawn ones."""

    @property
    def framework(self) -> str:
        """The one that wrote the network."""
        return "pytorch" if self.origin == "pytorch" else "tensorflow"

    @property
    def writes_onnx(self) -> bool:
        """Whether it needs more than the framework: a task's heat maps are ONNX everywhere."""
        return self.target == "onnxruntime" or self.origin not in FORMATS


def converted_in_framework(job: FrameworkJob, folder: Path, progress: Progress) -> Draft:
    """Have a worker write the network into an empty folder, with what the original answers."""
    environment = Environments({}, progress).find(job.framework)
    companion = f"{job.framework}-to-onnx"
    terms = Terms(
        companion=ensure_companion(companion, environment, progress) if job.writes_onnx else None,
        memory_bytes=int(read_memory().available_bytes * _MEMORY_SHARE),
    )
    progress.show(f"starting {job.framework}")

    def hear(event: Event) -> None:
        if event["event"] == "stage":
            progress.show(event["text"])

    try:
        events = do_task(_task(job, folder), environment, folder, hear, terms)
    except WorkerError as error:
        kept = _kept_log(folder / LOG_FILE)
        raise ConversionError(_told(job, error, terms, kept)) from error
    for path in folder.glob("*.onnx"):
        make_canonical(path)
    return _draft(events, folder)


def _task(job: FrameworkJob, folder: Path) -> WorkerTask:
    data = {"source": str(_harmless(job, folder).absolute()), "out": str(folder)}
    if job.images is not None:
        np.save(folder / _GIVEN_IMAGES_FILE, job.images)
        data["images"] = str(folder / _GIVEN_IMAGES_FILE)
    parameters = {"origin": job.origin, "target": job.target, "precision": job.precision}
    size = {"height": job.size_pixels, "width": job.size_pixels} if job.size_pixels else {}
    return WorkerTask(KIND, parameters | size, data)


def _harmless(job: FrameworkJob, folder: Path) -> Path:
    """What a worker may open: PyTorch would run parts of an export, which are left out."""
    if job.origin != "pytorch":
        return job.source
    write_harmless(job.source, folder / NETWORK_FILES["pytorch"])
    return folder / NETWORK_FILES["pytorch"]


def _draft(events: list[Event], folder: Path) -> Draft:
    told = next(event for event in events if event["event"] == "converted")
    with np.load(folder / _REFERENCE_FILE, allow_pickle=False) as arrays:
        reference = dict(arrays)
    images = reference.pop(_IMAGES)
    return Draft(folder, NetworkFacts(**told["network"]), images, reference, told["versions"])


def _told(job: FrameworkJob, error: WorkerError, terms: Terms, log: Path) -> str:
    told = f"{job.source} could not be converted: {error}"
    if isinstance(error, WorkerMemoryError):
        told += (
            f". A conversion may have {_MEMORY_SHARE:.0%} of the memory that is free, here "
            f"{(terms.memory_bytes or 0) / 2**30:.1f} GiB: end other programs, or convert on a "
            "machine with more"
        )
    return f"{told}\nits log: {log}"


def _kept_log(log: Path) -> Path:
    """The log beside those of set-ups: the folder that it was written in goes."""
    kept = made_folder(LOGS) / f"{KIND}.log"
    try:
        shutil.copyfile(log, kept)
    except OSError as error:
        raise StorageError.on_writing(kept, error) from error
    return kept
