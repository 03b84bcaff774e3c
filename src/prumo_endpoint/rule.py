"""A rule of SageMaker's endpoints: what it demands, within which limits, how a check turns out.

@rule("ping", "GET /ping answers 200 within {limits.ping_seconds:g} s", source=HOSTING_GUIDE)
def ping(case: Case) -> Outcome:
    answer = case.ping()
    return kept("200") if answer.status == HEALTHY else broken(f"/ping {answer}")
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from prumo_endpoint.exchange import PING, exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prumo.quantity import Quantity
    from prumo_endpoint.bodies import Body
    from prumo_endpoint.exchange import Exchange
    from prumo_endpoint.lifetime import Start, Stop
    from prumo_endpoint.targets import Server

GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg"
HOSTING_GUIDE = f"{GUIDE}/your-algorithms-inference-code.html"
REAL_TIME_GUIDE = f"{GUIDE}/deploy-model-options.html"
SERVERLESS_GUIDE = f"{GUIDE}/serverless-endpoints-invoke.html"
PORT_GUIDE = f"{GUIDE}/multi-container-troubleshooting.html"
INVOKE_REFERENCE = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html"
)


@dataclass(frozen=True)
class Rule:
    """One demand, and how it is checked."""

    name: str
    demand: str
    """What a server must do; fields of `limits` are replaced by their values."""
    source: str
    """Where the rule is published, likewise."""
    check: Callable[[Case], Outcome]
    needs: tuple[str, ...] = ()
    """Rules that must hold before this one can be checked."""

    def demanded(self, limits: Limits) -> str:
        """The demand under these limits."""
        return self.demand.format(limits=limits)

    def published(self, limits: Limits) -> str:
        """Where the rule is published for these limits."""
        return self.source.format(limits=limits)


def rule(
    name: str, demand: str, *, source: str, needs: tuple[str, ...] = ()
) -> Callable[[Callable[[Case], Outcome]], Rule]:
    """Make a rule of the function that checks it."""
    return lambda check: Rule(name, demand, source, check, needs)


@dataclass(frozen=True)
class Case:
    """The server under examination, and what has been observed of it."""

    server: Server
    limits: Limits
    body: Body
    start: Start | None = None
    """None for a server that was running before."""
    stop: Stop | None = None
    """None before the stop, and for a server that Prumo did not start."""

    def ping(self) -> Exchange:
        """Ask for the server's health as SageMaker does."""
        return exchange(self.server.address, PING, self.limits.ping_seconds)

    def invoke(
        self, body: Body | None = None, headers: Mapping[str, str] | None = None
    ) -> Exchange:
        """Send a body, by default the sample."""
        request = (body or self.body).request(headers)
        return exchange(self.server.address, request, self.limits.invocation_seconds)


class Verdict(StrEnum):
    """Whether a server keeps a rule."""

    KEPT = "pass"
    BROKEN = "fail"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Outcome:
    """A verdict, its reason, and what was measured."""

    verdict: Verdict
    reason: str
    measured: Quantity | None = None
    blocks: bool = False
    """Whether rules that need this one cannot be checked."""
    blocked_by: str = ""
    """The rule because of which this one was not checked."""


def kept(reason: str, measured: Quantity | None = None) -> Outcome:
    """The server keeps the rule."""
    return Outcome(Verdict.KEPT, reason, measured)


def broken(reason: str, measured: Quantity | None = None) -> Outcome:
    """The server breaks the rule."""
    return Outcome(Verdict.BROKEN, reason, measured, blocks=True)


def not_checked(reason: str) -> Outcome:
    """The rule does not apply to this server, or cannot be observed from outside."""
    return Outcome(Verdict.NOT_CHECKED, reason)


def undecided(reason: str) -> Outcome:
    """The rule could not be checked, and neither can those that need it."""
    return Outcome(Verdict.NOT_CHECKED, reason, blocks=True)


# The former limit of InvokeEndpoint, 6 MB, was documented as 6291456 bytes.
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
    """The guide asks for an empty body; a short text does no harm."""
    invocation_seconds: float = 60.0
    stop_seconds: float = 30.0
    attribute_characters: int = 1024
    open_connections: int = 200
    """The largest concurrency of a serverless endpoint."""
    load_connections: int = 8
    load_rounds: int = 5
    requests_in_flight: int = 4
    elsewhere_seconds: float = 10.0
    """How long the right port may stay silent while another one already answers."""
    settle_seconds: float = 0.3
    """How long a server is given to notice a request or a signal."""

    @property
    def payload_mb(self) -> float:
        """The largest body, in the unit of the guides."""
        return self.payload_bytes / MB

    @property
    def start_minutes(self) -> float:
        """The time for the start, in the unit of the guides."""
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
