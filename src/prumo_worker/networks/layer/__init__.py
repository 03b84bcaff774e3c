"""The operations that networks are made of: shapes, arrays and work, without any framework."""

from __future__ import annotations

from prumo_worker.networks.layer.operation import (
    Extent,
    NetworkError,
    Operation,
    Shape,
    describe,
    pair,
)
from prumo_worker.networks.layer.values import (
    Add,
    BatchNormalization,
    ClippedRectifier,
    Concatenate,
    Dense,
    Dropout,
    Flatten,
    LocalResponseNormalization,
    Rectifier,
    Tanh,
)
from prumo_worker.networks.layer.windows import (
    AveragePooling,
    Convolution,
    GlobalAveragePooling,
    MaxPooling,
    Padding,
)

__all__ = [
    "OPERATIONS",
    "Add",
    "AveragePooling",
    "BatchNormalization",
    "ClippedRectifier",
    "Concatenate",
    "Convolution",
    "Dense",
    "Dropout",
    "Extent",
    "Flatten",
    "GlobalAveragePooling",
    "LocalResponseNormalization",
    "MaxPooling",
    "NetworkError",
    "Operation",
    "Padding",
    "Rectifier",
    "Shape",
    "Tanh",
    "describe",
    "pair",
]

OPERATIONS: tuple[type[Operation], ...] = (
    Convolution,
    Padding,
    MaxPooling,
    AveragePooling,
    GlobalAveragePooling,
    Flatten,
    Dense,
    Rectifier,
    ClippedRectifier,
    Tanh,
    Dropout,
    LocalResponseNormalization,
    BatchNormalization,
    Add,
    Concatenate,
)
"""Every operation; a framework maps each of them or refuses it."""
