"""What the front of the local serverless endpoint adds to each request.

    python -m benchmarks.serverless_front

The same null server is asked directly and through the front, by turns, one request at a time. The
limit is a ratio to a server that parses nothing: the front parses two messages and has another
connection.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import TYPE_CHECKING

from prumo_endpoint.load.generator import Generator, Outcome, Sent, prepared_request
from prumo_endpoint.load.reference_server import reference_server
from prumo_endpoint.load.schedule import ClosedLoop
from prumo_endpoint.serverless import Settings
from prumo_endpoint.targets.serverless import ServerlessTarget

if TYPE_CHECKING:
    from prumo_endpoint.exchange import Address

LIMIT = 6.0
TURNS = 7
REQUESTS = 2000
BODY_BYTES = 20_000
"""About a photograph of 224 x 224 pixels."""
# It answers every packet: a request of this size is one, and /ping is another.
NULL_SERVER = (
    f'exec "{sys.executable}" -m prumo_endpoint.load.reference_server '
    '--request-bytes 1 --port "$SAGEMAKER_BIND_TO_PORT"'
)


def main() -> int:
    target = ServerlessTarget("null", Settings(256, 1.0, ("sh", "-c", NULL_SERVER)))
    with reference_server(1) as direct, target.running() as server:
        latency_seconds(server.address, 100)
        pairs = [
            (latency_seconds(direct, REQUESTS), latency_seconds(server.address, REQUESTS))
            for _ in range(TURNS)
        ]
    return judged(pairs)


def latency_seconds(address: Address, requests: int) -> float:
    """The median latency of requests that follow one another on one connection."""
    request = prepared_request(address, b"x" * BODY_BYTES, "image/jpeg")
    rows: list[Sent] = []
    with Generator(address, [request], connections=1) as generator:
        generator.send(ClosedLoop(requests=requests), rows.append)
    assert all(row.outcome is Outcome.ANSWERED for row in rows)
    return median(row.latency_seconds for row in rows)


def judged(pairs: list[tuple[float, float]]) -> int:
    ratio = median(through / direct for direct, through in pairs)
    added = median(through - direct for direct, through in pairs)
    print(
        f"the front of a serverless endpoint adds {1e6 * added:.0f} µs to a request: "
        f"it takes {ratio:.2f} times as long as without (limit {LIMIT})"
    )
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
