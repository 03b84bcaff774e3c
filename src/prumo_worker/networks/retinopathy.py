"""The head of the networks that grade diabetic retinopathy in a published study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import Dense, Rectifier
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator


def retinopathy_head(classes: int) -> Iterator[Layer]:
    """Two dense layers of 128 before the scores; the study has five grades."""
    for position in (1, 2):
        yield Layer(f"dense{position}", Dense(128))
        yield Layer(f"dense_relu{position}", Rectifier())
    yield Layer("scores", Dense(classes))
