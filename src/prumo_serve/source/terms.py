"""What a network expects of its pixels, by the names that people use."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from prumo.errors import InputError
from prumo_serve.manifest import Normalization


def given_labels(text: str) -> tuple[str, ...]:
    """Names with commas between, or those in the lines of a file.

    >>> given_labels("cat, dog")
    ('cat', 'dog')
    """
    path = Path(text)
    try:
        is_file = bool(text) and path.is_file()
        parts = path.read_text("utf-8").splitlines() if is_file else text.split(",")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{text[:80]}: labels cannot be read: {error}") from error
    labels = tuple(part.strip() for part in parts if part.strip())
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"two classes have the same label: {', '.join(twice)}")
    return labels


INSIDE = "inside"

NORMALIZATIONS: MappingProxyType[str, Normalization | None] = MappingProxyType(
    {
        INSIDE: None,
        "0..255": None,
        "0..1": Normalization(scale=(255.0, 255.0, 255.0)),
        "-1..1": Normalization(offset=(127.5, 127.5, 127.5), scale=(127.5, 127.5, 127.5)),
        # Mean and standard deviation of ImageNet's channels, as torchvision documents them.
        "imagenet": Normalization(
            offset=(0.485 * 255, 0.456 * 255, 0.406 * 255),
            scale=(0.229 * 255, 0.224 * 255, 0.225 * 255),
        ),
        # ImageNet's mean, blue first: Caffe's model zoo, and Keras for VGG and ResNet.
        "caffe": Normalization(offset=(103.939, 116.779, 123.68), channels="bgr"),
    }
)
