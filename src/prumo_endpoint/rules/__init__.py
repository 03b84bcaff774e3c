"""The rules of an endpoint: one file for each.

Their order is that of checking, so what a rule needs stands before it, and a bad body, which may
end a server, comes last of all that the running one is asked.
"""

from __future__ import annotations

from prumo_endpoint.rules import (
    accept,
    bad_body,
    custom_attributes,
    entry_point,
    in_flight,
    invocations,
    load,
    payload,
    ping,
    port,
    readiness,
    serve_argument,
    start_up,
    stop,
)

SERVING = (
    serve_argument.RULE,
    port.RULE,
    start_up.RULE,
    ping.RULE,
    readiness.RULE,
    accept.RULE,
    invocations.RULE,
    custom_attributes.RULE,
    load.RULE,
    payload.RULE,
    bad_body.RULE,
)
STOPPING = (entry_point.RULE, stop.RULE, in_flight.RULE)
