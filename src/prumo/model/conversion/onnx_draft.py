"""A network that is ONNX already, with the answers that whatever is made of it has to give."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.model.conversion.draft import (
    HEAT_MAP_FILE,
    HEAT_MAP_TENSOR,
    NETWORK_FILES,
    Draft,
    NetworkFacts,
    answers_of,
)
from prumo.model.source.onnx_facts import facts
from prumo.model.source.onnx_file import checked_model, write_one_file
from prumo_worker.conversion.drawn_images import ANY_PIXELS, RAW_PIXELS, drawn_images

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from prumo.model.conversion.in_framework import FrameworkJob
    from prumo.model.manifest import Layout
    from prumo.model.package import Package

_ONNX_FILE = NETWORK_FILES["onnxruntime"]


def draft_of_file(job: FrameworkJob, layout: Layout | None, folder: Path) -> Draft:
    """Of an ONNX file from anywhere, written as one file that takes any batch."""
    model = checked_model(job.source)
    told = facts(model, job.source, layout)
    height, width = told.height or job.size_pixels, told.width or job.size_pixels
    if height is None or width is None:
        raise InputError(f"{job.source} takes images of any size: give --size, such as --size 224")
    write_one_file(job.source, folder / _ONNX_FILE)
    found = NetworkFacts(
        told.input_tensor,
        height,
        width,
        told.layout,
        told.dtype,
        told.output_tensor,
        told.kind,
        told.activation,
    )
    images = _images(found, job.images, is_retina=False)
    return Draft(folder, found, images, _reference(folder, found, images), told.versions)


def draft_of_package(package: Package, folder: Path, given: np.ndarray | None = None) -> Draft:
    """Of a package that ONNX Runtime computes, with its heat map."""
    manifest = package.manifest
    found = NetworkFacts(
        manifest.input.tensor,
        manifest.input.height,
        manifest.input.width,
        manifest.input.layout,
        manifest.input.dtype,
        manifest.output.tensor,
        manifest.output.kind,
        manifest.output.activation,
        features_tensor=manifest.heat_map.features if manifest.heat_map else "",
    )
    shutil.copyfile(package.network_path, folder / _ONNX_FILE)
    if package.heat_map_path:
        shutil.copyfile(package.heat_map_path, folder / HEAT_MAP_FILE)
    images = _images(found, given, is_retina=manifest.origin.format == "retina")
    reference = _reference(folder, found, images)
    return Draft(folder, found, images, reference, dict(manifest.versions))


def _images(facts: NetworkFacts, given: np.ndarray | None, *, is_retina: bool) -> np.ndarray:
    if given is not None:
        return given
    ranges = RAW_PIXELS if is_retina or facts.dtype == "uint8" else ANY_PIXELS
    return drawn_images(facts.height, facts.width, facts.layout, facts.dtype, ranges)


def _reference(folder: Path, facts: NetworkFacts, images: np.ndarray) -> dict[str, np.ndarray]:
    answers = answers_of(folder / _ONNX_FILE, "onnxruntime", images, facts.outputs)
    reference = {facts.output_tensor: answers[facts.output_tensor]}
    if facts.features_tensor:
        reference |= answers_of(
            folder / HEAT_MAP_FILE, "onnxruntime", answers[facts.features_tensor], [HEAT_MAP_TENSOR]
        )
    return reference
