"""What a network is trained as: its name, the images it takes and the classes it tells apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prumo.study.scenario import Level, Scenario


@dataclass(frozen=True)
class Architecture:
    """One network for one shape of images and one number of classes."""

    network: str
    image_size: int
    channels: int
    classes: int

    @property
    def title(self) -> str:
        """In words for a person: `rede1 on 3x32x32, 10 classes`."""
        size = self.image_size
        return f"{self.network} on {self.channels}x{size}x{size}, {self.classes} classes"


def architectures(
    scenarios: Iterable[Scenario], shape_of: Callable[[Mapping[str, Level]], tuple[int, int]]
) -> dict[Architecture, tuple[str, ...]]:
    """Every architecture of these trainings, with the frameworks that train it, in their order.

    `shape_of` tells from a scenario's parameters the channels and the classes of its data.
    """
    found: dict[Architecture, dict[str, None]] = {}
    for scenario in scenarios:
        parameters = scenario.parameters
        channels, classes = shape_of(parameters)
        architecture = Architecture(
            network=str(parameters["network"]),
            image_size=int(parameters["image_size"]),
            channels=channels,
            classes=classes,
        )
        found.setdefault(architecture, {})[str(parameters["framework"])] = None
    return {architecture: tuple(frameworks) for architecture, frameworks in found.items()}
