"""What the proxy in front of a SageMaker endpoint adds to each request: signing and passing on.

    python -m benchmarks.sagemaker_proxy

The same server is asked directly and through the proxy, by turns, one request at a time. The limit
is the ratio for a server that works for 50 ms; a real endpoint adds the network to that.
"""

from __future__ import annotations

import os
import sys
from statistics import median

from benchmarks.serverless_front import Pairs, latency_seconds
from prumo_endpoint.exchange import LOCAL_HOST, Address
from prumo_endpoint.load.reference_server import reference_server
from prumo_endpoint.sagemaker.proxy import running_proxy

LIMIT = 1.05
WORK_SECONDS = 0.05
TURNS = 5
REQUESTS = {0.0: 1000, WORK_SECONDS: 20}


def main() -> int:
    return judged(measured(0.0), measured(WORK_SECONDS))


def measured(service_seconds: float) -> Pairs:
    requests = REQUESTS[service_seconds]
    # It answers every packet, and so needs to know nothing of the longer, signed requests.
    with reference_server(1, service_seconds) as direct:
        os.environ |= {
            "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": str(direct),
            "AWS_ACCESS_KEY_ID": "AKIAFAKE",
            "AWS_SECRET_ACCESS_KEY": "fake",
        }
        with running_proxy("name", "us-east-1") as port:
            proxy = Address(LOCAL_HOST, port)
            latency_seconds(proxy, 1)
            return [
                (latency_seconds(direct, requests), latency_seconds(proxy, requests))
                for _ in range(TURNS)
            ]


def judged(null: Pairs, working: Pairs) -> int:
    added = median(through - direct for direct, through in null)
    ratio = median(through / direct for direct, through in working)
    print(
        f"the proxy to SageMaker adds {1e6 * added:.0f} µs to a request; with "
        f"{1000 * WORK_SECONDS:g} ms of work a request takes {ratio:.3f} times as long as without "
        f"it (limit {LIMIT})"
    )
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
