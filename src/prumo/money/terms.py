"""The words of prices and of questions about them. Light to import: options show them."""

from __future__ import annotations

from enum import StrEnum

REQUIRED = ("provider", "sku", "region")
COLUMNS = (
    *REQUIRED,
    *("kind", "vcpus", "memory_gib", "accelerator", "accelerator_count"),
    *("on_demand", "spot", "unit", "currency", "as_of", "source"),
)
"""Of a table of prices: the fields of a `Price`."""
MAX_AGE_DAYS = 365
"""From when on a price is stale."""


class Purchase(StrEnum):
    """How a machine is bought."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"

    @property
    def words(self) -> str:
        """As it is written in messages: `on demand`."""
        return self.value.replace("_", " ")


class Kind(StrEnum):
    """What is paid for; billing rules differ by it."""

    MACHINE = "machine"
    """A virtual machine, with its accelerator."""
    HOSTING = "hosting"
    """An instance behind a real-time endpoint."""
    SERVERLESS = "serverless"
    """Compute of a serverless endpoint, by memory size."""
    DATA = "data"
    """Data in and out of a serverless endpoint."""


class Unit(StrEnum):
    """What an amount is for."""

    HOUR = "hour"
    SECOND = "second"
    GIGABYTE = "GB"
    REQUEST = "request"


class Strategy(StrEnum):
    """What makes a configuration the better one."""

    COST = "cost"
    SPEED = "speed"
    BALANCED = "balanced"
