"""A saved image: its layers, what they weigh, and the files that a container sees."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

from prumo.errors import InputError

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_endpoint.image.engine import Engine

_CHUNK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_INSTRUCTION = re.compile(r"^/bin/sh -c #\(nop\)\s+")


@dataclass(frozen=True)
class Layer:
    """One layer of an image."""

    created_by: str
    disk_bytes: int
    """Of the files in it."""
    compressed_bytes: int
    """As registries store it: a tar archive with gzip."""


@dataclass(frozen=True)
class ImageSize:
    """What an image weighs, from its base upwards."""

    image: str
    layers: tuple[Layer, ...]

    @property
    def disk_bytes(self) -> int:
        """Of all layers."""
        return sum(layer.disk_bytes for layer in self.layers)

    @property
    def compressed_bytes(self) -> int:
        """Of all layers: what is pushed and pulled."""
        return sum(layer.compressed_bytes for layer in self.layers)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "image": self.image,
            "compressed_bytes": self.compressed_bytes,
            "disk_bytes": self.disk_bytes,
            "layers": [vars(layer) for layer in self.layers],
        }


class SavedImage:
    """An image as an archive in Docker's format."""

    def __init__(self, archive: tarfile.TarFile, name: str) -> None:
        self._archive = archive
        self._name = name
        try:
            (self._manifest,) = self._json("manifest.json")
            self._config: Mapping[str, Any] = self._json(self._manifest["Config"])
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(f"{name} is not one saved image: {error}") from error

    def size(self, progress: Progress) -> ImageSize:
        """Compress every layer, to know what it weighs in a registry."""
        steps = [step for step in self._config.get("history", []) if not step.get("empty_layer")]
        layers = []
        for number, layer in enumerate(self._manifest["Layers"], 1):
            progress.show(
                f"compressing {self._name}", f"layer {number} of {len(self._manifest['Layers'])}"
            )
            step = steps[number - 1] if number <= len(steps) else {}
            how = _INSTRUCTION.sub("", step.get("created_by") or step.get("comment") or "")
            with self._opened(layer) as file, tarfile.open(fileobj=file) as members:
                disk = sum(member.size for member in members if member.isreg())
            layers.append(Layer(how, disk, self._compressed_bytes(layer)))
        return ImageSize(self._name, tuple(layers))

    def names(self) -> set[str]:
        """The files that a container sees, without a slash before them."""
        found: set[str] = set()
        for layer in self._manifest["Layers"]:
            with self._opened(layer) as file, tarfile.open(fileobj=file) as members:
                for member in members:
                    _apply(found, member)
        return found

    def contents(self, wanted: re.Pattern[str]) -> dict[str, bytes]:
        """The files that a container sees whose names match; the highest layer wins."""
        seen = self.names()
        found = {}
        for layer in self._manifest["Layers"]:
            with self._opened(layer) as file, tarfile.open(fileobj=file) as members:
                for member in members:
                    name = inside_name(member.name)
                    if member.isreg() and name in seen and wanted.fullmatch(name):
                        content = members.extractfile(member)
                        assert content is not None  # noqa: S101 (a regular file)
                        found[name] = content.read()
        return found

    def _json(self, name: str) -> Any:  # noqa: ANN401 (JSON)
        file = self._archive.extractfile(name)
        if file is None:
            raise KeyError(name)
        with file:
            return json.load(file)

    @contextmanager
    def _opened(self, layer: str) -> Iterator[IO[bytes]]:
        """The tar archive of a layer, whether it is compressed or not."""
        with self._raw(layer) as raw:
            is_compressed = raw.read(len(_GZIP)) == _GZIP
            raw.seek(0)
            if not is_compressed:
                yield raw
                return
            with gzip.open(raw) as unpacked:
                yield cast("IO[bytes]", unpacked)

    def _raw(self, layer: str) -> IO[bytes]:
        file = self._archive.extractfile(layer)
        if file is None:
            raise InputError(f"{self._name} lacks its layer {layer}")
        return file

    def _compressed_bytes(self, layer: str) -> int:
        compressor = zlib.compressobj(wbits=_GZIP_WINDOW)
        total = 0
        with self._opened(layer) as file:
            while chunk := file.read(_CHUNK_BYTES):
                total += len(compressor.compress(chunk))
        return total + len(compressor.flush())


@contextmanager
def saved_image(engine: Engine, image: str, progress: Progress) -> Iterator[SavedImage]:
    """An image of the engine, saved for the time of the block."""
    if engine.facts(image) is None:
        raise InputError(f"{engine.program} has no image '{image}' here; build or pull it first")
    with tempfile.TemporaryDirectory(prefix="prumo-image-") as folder:
        progress.show(f"saving {image}")
        archive = Path(folder) / "image.tar"
        engine.save(image, archive)
        with tarfile.open(archive) as opened:
            yield SavedImage(opened, image)


def inside_name(name: str) -> str:
    """A member of an archive as a file of an image, without a slash before it."""
    return str(PurePosixPath("/", name)).lstrip("/")


def _apply(found: set[str], member: tarfile.TarInfo) -> None:
    """Add a member of a layer to what lower layers show, or take away what it hides."""
    path = PurePosixPath(inside_name(member.name))
    if not path.name.startswith(_WHITEOUT):
        if not member.isdir():
            found.add(str(path))
        return
    hidden = path.parent if path.name == _OPAQUE else path.with_name(path.name[len(_WHITEOUT) :])
    below = f"{hidden}/"
    found.difference_update(
        [name for name in found if name == str(hidden) or name.startswith(below)]
    )
