"""How many places a sliding window takes on an image."""

from __future__ import annotations

from prumo_worker.networks.layer.operation import Extent, NetworkError, pair


def places(
    size: tuple[int, int], kernel: Extent, stride: int, padding: Extent, *, ceil: bool = False
) -> tuple[int, int]:
    """The places in each direction; with `ceil` a last window may hang over the far edge."""
    sides = list(zip(size, pair(kernel), pair(padding)))
    if any(side + 2 * margin < window for side, window, margin in sides):
        height, width = pair(kernel)
        padded = f" with padding {padding}" if padding else ""
        raise NetworkError(f"a {height}x{width} window does not fit{padded}")
    down, across = (_along(*side, stride, ceil=ceil) for side in sides)
    return down, across


def _along(side: int, window: int, margin: int, stride: int, *, ceil: bool) -> int:
    room = side + 2 * margin - window
    if not ceil:
        return room // stride + 1
    steps = -(-room // stride)
    # A window that would begin behind the image has nothing to look at.
    return steps if steps * stride >= side + margin else steps + 1
