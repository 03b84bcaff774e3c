"""Images to train on; the data sets that Prumo knows by name, without numpy."""

from __future__ import annotations

from dataclasses import dataclass

GENERATED = "generated"
"""The data set, and the source, of images that were never photographed."""

IMAGES_FILE = "images.npy"
LABELS_FILE = "labels.npy"
CARD_FILE = "card.json"
"""Written last: a folder without it is not prepared."""


@dataclass(frozen=True)
class Card:
    """What is known of a data set's training part."""

    channels: int
    image_size: int
    images: int
    classes: int


CATALOG = {
    "mnist": Card(channels=1, image_size=28, images=60_000, classes=10),
    "fashion_mnist": Card(channels=1, image_size=28, images=60_000, classes=10),
    "cifar10": Card(channels=3, image_size=32, images=50_000, classes=10),
    "imagenet": Card(channels=3, image_size=224, images=1_281_167, classes=1000),
    GENERATED: Card(channels=3, image_size=32, images=1024, classes=10),
}
