"""The operations that networks are made of: shapes, arrays and work, without any framework."""

from __future__ import annotations

from prumo_worker.networks.layer.convolution import Convolution, Padding
from prumo_worker.networks.layer.dense import Dense, Flatten
from prumo_worker.networks.layer.elementwise import ClippedRectifier, Dropout, Rectifier, Tanh
from prumo_worker.networks.layer.junction import Add, Concatenate
from prumo_worker.networks.layer.normalization import (
    BatchNormalization,
    LocalResponseNormalization,
)
from prumo_worker.networks.layer.operation import (
    Extent,
    NetworkError,
    Operation,
    Shape,
    describe,
    pair,
)
from prumo_worker.networks.layer.pooling import AveragePooling, GlobalAveragePooling, MaxPooling

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
