"""Memory of the server under a long load of all sorts of requests. Limit: 5 % more at its end.

    python -m benchmarks.serving.endurance [--minutes 10] [--stack lean|nginx]

Good requests, bad ones, large ones, and such that break off. What a server holds after a tenth of
the load is compared with what it holds at the end, each as the median of several looks, since
memory that is let go comes back to the system in pieces.
"""

from __future__ import annotations

import argparse
import io
import math
import socket
import sys
import time
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from benchmarks.serving.contestants import PATH, prumo
from benchmarks.serving.load import post, put_load
from benchmarks.serving.networks import served_network
from benchmarks.serving.photographs import SIZE, drawn_photographs
from benchmarks.serving.running_server import RunningServer, free_port
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 0.05
_CONNECTIONS = 8
_LOOKS = 10
_WARM_UP_SHARE = 0.1
# So that what is under way does not count: one large photograph takes 36 MB while it is decoded.
_REST_SECONDS = 0.5
_ABORTED_UPLOADS = 16
_LARGE_WIDTH, _LARGE_HEIGHT = 4000, 3000
_LARGE_IMAGES = 4
# None of these may cost memory that stays.
_BAD_REQUESTS = (
    post(PATH, b"no image", "image/jpeg"),
    post(PATH, b"{", "application/json"),
    post(PATH, b"anything", "text/plain"),
)


def main(words: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving.endurance", description=__doc__
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--stack", choices=["lean", "nginx"], default="lean")
    options = parser.parse_args(words)
    port = free_port()
    contestant = prumo(served_network("mobilenet"), port, options.stack, "fp32")
    server = RunningServer(contestant, port, drawn_photographs(_LOOKS))
    with sigterm_as_interrupt(), server:
        early, late = memory_bytes(server, options.minutes * 60)
    return judged(contestant.name, early, late)


def memory_bytes(server: RunningServer, seconds: float) -> tuple[float, float]:
    """Medians of what a server holds after the first tenth of a load and at its end."""
    requests = [*server.requests, *_BAD_REQUESTS, *_large_requests()]
    warm_up_seconds = seconds * _WARM_UP_SHARE
    _put_mixed_load(server, requests, warm_up_seconds)
    early = _looks(server, requests, warm_up_seconds)
    until = time.monotonic() + seconds - 3 * warm_up_seconds
    while time.monotonic() < until:
        _put_mixed_load(server, requests, warm_up_seconds / _LOOKS)
    return early, _looks(server, requests, warm_up_seconds)


def judged(name: str, early_bytes: float, late_bytes: float) -> int:
    """Print both; 1 when the growth is over its limit."""
    growth = late_bytes / early_bytes - 1
    print(
        f"{name}: {early_bytes / 1e6:.1f} MB after a tenth of the load and "
        f"{late_bytes / 1e6:.1f} MB at its end, {growth:+.1%} (limit {LIMIT:.0%})"
    )
    return int(growth > LIMIT)


def _looks(server: RunningServer, requests: Sequence[bytes], seconds: float) -> float:
    held = []
    for _ in range(_LOOKS):
        _put_mixed_load(server, requests, seconds / _LOOKS)
        time.sleep(_REST_SECONDS)
        held.append(server.memory_bytes())
    return median(held)


def _put_mixed_load(server: RunningServer, requests: Sequence[bytes], seconds: float) -> None:
    put_load(server.port, requests, _CONNECTIONS, seconds)
    for request in requests[:_ABORTED_UPLOADS]:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(request[: len(request) // 2])


def _large_requests() -> tuple[bytes, ...]:
    """A photograph as cameras make them, and a list of images."""
    shape = (_LARGE_HEIGHT, _LARGE_WIDTH, 3)
    pixels = np.linspace(0, 255, math.prod(shape)).astype(np.uint8).reshape(shape)
    photograph, array = io.BytesIO(), io.BytesIO()
    Image.fromarray(pixels).save(photograph, "JPEG")
    np.save(array, np.broadcast_to(pixels[:SIZE, :SIZE], (_LARGE_IMAGES, SIZE, SIZE, 3)))
    return (
        post(PATH, photograph.getvalue(), "image/jpeg"),
        post(PATH, array.getvalue(), "application/x-npy"),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
