"""A machine of a study: the device to train on, and where its price is found."""

from typing import Annotated

from pydantic import Field

from prumo.study.section import Section, Text, written_as
from prumo.study.training_parameters import Device

PROVIDER = r"[a-z0-9-]+"
SKU = r"[A-Za-z0-9._+-]+"
REGION = r"[a-z0-9-]+"
_PRICE = f"{PROVIDER}/{SKU}@{REGION}"

Price = Annotated[
    Text,
    written_as(_PRICE, "provider/sku@region, as azure/Standard_F4s_v2@eastus"),
    Field(json_schema_extra={"pattern": f"^{_PRICE}$"}),
]


class Machine(Section):
    """One machine, under the label that a factor `machine` or `environment` uses."""

    device: Device | None = None
    """The device that its runs train on."""
    price: Price | None = None
    """Its price, as `provider/sku@region`."""
