"""Models as frameworks write them: one file for each format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from prumo.errors import InputError
from prumo.files import file_sha256

if TYPE_CHECKING:
    from prumo_serve.choices import Layout
    from prumo_serve.manifest import (
        HeatMap,
        NetworkFile,
        OperatingPoint,
        PreprocessingSettings,
    )


FORMATS = ("keras", "saved_model", "pytorch", "onnx")
"""Of frameworks. The folders of a task have a name of their own, and hold a Keras network."""
CATALOG_FORMAT = "catalog"
"""The description of a network of the catalog, from which a framework builds it."""
_KERAS_ENDINGS = {".keras", ".h5", ".hdf5"}
_PICKLES = {".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib"}
_KNOWN = (
    "Known are: a Keras file (.keras, .h5), a SavedModel folder, a PyTorch export (.pt2), an ONNX "
    "file (.onnx), and the folder of a model that an installed task trains."
)


@dataclass(frozen=True)
class ModelMetadata:
    """What a model says about its own use; None where it does not say."""

    name: str
    created: str = ""
    task: str | None = None
    labels: tuple[str, ...] | None = None
    outputs: int | None = None
    """How many numbers its network gives for each image."""
    normalization: str | None = None
    """A name as `prumo_serve.manifest` knows it."""
    preprocessing: PreprocessingSettings | None = None
    temperature: float = 1.0
    points: tuple[OperatingPoint, ...] = ()
    point: str = ""
    card: str = ""
    """In Markdown."""
    seen: tuple[str, ...] = ()
    """The SHA-256 of each image that it was made from, in their order."""


@dataclass(frozen=True)
class Source:
    """A model to be packaged. Nothing of it has been run, and nothing in it would run by itself."""

    path: Path
    """The file or folder that holds the network."""
    format: str
    """One of `FORMATS`, or what a task calls its own folders."""
    sha256: str
    """Of the file, or of the names and hashes of a folder's files."""
    metadata: ModelMetadata
    versions: dict[str, str] = field(default_factory=dict)
    """Of what wrote it."""


def file_source(
    path: Path,
    kind: str,
    versions: dict[str, str] | None = None,
    outputs: int | None = None,
    normalization: str | None = None,
) -> Source:
    """A model in one file that says no more about its own use than this."""
    metadata = ModelMetadata(path.stem, outputs=outputs, normalization=normalization)
    return Source(path, kind, file_sha256(path), metadata, versions or {})


@dataclass(frozen=True)
class NetworkInterface:
    """How a network is asked, and what its answer is."""

    input_tensor: str
    height: int
    width: int
    layout: Layout
    dtype: Literal["float32", "uint8"]
    output_tensor: str
    kind: Literal["scores", "probabilities"]
    activation: Literal["softmax", "sigmoid"]


@dataclass(frozen=True)
class PackedNetwork:
    """A network's files in a package's folder, and how they are asked."""

    network: NetworkFile
    interface: NetworkInterface
    versions: dict[str, str]
    """Of what read the original and of what wrote this."""
    heat_map: HeatMap | None


def agreed_side(network_pixels: int | None, wanted_pixels: int | None, path: Path) -> int:
    """The side of a network's images, which must be wanted where the network takes any."""
    side = network_pixels or wanted_pixels
    if side is None:
        raise InputError(f"{path} takes images of any size: give --size, such as --size 224")
    if wanted_pixels not in {None, side}:
        raise InputError(f"{path} takes images with sides of {side} pixels, not {wanted_pixels}")
    return side


def recognized(path: Path) -> Source:
    """The model at a path, looked through before anything opens it, as it could run code."""
    if not path.exists():
        raise InputError(f"there is no model {path}")
    if path.is_dir():
        return _of_folder(path)
    if path.suffix in _KERAS_ENDINGS:
        from prumo_serve.source.tensorflow_model import keras_source  # noqa: PLC0415 (one format, one import)

        return keras_source(path)
    if path.suffix == ".pt2":
        from prumo_serve.source import pytorch_export  # noqa: PLC0415 (as above)

        return pytorch_export.source(path)
    if path.suffix == ".onnx":
        from prumo_serve.source import onnx_file  # noqa: PLC0415 (as above)

        return onnx_file.source(path)
    if path.suffix in _PICKLES:
        raise InputError(
            f"{path} is a pickle of PyTorch's or Python's, which runs code when it is opened and "
            "holds no network that runs by itself. Save the model with "
            "torch.export.save(torch.export.export(model, (example,)), 'model.pt2') and give that."
        )
    raise InputError(f"{path} is no model that can be packaged. {_KNOWN}")


def _of_folder(path: Path) -> Source:
    from prumo_serve.source.tensorflow_model import GRAPH_FILE, saved_model_source  # noqa: PLC0415 (as above)
    from prumo_serve.task import installed_tasks  # noqa: PLC0415 (as above)

    if (path / GRAPH_FILE).is_file():
        return saved_model_source(path)
    for task in installed_tasks():
        if (found := task.source(path)) is not None:
            return found
    raise InputError(f"{path} is no model that can be packaged. {_KNOWN}")


def objects_in(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 (any JSON value)
    """All objects, without recursion: depth costs nothing.

    >>> [found["name"] for found in objects_in([{"name": "outer", "in": {"name": "inner"}}])]
    ['outer', 'inner']
    """
    left = [value]
    while left:
        current = left.pop()
        if isinstance(current, dict):
            yield current
            left.extend(current.values())
        elif isinstance(current, list):
            left.extend(current)
