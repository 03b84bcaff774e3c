"""Where branches of a network meet."""

from __future__ import annotations

from dataclasses import dataclass

from prumo_worker.networks.layer.operation import NetworkError, Operation, Shape, describe, image


@dataclass(frozen=True)
class Add(Operation):
    """The sum of several values of one shape."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """The shape that all have."""
        _several(inputs)
        if len(set(inputs)) > 1:
            raise NetworkError("can only add what has one shape")
        return inputs[0]


@dataclass(frozen=True)
class Concatenate(Operation):
    """The channels of several images, one image's after the other's."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """As many channels as all have together."""
        _several(inputs)
        images = [image((shape,)) for shape in inputs]
        sizes = {(height, width) for _, height, width in images}
        if len(sizes) > 1:
            found = ", ".join(map(describe, sorted(sizes)))
            raise NetworkError(f"can only join images of one size, not of {found}")
        return (sum(channels for channels, _, _ in images), *sizes.pop())


def _several(inputs: tuple[Shape, ...]) -> None:
    if len(inputs) < 2:  # noqa: PLR2004 (one is nothing to join)
        raise NetworkError("needs two inputs or more")
