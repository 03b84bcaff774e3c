"""One row of a price catalog: what a machine or a service costs, where, by whom and since when."""

from datetime import date
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from prumo.study.settings import PROVIDER, REGION, SKU


class Purchase(StrEnum):
    """How a machine is bought."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"


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


class Price(BaseModel):
    """What one SKU costs in one region, dated and with its source."""

    model_config = ConfigDict(frozen=True)

    provider: Annotated[str, Field(pattern=f"^{PROVIDER}$")]
    sku: Annotated[str, Field(pattern=f"^{SKU}$")]
    region: Annotated[str, Field(pattern=f"^{REGION}$")]
    kind: Kind = Kind.MACHINE
    vcpus: float | None = None
    memory_gib: float | None = None
    accelerator: str = ""
    accelerator_count: float = 0
    """Not a whole number where a part of an accelerator is sold."""
    on_demand: float | None = None
    """The amount per unit; None where it is not sold so."""
    spot: float | None = None
    unit: Unit = Unit.HOUR
    currency: str = "USD"
    as_of: date | None = None
    """None where the source says no date; the linter reports it."""
    source: str = ""

    @property
    def name(self) -> str:
        """As studies write it: `azure/Standard_F4s_v2@eastus`."""
        return f"{self.provider}/{self.sku}@{self.region}"

    def amount(self, purchase: Purchase) -> float | None:
        """The amount per unit, bought so."""
        return self.spot if purchase is Purchase.SPOT else self.on_demand
