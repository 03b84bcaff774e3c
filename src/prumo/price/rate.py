"""The rate that time is turned into money with, kept beside the results it was used on."""

from datetime import date
from math import isfinite
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from prumo.errors import InputError
from prumo.message import Message
from prumo.price.billing import EXACT, rule, rule_for
from prumo.price.price import Kind, Price, Purchase, Unit
from prumo.quantity import Quantity

USED_PER_UNIT = {Unit.HOUR: 3600.0, Unit.SECOND: 1.0, Unit.REQUEST: 1.0, Unit.GIGABYTE: 1.0}
UNIT_SYMBOLS = {Unit.HOUR: "h", Unit.SECOND: "s"}
PURCHASE_WORDS = {Purchase.ON_DEMAND: "on demand", Purchase.SPOT: "spot"}


class Rate(BaseModel):
    """An amount per unit and everything that it came from."""

    model_config = ConfigDict(frozen=True)

    price: str
    """The price's name: `azure/Standard_F4s_v2@eastus`."""
    kind: Kind
    purchase: Purchase
    amount: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    unit: Unit
    currency: str
    billing: str
    """The name of the billing rule."""
    as_of: date | None
    source: str
    vcpus: float | None = None
    """Of the machine; None where it is not known."""

    def cost(self, used: float, *, exact: bool = False) -> float:
        """The amount for what was used: seconds, or requests or GB where the unit is one of them.

        `exact` leaves the billing rule out, as for a part of a longer rental.
        """
        billed = (EXACT if exact else rule(self.billing)).billed(used)
        return self.amount * billed / USED_PER_UNIT[self.unit]

    @property
    def is_per_time(self) -> bool:
        """Whether time is what is paid for."""
        return self.unit in {Unit.HOUR, Unit.SECOND}

    def message(self, *, exact: bool = False) -> Message:
        """Everything that the rate came from, in one line; `exact` as in `cost`."""
        unit = UNIT_SYMBOLS.get(self.unit, self.unit.value)
        return Message(
            "{price}, {purchase}, {amount} as of {date}; from {source}"
            if exact
            else "{price}, {purchase}, {amount} as of {date}, billed {billing}; from {source}",
            {
                "price": self.price,
                "purchase": Message(PURCHASE_WORDS[self.purchase]),
                "amount": Quantity(self.amount, f"{self.currency}/{unit}"),
                "date": self.as_of.isoformat() if self.as_of else Message("an unknown date"),
                "billing": Message(rule(self.billing).words),
                "source": self.source or Message("an unknown source"),
            },
        )


def rate_of(price: Price, purchase: Purchase) -> Rate:
    """The rate of a price when the machine is bought so."""
    amount = price.amount(purchase)
    if amount is None:
        sold = [PURCHASE_WORDS[kind] for kind in Purchase if price.amount(kind) is not None]
        hint = f"it is sold {' or '.join(sold)}" if sold else "it has no amount at all"
        raise InputError(f"{price.name} has no {PURCHASE_WORDS[purchase]} price; {hint}")
    if not isfinite(amount) or amount < 0:
        raise InputError(f"{price.name} costs {amount:g}, which is no price; `prumo price lint`")
    return Rate(
        price=price.name,
        kind=price.kind,
        purchase=purchase,
        amount=amount,
        unit=price.unit,
        currency=price.currency,
        billing=rule_for(price).name,
        as_of=price.as_of,
        source=price.source,
        vcpus=price.vcpus,
    )
