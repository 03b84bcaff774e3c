"""One JPEG or PNG image: checked before it is decoded, brought to the channels of its set."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from PIL import Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from prumo.datasets.source import in_threads
from prumo.errors import DataError
from prumo.images import JPEG_MARK, PNG_MARK, with_8_bits

MOST_PIXELS = 89_478_485
"""A larger image is taken for a mistake or an attack: it would fill the memory when decoded."""
_MODES = {1: "L", 3: "RGB"}
_GREY = {"1", "L", "LA", "I;16", "I;16B"}
_COLOURED = {"P", "RGB", "RGBA", "CMYK"}
_KINDS: dict[bytes, type[ImageFile.ImageFile]] = {
    JPEG_MARK: JpegImageFile,
    PNG_MARK: PngImageFile,
}
"""How each begins. Opened without Image.open, whose warning of large images is an error here."""

_BLOCK_IMAGES = 256


Encoded = tuple[str, Callable[[], bytes]]
"""An image wherever it is: a name for people, and what reads the content."""


@dataclass(frozen=True)
class EncodedPictures:
    """Images of any size and mode, decoded when they are asked for."""

    labels: np.ndarray
    encoded: Callable[[Sequence[int]], Iterable[Encoded]]
    """Finds the images at ascending positions."""
    other_faults: tuple[str, ...] = ()
    """What is wrong beside single images."""

    def channels(self, positions: np.ndarray, wanted: int | None) -> int:
        """Whatever is wanted; else one if every image is grey, and three if a single one is not."""
        if wanted:
            return wanted
        shapes = (picture_shape(read(), name) for name, read in self._encoded(positions))
        return max(channels for channels, _, _ in shapes)

    def blocks(self, positions: np.ndarray, channels: int, size: int) -> Iterator[np.ndarray]:
        """Decoded and resized on all cores, in their order."""

        def pixels(item: Encoded) -> np.ndarray:
            name, read = item
            return decoded(read(), name, channels, size)

        images = in_threads(pixels, self._encoded(positions))
        while block := list(islice(images, _BLOCK_IMAGES)):
            yield np.stack(block)

    def shapes(self) -> Iterator[tuple[int, int, int]]:
        """By the header of every image that has one."""
        for name, read in self._encoded(np.arange(len(self.labels))):
            try:
                yield picture_shape(read(), name)
            except DataError:
                continue

    def faults(self) -> Iterator[str]:
        """Read and decode every image, and say what is wrong with those that cannot be."""

        def fault(item: Encoded) -> str:
            name, read = item
            try:
                decoded(read(), name, channels=3, size=8)
            except DataError as error:
                return str(error)
            return ""

        everything = self._encoded(np.arange(len(self.labels)))
        return chain(self.other_faults, filter(None, in_threads(fault, everything)))

    def _encoded(self, positions: np.ndarray) -> Iterable[Encoded]:
        return self.encoded(positions.tolist())


def picture_shape(content: bytes, name: str) -> tuple[int, int, int]:
    """Channels, height and width by the image's header; nothing is decoded."""
    picture = _opened(content, name)
    return (1 if picture.mode in _GREY else 3), picture.height, picture.width


def decoded(content: bytes, name: str, channels: int, size: int) -> np.ndarray:
    """The image as uint8 in the order (channel, row, column), square.

    Grey becomes colour by repeating it, colour becomes grey by its brightness, and transparency
    is left out.
    """
    picture = _opened(content, name)
    with _errors_of(name):
        # A JPEG may come at a half, a quarter or an eighth, as long as twice the size is left.
        picture.draft(None, (2 * size, 2 * size))
        picture = with_8_bits(picture)
        if picture.mode != _MODES[channels]:
            picture = picture.convert(_MODES[channels])
        pixels = np.asarray(picture.resize((size, size), Image.Resampling.BILINEAR))
    return pixels.reshape(size, size, channels).transpose(2, 0, 1)


def _opened(content: bytes, name: str) -> Image.Image:
    kind = next((kind for start, kind in _KINDS.items() if content.startswith(start)), None)
    if kind is None:
        raise DataError(f"{name}: is neither a JPEG nor a PNG image")
    with _errors_of(name):
        picture = kind(io.BytesIO(content))
    if picture.width * picture.height > MOST_PIXELS:
        most = MOST_PIXELS // 1_000_000
        raise DataError(f"{name}: has more than the {most} million pixels that an image may have")
    if picture.mode not in _GREY | _COLOURED:
        raise DataError(f"{name}: images of the mode {picture.mode} are not understood")
    return picture


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Whatever a broken file makes Pillow raise, as an error that names the file."""
    try:
        yield
    except (OSError, ValueError, SyntaxError, EOFError, struct.error) as error:
        raise DataError(f"{name}: cannot be decoded: {error}") from error
