"""What a packaged model is, and whether it is whole, safe, and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import InputError, PrumoError, UnavailableError
from prumo.quantity import Quantity
from prumo_serve.classification import probabilities_of
from prumo_serve.preprocessing import TensorForm
from prumo_serve.runtimes import Resources, load_network
from prumo_serve.source.onnx_file import checked_model, format_versions
from prumo_serve.task import preprocessing, task_named

if TYPE_CHECKING:
    from prumo_serve.choices import Precision
    from prumo_serve.manifest import Input, Output
    from prumo_serve.package import Package
    from prumo_serve.runtimes import LoadedNetwork


_ASKED_IMAGES = 2
_TOLERANCES: dict[Precision, float] = {
    "fp32": 1e-3,
    "fp16": 1e-2,
    "bf16": 5e-2,
    "int8": 1e-2,
    # It finds its scale anew for every batch, so that an image's neighbours have a say.
    "int8-dynamic": 0.2,
}
"""Ours, of probabilities: how much an image's answer may change beside another image."""
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    subject: str
    passed: bool
    told: str


def examined(package: Package) -> tuple[Finding, ...]:
    """Everything that was checked of an opened package, up to where it cannot go on.

    Raises:
        UnavailableError: A check needs what is not installed here, which is no fault of the model.
    """
    manifest = package.manifest
    files = f"{len(manifest.files)} files as packed, version {manifest.version}"
    findings = [Finding("files", passed=True, told=files)]
    for subject, check in _checks(package):
        try:
            findings.append(Finding(subject, passed=True, told=check()))
        except UnavailableError:
            raise
        except PrumoError as error:
            findings.append(Finding(subject, passed=False, told=str(error)))
            break
    return tuple(findings)


def require_working(package: Package) -> None:
    """Refuse a package that fails an examination."""
    for finding in examined(package):
        if not finding.passed:
            raise InputError(f"{package.manifest.name}: {finding.subject}: {finding.told}")


def _checks(package: Package) -> Iterator[tuple[str, Callable[[], str]]]:
    manifest = package.manifest
    if manifest.network.runtime == "onnxruntime":
        yield "operators", lambda: _operators(package.network_path)
    yield "preprocessing", lambda: _preprocessing(package)
    with ExitStack() as held:
        loaded: list[LoadedNetwork] = []

        def load() -> str:
            began, runtime = perf_counter(), manifest.network.runtime
            network = load_network(package.network_path, runtime, Resources())
            loaded.append(held.enter_context(closing(network)))
            return f"{runtime} loaded it in {perf_counter() - began:.2f} s"

        yield "network", load
        # A check that fails is the last one.
        (network,) = loaded
        yield "answers", lambda: _answers(package, network)
        yield "batches", lambda: _batches(package, network)
        if manifest.heat_map is not None:
            yield "heat map", lambda: _heat_map(package, network)
    yield "card", lambda: manifest.card or "there is none"


def _operators(path: Path) -> str:
    versions = format_versions(checked_model(path))
    return f"ONNX's own, opset {versions['onnx_opset']}, IR version {versions['onnx_ir']}"


def _preprocessing(package: Package) -> str:
    wanted = package.manifest.input
    made = preprocessing(package.manifest)
    rows, columns = wanted.height, wanted.width
    drawn = np.random.default_rng(0).integers(0, 256, (2 * rows, 2 * columns, 3), np.uint8)
    prepared = made.prepared(drawn)
    if prepared.pixels is None:
        # Noise is no photograph, and the model would say so.
        return f"{wanted.preprocessing.kind}: noise is told from a photograph"
    if prepared.pixels.shape != wanted.shape:
        raise InputError(f"it gives {prepared.pixels.shape}, the network takes {wanted.shape}")
    return f"{wanted.preprocessing.kind}: to {columns} x {rows} pixels"


def _answers(package: Package, network: LoadedNetwork) -> str:
    manifest = package.manifest
    taken, given = ", ".join(network.input_names), ", ".join(network.output_names)
    if manifest.input.tensor not in network.input_names:
        raise InputError(f"the manifest asks by {manifest.input.tensor}, the network takes {taken}")
    if manifest.output.tensor not in network.output_names:
        raise InputError(f"the manifest wants {manifest.output.tensor}, the network gives {given}")
    batch = drawn_batch(manifest.input, 1)
    rows = network.run(batch, [manifest.output.tensor])[manifest.output.tensor]
    probabilities_of(rows[0], manifest.output, len(manifest.labels))
    return f"one probability for each of {len(manifest.labels)} labels"


def _batches(package: Package, network: LoadedNetwork) -> str:
    output = package.manifest.output
    labels = len(package.manifest.labels)
    batch = drawn_batch(package.manifest.input, _ASKED_IMAGES)
    together = network.run(batch, [output.tensor])[output.tensor]
    if len(together) != _ASKED_IMAGES:
        raise InputError(f"the network gave {len(together)} answers to {_ASKED_IMAGES} images")
    largest = 0.0
    for image, row in zip(batch, together, strict=True):
        alone = network.run(image[np.newaxis], [output.tensor])[output.tensor]
        pair = np.array([probabilities_of(one, output, labels) for one in (alone[0], row)])
        largest = max(largest, float(np.abs(pair[0] - pair[1]).max()))
    if largest > _TOLERANCES[package.manifest.network.precision]:
        raise InputError(
            f"an image is answered otherwise beside another one than alone: probabilities differ "
            f"by {largest:.3g}"
        )
    return f"{_ASKED_IMAGES} images are answered as each alone, to {largest:.1g}"


def _heat_map(package: Package, network: LoadedNetwork) -> str:
    heat_map, path = package.manifest.heat_map, package.heat_map_path
    if heat_map is None or path is None:
        raise InputError("there is none")
    if heat_map.features not in network.output_names:
        raise InputError(f"the network does not give {heat_map.features}, of which it is made")
    batch = drawn_batch(package.manifest.input, 1)
    features = network.run(batch, [heat_map.features])[heat_map.features]
    with closing(load_network(path, heat_map.network.runtime, Resources())) as maker:
        (name,) = maker.output_names
        maps = maker.run(features, [name])[name]
    if maps.ndim != 3 or len(maps) != 1:  # noqa: PLR2004 (batch, rows, columns)
        raise InputError(f"a map of rows and columns was expected, it has the shape {maps.shape}")
    if not (np.isfinite(maps).all() and maps.min() >= 0 and maps.max() <= 1 + _ROUNDING):
        raise InputError("its values are not from 0 to 1")
    return f"{maps.shape[1]} x {maps.shape[2]} places, from 0 to 1"


def drawn_batch(wanted: Input, images: int) -> np.ndarray:
    """Noise in the form that a network takes; always the same."""
    form = TensorForm(wanted)
    generator = np.random.default_rng(0)
    size = (images, wanted.height, wanted.width, 3)
    return np.stack([form.of(image) for image in generator.integers(0, 256, size, np.uint8)])


_SHOWN_LABELS = 8


def shown_rows(package: Package) -> Iterator[tuple[str, str]]:
    """A name and what there is to say under it."""
    manifest = package.manifest
    yield "name", manifest.name
    yield "version", manifest.version
    if manifest.created:
        yield "trained", manifest.created
    task = task_named(manifest.task)
    yield "answers", task.summary
    more = len(manifest.labels) - _SHOWN_LABELS
    shown = ", ".join(manifest.labels[:_SHOWN_LABELS])
    yield "labels", f"{shown}, … {more} more" if more > 0 else shown
    wanted = manifest.input
    yield "input", f"{wanted.width} x {wanted.height} pixels, {wanted.dtype}, {wanted.layout}"
    yield "preprocessing", f"{task.preprocessing_summary(wanted)}; {_normalization(wanted)}"
    yield "output", _output(manifest.output)
    for point in manifest.points:
        decides = " (decides)" if point.name == manifest.point else ""
        rule = f": {point.rule}" if point.rule else ""
        yield (
            f"point {point.name}",
            f"{task.point_verb} from {point.threshold:.4g} on{decides}{rule}".lstrip(),
        )
    network, size = manifest.network, Quantity(package.network_bytes, "B")
    yield "network", f"{network.file}, {size}, {network.precision}, for {network.runtime}"
    yield "heat map", manifest.heat_map.network.file if manifest.heat_map else "none"
    origin = manifest.origin
    yield "made of", f"{origin.name} ({origin.format}), SHA-256 {origin.sha256}"
    yield "versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    yield "card", manifest.card or "none"


def package_document(package: Package) -> dict[str, Any]:
    """The manifest with the sizes of its files."""
    sizes = {name: (package.folder / name).stat().st_size for name in package.manifest.files}
    return {
        **package.manifest.model_dump(mode="json"),
        "size_bytes": sizes,
        "card_text": package.card,
    }


def _normalization(wanted: Input) -> str:
    normalization = wanted.normalization
    if normalization is None:
        return "pixels from 0 to 255"
    offset = ", ".join(f"{value:g}" for value in normalization.offset)
    scale = ", ".join(f"{value:g}" for value in normalization.scale)
    return f"(pixel - [{offset}]) / [{scale}], {normalization.channels.upper()}"


def _output(given: Output) -> str:
    if given.kind == "probabilities":
        return f"probabilities, by {given.activation} inside of the network"
    return f"scores, then {given.activation} at temperature {given.temperature:.4g}"
