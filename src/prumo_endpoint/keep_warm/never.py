"""Nothing is kept warm: instances live as long as the platform lets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo_endpoint.keep_warm.policy import Policy

if TYPE_CHECKING:
    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.traces import Arrivals


class Never(Policy):
    """No ping at all: what the others are compared with."""

    name = "never"

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """None."""
        del calls, idle_timeout_seconds
        return np.empty(0)
