"""What a network sees of an image: one file for each kind of preprocessing, behind one interface.

An image is a JPEG or PNG, or an array of pixels from 0 to 255, (height, width, RGB). All of it may
be called from several threads at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

    from prumo_retina.fundus.quality import Quality
    from prumo_serve.manifest import Manifest

MOST_PIXELS = 50_000_000
"""Of one image where nobody chose another limit: 150 MB once decoded, more than cameras give."""


@dataclass(frozen=True)
class PreparedImage:
    """An image ready for a network, or the reason why none should be asked."""

    pixels: np.ndarray | None
    """In the network's layout and type without the batch's axis; None where it may not judge."""
    picture: np.ndarray | None
    """The same as RGB bytes, (row, column, channel), for people to look at."""
    width: int
    """Of the whole image in pixels, as is the height."""
    height: int
    quality: Quality | None = None
    """Only a fundus has one."""
    decode_seconds: float = 0.0
    preprocess_seconds: float = 0.0


class Preprocessing(Protocol):
    """Makes images ready for one network."""

    def prepared(self, image: bytes | np.ndarray) -> PreparedImage:
        """The very pixels that the network was trained on.

        Raises:
            BadImageError: The image cannot be read.
            TooManyPixelsError: Its header promises more pixels than are decoded.
        """


def preprocessing(manifest: Manifest, most_pixels: int = MOST_PIXELS) -> Preprocessing:
    """The preprocessing that a model was trained with; what it needs is imported only now."""
    module = import_module(f"prumo_serve.preprocessing.{manifest.input.preprocessing.kind}")
    made: Preprocessing = module.made(manifest.input, most_pixels)
    return made
