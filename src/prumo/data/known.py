"""The data sets that Prumo knows by name, and where those that can be fetched come from."""

from __future__ import annotations

from dataclasses import dataclass

from prumo.data.fetch import offers
from prumo_worker.data.catalog import CATALOG


@dataclass(frozen=True)
class Known:
    """What is known of a data set's training part."""

    name: str
    images: int
    channels: int
    image_size: int
    classes: int
    home: str | None
    """Its home page; none if it cannot be fetched."""


def known_sets() -> list[Known]:
    """Every data set that a study can name without bringing it."""
    homes = {name: offer.home for name, offer in offers().items()}
    return [
        Known(name, card.images, card.channels, card.image_size, card.classes, homes.get(name))
        for name, card in CATALOG.items()
    ]
