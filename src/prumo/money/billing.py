"""What a provider bills of what was used: rates, billing rules and exchange of currencies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from math import isfinite
from typing import Annotated

from pydantic import BaseModel, Field

from prumo.errors import InputError, did_you_mean
from prumo.money.price import Kind, Price, Purchase, Unit

# What a run that answers requests may report of itself, for prices by the request or by the GB.
INFERENCES = "inferences"
DATA_BYTES = "data_bytes"
# Sums of clock readings miss a whole second by a rounding error; no clock is better than this.
GRAINS_PER_UNIT = 1_000_000
HOURS_PER_MONTH = 730
"""As AWS counts them: a twelfth of a year."""
USED_PER_UNIT = {Unit.HOUR: 3600.0, Unit.SECOND: 1.0, Unit.REQUEST: 1.0, Unit.GIGABYTE: 1.0}


class Rate(BaseModel, frozen=True):
    """An amount per unit and everything that it came from."""

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


def rate_of(price: Price, purchase: Purchase) -> Rate:
    """The rate of a price when the machine is bought so."""
    amount = price.amount(purchase)
    if amount is None:
        sold = [kind.words for kind in Purchase if price.amount(kind) is not None]
        hint = f"it is sold {' or '.join(sold)}" if sold else "it has no amount at all"
        raise InputError(f"{price.name} has no {purchase.words} price; {hint}")
    if not isfinite(amount) or amount < 0:
        raise InputError(f"{price.name} costs {amount:g}, which is no price; `prumo price lint`")
    same = price.model_dump(include={"kind", "unit", "currency", "as_of", "source", "vcpus"})
    billing = rule_for(price).name
    return Rate(price=price.name, purchase=purchase, amount=amount, billing=billing, **same)


class Exchange(BaseModel, frozen=True):
    """A dated rate: one unit of `base` is worth `rate` units of `currency`."""

    base: str = "USD"
    currency: str
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    as_of: date
    source: str = ""

    def of(self, amount: float) -> float:
        """An amount of the base, in the other currency."""
        return amount * self.rate


def currency_code(text: str) -> str:
    """A currency as three capital letters, however it was typed."""
    code = text.strip().upper()
    if not re.fullmatch("[A-Z]{3}", code):
        raise InputError(f"'{text}' is not a currency; give three letters such as USD or BRL")
    return code


@dataclass(frozen=True)
class BillingRule:
    """How a used amount, in seconds or requests or GB, becomes a billed one."""

    name: str
    step: float | None = None
    """What is counted is a multiple of it; None where every fraction counts."""
    minimum: float = 0.0
    drops_partial: bool = False
    """Whether a step that was begun and not ended is free; otherwise it counts whole."""

    def billed(self, used: float) -> float:
        """What is billed of what was used.

        >>> WHOLE_MINUTES.billed(6 * 60 + 45), PER_SECOND_FROM_MINUTE.billed(12.3)
        (360.0, 60.0)
        """
        if used < 0:
            raise ValueError(f"nobody can use {used}")
        if self.step is None:
            return max(used, self.minimum)
        grains, step = round(used * GRAINS_PER_UNIT), round(self.step * GRAINS_PER_UNIT)
        steps = grains // step if self.drops_partial else -(-grains // step)
        return max(steps * step / GRAINS_PER_UNIT, self.minimum)


EXACT = BillingRule("exact")

# aws.amazon.com/ec2/pricing/on-demand: Linux instances by the second, 60 seconds at least.
# cloud.google.com/compute/vm-instance-pricing: by the second, one minute at least; a TPU while it
# is READY.
PER_SECOND_FROM_MINUTE = BillingRule("per_second_from_minute", step=1.0, minimum=60.0)

# azure.microsoft.com/resources/knowledge-center: 6 minutes and 45 seconds are billed as 6 minutes.
WHOLE_MINUTES = BillingRule("whole_minutes", step=60.0, drops_partial=True)

# aws.amazon.com/sagemaker/pricing: instances behind an endpoint by the second.
PER_SECOND = BillingRule("per_second", step=1.0)

# aws.amazon.com/sagemaker/pricing: serverless compute by the millisecond, priced by memory size.
PER_MILLISECOND = BillingRule("per_millisecond", step=0.001)

PER_REQUEST = BillingRule("per_request", step=1.0)

# aws.amazon.com/sagemaker/pricing: data in and out of a serverless endpoint.
PER_GIGABYTE = BillingRule("per_gigabyte")


def rule(name: str) -> BillingRule:
    """The rule of a name."""
    if name not in RULES:
        raise InputError(f"unknown billing rule '{name}': {did_you_mean(name, RULES)}")
    return RULES[name]


RULES = {
    rule.name: rule
    for rule in (
        EXACT,
        PER_SECOND_FROM_MINUTE,
        WHOLE_MINUTES,
        PER_SECOND,
        PER_MILLISECOND,
        PER_REQUEST,
        PER_GIGABYTE,
    )
}
UNIT_RULES = {Unit.REQUEST: PER_REQUEST, Unit.GIGABYTE: PER_GIGABYTE}
KIND_RULES = {Kind.SERVERLESS: PER_MILLISECOND, Kind.HOSTING: PER_SECOND}
MACHINE_RULES = {
    "aws": PER_SECOND_FROM_MINUTE,
    "gcp": PER_SECOND_FROM_MINUTE,
    "azure": WHOLE_MINUTES,
}


def rule_for(price: Price) -> BillingRule:
    """How a price is billed; exactly as used where the provider's rule is not known."""
    known = UNIT_RULES.get(price.unit) or KIND_RULES.get(price.kind)
    return known or MACHINE_RULES.get(price.provider, EXACT)
