"""The layers that networks are made of: their shapes, weights and work, without any framework."""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, ...]
"""`(channels, height, width)` of an image or `(features,)` of a vector, without the batch."""


class NetworkError(ValueError):
    """A network that does not exist or does not fit its image."""


@dataclass(frozen=True)
class Operation:
    """What a layer computes; as it stands, element by element and without weights."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """The shape that comes out, or a NetworkError when the inputs do not fit."""
        (shape,) = inputs
        return shape

    def weight_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """The trained arrays by name: `weight` and `bias` in the layout of `weights.py`."""
        del inputs
        return {}

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """Multiplications with a following addition, forward, for one image."""
        del inputs
        return 0


@dataclass(frozen=True)
class Convolution(Operation):
    """A two-dimensional convolution with a bias, square in kernel, stride and padding."""

    outputs: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1

    def output_shape(self, *inputs: Shape) -> Shape:
        """One channel per output; the window must fit the padded image."""
        channels, height, width = _image(inputs)
        if channels % self.groups or self.outputs % self.groups:
            raise NetworkError(
                f"{channels} channels and {self.outputs} outputs do not divide into "
                f"{self.groups} groups"
            )
        return (self.outputs, *_windows(height, width, self.kernel, self.stride, self.padding))

    def weight_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """Weights as (outputs, inputs of a group, height, width)."""
        channels = _image(inputs)[0]
        weight = (self.outputs, channels // self.groups, self.kernel, self.kernel)
        return {"weight": weight, "bias": (self.outputs,)}

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """One kernel volume for each output element."""
        channels = _image(inputs)[0]
        outputs, height, width = self.output_shape(*inputs)
        return outputs * height * width * (channels // self.groups) * self.kernel**2


@dataclass(frozen=True)
class Dense(Operation):
    """A fully connected layer with a bias."""

    outputs: int

    def output_shape(self, *inputs: Shape) -> Shape:
        """One feature per output."""
        _features(inputs)
        return (self.outputs,)

    def weight_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """Weights as (outputs, inputs)."""
        return {"weight": (self.outputs, _features(inputs)), "bias": (self.outputs,)}

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """One for each weight."""
        return self.outputs * _features(inputs)


@dataclass(frozen=True)
class Pooling(Operation):
    """A window without padding; what hangs over the edge of the image is left out."""

    kernel: int
    stride: int

    def output_shape(self, *inputs: Shape) -> Shape:
        """The same channels over fewer places."""
        channels, height, width = _image(inputs)
        return (channels, *_windows(height, width, self.kernel, self.stride, 0))


@dataclass(frozen=True)
class MaxPooling(Pooling):
    """The largest value of each window."""


@dataclass(frozen=True)
class AveragePooling(Pooling):
    """The mean of each window."""


@dataclass(frozen=True)
class Rectifier(Operation):
    """max(x, 0), known as ReLU."""


@dataclass(frozen=True)
class Tanh(Operation):
    """The hyperbolic tangent."""


@dataclass(frozen=True)
class Flatten(Operation):
    """An image as a vector, channel by channel and row by row."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """As many features as the image has values."""
        channels, height, width = _image(inputs)
        return (channels * height * width,)


def describe(shape: Shape) -> str:
    """A shape in words for a person: 3x32x32."""
    return "x".join(map(str, shape))


def _image(inputs: tuple[Shape, ...]) -> tuple[int, int, int]:
    (shape,) = inputs
    try:
        channels, height, width = shape
    except ValueError:
        raise NetworkError("needs an image as its input") from None
    return channels, height, width


def _features(inputs: tuple[Shape, ...]) -> int:
    (shape,) = inputs
    try:
        (features,) = shape
    except ValueError:
        raise NetworkError("needs a vector as its input: flatten first") from None
    return features


def _windows(height: int, width: int, kernel: int, stride: int, padding: int) -> tuple[int, int]:
    """How many places a sliding window takes in each direction."""
    if min(height, width) + 2 * padding < kernel:
        padded = f" with padding {padding}" if padding else ""
        raise NetworkError(f"a {kernel}x{kernel} window does not fit{padded}")
    return (
        (height + 2 * padding - kernel) // stride + 1,
        (width + 2 * padding - kernel) // stride + 1,
    )
