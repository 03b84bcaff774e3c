"""VGG19 that grades diabetic retinopathy, with two dense layers of 128 for a head.

After a published study of deployed models: 20,107,205 parameters with its 5 grades.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import GlobalAveragePooling
from prumo_worker.networks.network import Layer
from prumo_worker.networks.retinopathy import retinopathy_head
from prumo_worker.networks.vgg import vgg_convolutions
from prumo_worker.networks.vgg19 import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Iterator


def layers(classes: int) -> Iterator[Layer]:
    """VGG19 without its own top, the mean of each channel, then the head."""
    yield from vgg_convolutions(BLOCKS)
    yield Layer("pool", GlobalAveragePooling())
    yield from retinopathy_head(classes)
