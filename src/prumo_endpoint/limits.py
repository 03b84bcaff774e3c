"""What SageMaker allows a server, as data: the two kinds of endpoints differ in it."""

from __future__ import annotations

from dataclasses import dataclass

GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg"
HOSTING_GUIDE = f"{GUIDE}/your-algorithms-inference-code.html"
REAL_TIME_GUIDE = f"{GUIDE}/deploy-model-options.html"
SERVERLESS_GUIDE = f"{GUIDE}/serverless-endpoints-invoke.html"
PORT_GUIDE = f"{GUIDE}/multi-container-troubleshooting.html"
INVOKE_REFERENCE = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html"
)

# InvokeEndpoint told its older limit of 6 MB as 6291456 bytes.
MB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Times, sizes and counts that a server has to keep, and how long the check waits."""

    start_seconds: float
    start_source: str
    payload_bytes: int
    payload_source: str
    accept_seconds: float = 0.25
    ping_seconds: float = 2.0
    ping_body_bytes: int = 1024
    """The guide asks for an empty body; a short word in it harms nobody."""
    invocation_seconds: float = 60.0
    stop_seconds: float = 30.0
    attribute_characters: int = 1024
    open_connections: int = 200
    """As many as a serverless endpoint may have requests at once."""
    load_connections: int = 8
    load_rounds: int = 5
    requests_in_flight: int = 4
    elsewhere_seconds: float = 10.0
    """How long the right port may stay silent while another one answers already."""
    settle_seconds: float = 0.3
    """How long a server is given to notice a request, or a signal."""

    @property
    def payload_mb(self) -> float:
        """The largest body as people tell it."""
        return self.payload_bytes / MB

    @property
    def start_minutes(self) -> float:
        """The time for the start as people tell it."""
        return self.start_seconds / 60


KINDS = {
    "real-time": Limits(
        start_seconds=8 * 60,
        start_source=HOSTING_GUIDE,
        payload_bytes=25 * MB,
        payload_source=REAL_TIME_GUIDE,
    ),
    "serverless": Limits(
        start_seconds=3 * 60,
        start_source=SERVERLESS_GUIDE,
        payload_bytes=4 * MB,
        payload_source=SERVERLESS_GUIDE,
    ),
}
