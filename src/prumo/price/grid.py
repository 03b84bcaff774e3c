"""How much CO2 the electricity of a region stands for, dated and with its source."""

from __future__ import annotations

from dataclasses import dataclass

from prumo.message import Message
from prumo.quantity import Quantity


@dataclass(frozen=True)
class Grid:
    """The mean of a year, over all that feeds the grid, whatever a provider buys besides."""

    grams_per_kwh: float
    source: str

    def message(self) -> Message:
        """The intensity and where it comes from."""
        return Message(
            "{intensity} of CO2 ({source})",
            {"intensity": Quantity(self.grams_per_kwh, "g/kWh"), "source": self.source},
        )


GOOGLE_2024 = "Google Cloud, region-carbon-info, year 2024"
GOOGLE_GRAMS_PER_KWH = {
    "europe-north1": 39.32,
    "europe-west1": 103.37,
    "europe-west4": 208.81,
    "northamerica-northeast1": 5.48,
    "southamerica-east1": 67.32,
    "us-central1": 412.72,
    "us-east1": 575.77,
    "us-east4": 323.05,
    "us-west1": 79.23,
}


def grid_of(price: str) -> Grid | None:
    """The grid at the region of a price such as `gcp/n2-standard-4@us-central1`; None if unknown.

    Only Google publishes its regions' figures, so other providers' are for the user to say.
    """
    provider, _, rest = price.partition("/")
    region = rest.rpartition("@")[2]
    if provider != "gcp" or region not in GOOGLE_GRAMS_PER_KWH:
        return None
    return Grid(GOOGLE_GRAMS_PER_KWH[region], GOOGLE_2024)
