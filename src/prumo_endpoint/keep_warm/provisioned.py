"""Provisioned concurrency: the platform keeps instances warm, and is paid for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo_endpoint.keep_warm.policy import Policy

if TYPE_CHECKING:
    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.traces import Arrivals


class Provisioned(Policy):
    """So many instances are always warm; calls beyond them start others, cold."""

    def __init__(self, instances: int) -> None:
        self.reserved_instances = instances

    @property
    def name(self) -> str:
        """With the number of instances."""
        return f"provisioned {self.reserved_instances}"

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """None are needed."""
        del calls, idle_timeout_seconds
        return np.empty(0)
