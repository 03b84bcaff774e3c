"""A network in another format, and how it compares with the one that it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from prumo.model.manifest import HeatMap, Layout, NetworkFile

SHOWS_LITTLE = "the original answers all images alike, so this shows little"


@dataclass(frozen=True)
class Agreement:
    """How far the answers of two networks to the same images are apart."""

    images: int
    kind: Literal["scores", "probabilities"]
    """What is compared."""
    largest_difference: float
    """Between two numbers that should be the same."""
    allowed_difference: float | None
    """None for eight bits, of which labels decide."""
    same_labels: int
    """For how many images the highest number is that of the same class."""
    is_telling: bool = True
    """Whether the original answers them differently: a network that never looks would agree."""

    def __str__(self) -> str:
        told = (
            f"the same label for {self.same_labels} of {self.images} images, {self.kind} that "
            f"differ by {self.largest_difference:.2g} at most"
        )
        return told if self.is_telling else f"{told} ({SHOWS_LITTLE})"


@dataclass(frozen=True)
class ConvertedNetwork:
    """A network's files in a folder, and how they are asked."""

    network: NetworkFile
    heat_map: HeatMap | None
    input_tensor: str
    height: int
    width: int
    layout: Layout
    dtype: Literal["float32", "uint8"]
    output_tensor: str
    kind: Literal["scores", "probabilities"]
    activation: Literal["softmax", "sigmoid"]
    versions: dict[str, str]
    """Of what read the original and of what wrote this."""
    agreement: Agreement
    """With the original."""
