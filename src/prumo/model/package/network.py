"""The network of a package: copied where it is ONNX already, else converted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from prumo.errors import InputError
from prumo.model.manifest import NetworkFile
from prumo.model.source.onnx_facts import facts
from prumo.model.source.onnx_file import checked_model, write_one_file

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.model.manifest import HeatMap, Layout
    from prumo.model.package.terms import Wish
    from prumo.model.source import Source
    from prumo.progress import Progress

ONNX_FILE = "network.onnx"


@dataclass(frozen=True)
class PackedNetwork:
    """A network's files in a package's folder, and how they are asked."""

    file: NetworkFile
    input_tensor: str
    height: int
    width: int
    layout: Layout
    dtype: Literal["float32", "uint8"]
    output_tensor: str
    kind: Literal["scores", "probabilities"]
    activation: Literal["softmax", "sigmoid"]
    versions: dict[str, str]
    heat_map: HeatMap | None = None


def packed_network(source: Source, wish: Wish, folder: Path, progress: Progress) -> PackedNetwork:
    """Put the network of a source into a folder, in the format of the wished runtime."""
    if source.format == "onnx" and wish.runtime == "onnxruntime":
        return _copied(source, wish, folder)
    return _converted(source, wish, folder, progress)


def _copied(source: Source, wish: Wish, folder: Path) -> PackedNetwork:
    model = checked_model(source.path)
    told = facts(model, source.path, wish.layout)
    write_one_file(source.path, folder / ONNX_FILE)
    return PackedNetwork(
        file=NetworkFile(file=ONNX_FILE, runtime="onnxruntime", precision=told.precision),
        input_tensor=told.input_tensor,
        height=_side(told.height, wish, source.path),
        width=_side(told.width, wish, source.path),
        layout=told.layout,
        dtype=told.dtype,
        output_tensor=told.output_tensor,
        kind=told.kind,
        activation=told.activation,
        versions=told.versions,
    )


def _converted(source: Source, wish: Wish, folder: Path, progress: Progress) -> PackedNetwork:
    from prumo.model.conversion import converted  # noqa: PLC0415 (ONNX files need none of it)

    made = converted(
        source.path,
        source.format,
        wish.runtime,
        folder,
        progress,
        size_pixels=wish.size_pixels,
        layout=wish.layout,
    )
    return PackedNetwork(
        file=made.network,
        input_tensor=made.input_tensor,
        height=_side(made.height, wish, source.path),
        width=_side(made.width, wish, source.path),
        layout=made.layout,
        dtype=made.dtype,
        output_tensor=made.output_tensor,
        kind=made.kind,
        activation=made.activation,
        versions=made.versions,
        heat_map=made.heat_map,
    )


def _side(told_pixels: int | None, wish: Wish, path: Path) -> int:
    if told_pixels is None and wish.size_pixels is None:
        raise InputError(f"{path} takes images of any size: give --size, such as --size 224")
    if told_pixels is not None and wish.size_pixels not in {None, told_pixels}:
        raise InputError(
            f"{path} takes images with sides of {told_pixels} pixels, not {wish.size_pixels}"
        )
    return told_pixels or wish.size_pixels or 0
