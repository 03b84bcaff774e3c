"""What the front of the local serverless endpoint adds to each request.

    python -m benchmarks.serverless_front

The same server is asked directly and through the front, by turns, one request at a time: once a
server that answers at once, which shows the time that the front takes, and once one that works for
10 ms, as the smallest networks do. The limit is the ratio of the latter.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import TYPE_CHECKING

from prumo_endpoint.load.generator import Generator
from prumo_endpoint.load.reference_server import reference_server
from prumo_endpoint.load.schedule import ClosedLoop
from prumo_endpoint.load.sent import Outcome, Sent, prepared_request
from prumo_endpoint.serverless import Settings
from prumo_endpoint.targets.serverless import ServerlessTarget

if TYPE_CHECKING:
    from prumo_endpoint.exchange import Address

LIMIT = 1.1
WORK_SECONDS = 0.01
TURNS = 7
REQUESTS = {0.0: 2000, WORK_SECONDS: 100}
BODY_BYTES = 20_000
"""About a photograph of 224 x 224 pixels."""
# It answers every packet: a request of this size is one, and /ping is another.
SERVER = (
    f'exec "{sys.executable}" -m prumo_endpoint.load.reference_server '
    '--request-bytes 1 --service-seconds {} --port "$SAGEMAKER_BIND_TO_PORT"'
)

Pairs = list[tuple[float, float]]
"""Median latencies without and with the front, in seconds."""


def main() -> int:
    return judged(measured(0.0), measured(WORK_SECONDS))


def measured(service_seconds: float) -> Pairs:
    command = ("sh", "-c", SERVER.format(service_seconds))
    target = ServerlessTarget("reference server", Settings(256, 1.0, command))
    requests = REQUESTS[service_seconds]
    with reference_server(1, service_seconds) as direct, target.running() as server:
        latency_seconds(server.address, 1)
        return [
            (latency_seconds(direct, requests), latency_seconds(server.address, requests))
            for _ in range(TURNS)
        ]


def latency_seconds(address: Address, requests: int) -> float:
    """The median latency of requests that follow one another on one connection."""
    request = prepared_request(address, b"x" * BODY_BYTES, "image/jpeg")
    rows: list[Sent] = []
    with Generator(address, [request], connections=1) as generator:
        generator.send(ClosedLoop(requests=requests), rows.append)
    assert all(row.outcome is Outcome.ANSWERED for row in rows)
    return median(row.latency_seconds for row in rows)


def judged(null: Pairs, working: Pairs) -> int:
    direct = median(direct for direct, _ in null)
    added = median(through - direct for direct, through in null)
    ratio = median(through / direct for direct, through in working)
    print(
        f"the front of a serverless endpoint adds {1e6 * added:.0f} µs to a null server's "
        f"{1e6 * direct:.0f} µs; with {1000 * WORK_SECONDS:g} ms of work a request takes "
        f"{ratio:.3f} times as long as without it (limit {LIMIT})"
    )
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
