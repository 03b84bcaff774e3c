"""What a package is, in rows for people and as a document for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.quantity import Quantity
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_serve.manifest import Input, Manifest, Output
    from prumo_serve.package import Package

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
    yield "labels", _labels(manifest)
    yield "input", _input(manifest.input)
    yield (
        "preprocessing",
        _preprocessing(task.preprocessing_summary(manifest.input), manifest.input),
    )
    yield "output", _output(manifest.output)
    for point in manifest.points:
        decides = " (decides)" if point.name == manifest.point else ""
        rule = f": {point.rule}" if point.rule else ""
        yield (
            f"point {point.name}",
            f"{task.point_verb} from {point.threshold:.4g} on{decides}{rule}".lstrip(),
        )
    yield "network", _network(package)
    yield "heat map", manifest.heat_map.network.file if manifest.heat_map else "none"
    origin = manifest.origin
    yield "made of", f"{origin.name} ({origin.format}), SHA-256 {origin.sha256}"
    yield "versions", ", ".join(f"{name} {told}" for name, told in manifest.versions.items())
    yield "card", manifest.card or "none"


def package_document(package: Package) -> dict[str, Any]:
    """The manifest with the sizes of its files."""
    sizes = {name: (package.folder / name).stat().st_size for name in package.manifest.files}
    return {
        **package.manifest.model_dump(mode="json"),
        "size_bytes": sizes,
        "card_text": package.card,
    }


def _labels(manifest: Manifest) -> str:
    shown = ", ".join(manifest.labels[:_SHOWN_LABELS])
    more = len(manifest.labels) - _SHOWN_LABELS
    return f"{shown}, … {more} more" if more > 0 else shown


def _input(wanted: Input) -> str:
    return f"{wanted.width} x {wanted.height} pixels, {wanted.dtype}, {wanted.layout}"


def _preprocessing(first: str, wanted: Input) -> str:
    normalization = wanted.normalization
    if normalization is None:
        return f"{first}; pixels from 0 to 255"
    offset = ", ".join(f"{value:g}" for value in normalization.offset)
    scale = ", ".join(f"{value:g}" for value in normalization.scale)
    return f"{first}; (pixel - [{offset}]) / [{scale}], {normalization.channels.upper()}"


def _output(given: Output) -> str:
    if given.kind == "probabilities":
        return f"probabilities, by {given.activation} inside of the network"
    return f"scores, then {given.activation} at temperature {given.temperature:.4g}"


def _network(package: Package) -> str:
    network = package.manifest.network
    names = [
        name
        for name in package.manifest.files
        if name == network.file or name.startswith((f"{network.file}/", "network."))
    ]
    size = sum((package.folder / name).stat().st_size for name in names)
    return f"{network.file}, {Quantity(size, 'B')}, {network.precision}, for {network.runtime}"
