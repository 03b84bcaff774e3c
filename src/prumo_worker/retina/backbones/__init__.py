"""The part of a network that sees: from normalized pixels to a map of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo_worker.failure import TaskError
from prumo_worker.retina.backbones.names import FACTS, NAMES, BackboneFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import keras
    import numpy as np

    from prumo_worker.retina.backbones.names import Normalization

__all__ = ["FACTS", "NAMES", "Backbone", "BackboneFacts", "build_backbone"]


@dataclass(frozen=True)
class Backbone:
    """A network without its classifier."""

    network: keras.Model
    """Normalized pixels → (rows, columns, channels) of its last convolution."""
    normalization: Normalization
    """What must be done to pixels before this network sees them."""
    weights: str
    """What was loaded, in words: `scratch`, `library`, or the arrays and what was left over."""
    native_size: int


def build_backbone(
    name: str,
    image_size: int,
    arrays: Mapping[str, np.ndarray] | None,
    *,
    library_weights: bool = False,
) -> Backbone:
    """A backbone for photographs of a size, with weights from arrays, from Keras, or none."""
    _check(name, image_size)
    # Keras takes seconds to import, and the controller reads only names from this package.
    from prumo_worker.retina.backbones import assembly  # noqa: PLC0415

    return assembly.assembled(name, image_size, arrays, library_weights=library_weights)


def _check(name: str, image_size: int) -> None:
    if name not in FACTS:
        raise TaskError(f"no backbone is named {name!r}; known: {', '.join(NAMES)}")
    smallest = FACTS[name].smallest_size
    if image_size < smallest:
        raise TaskError(
            f"{name} needs photographs of at least {smallest} by {smallest} pixels, not "
            f"{image_size}"
        )
