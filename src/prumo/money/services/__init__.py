"""Public services that tell today's prices: one file for each, and which is asked for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from prumo.money.services import aws, azure, skypilot

if TYPE_CHECKING:
    from datetime import date

    from prumo.money.price import Price
    from prumo.money.services.request import Request
    from prumo.progress import Progress


class Endpoint(Protocol):
    """One service, as its `fetch_prices`."""

    def __call__(self, request: Request, progress: Progress, today: date) -> list[Price]:
        """The prices that were asked for, as far as it has them."""


ENDPOINTS: dict[str, Endpoint] = {
    "azure": azure.fetch_prices,
    "aws": aws.fetch_prices,
    "skypilot": skypilot.fetch_prices,
}

# EC2's own list is 300 MB for each region and has no spot prices: SkyPilot's is made from it.
USUAL = {"azure": "azure", "sagemaker": "aws"}
OTHERWISE = "skypilot"
