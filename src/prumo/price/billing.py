"""Billing rules: how much a provider bills of what was used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo.price.price import Kind, Unit

if TYPE_CHECKING:
    from prumo.price.price import Price

# Sums of clock readings miss a whole second by a rounding error; no clock is better than this.
GRAINS_PER_UNIT = 1_000_000


@dataclass(frozen=True)
class BillingRule:
    """How a used amount, in seconds or requests or GB, becomes a billed one."""

    name: str
    words: str
    """As it stands in a sentence."""
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


EXACT = BillingRule("exact", "as used, without rounding")

# aws.amazon.com/ec2/pricing/on-demand: Linux instances by the second, 60 seconds at least.
# cloud.google.com/compute/vm-instance-pricing: by the second, one minute at least; a TPU while it
# is READY.
PER_SECOND_FROM_MINUTE = BillingRule(
    "per_second_from_minute", "by the second, a minute at least", step=1.0, minimum=60.0
)

# azure.microsoft.com/resources/knowledge-center: 6 minutes and 45 seconds are billed as 6 minutes.
WHOLE_MINUTES = BillingRule(
    "whole_minutes", "by whole minutes, the last one dropped", step=60.0, drops_partial=True
)

# aws.amazon.com/sagemaker/pricing: instances behind an endpoint by the second.
PER_SECOND = BillingRule("per_second", "by the second", step=1.0)

# aws.amazon.com/sagemaker/pricing: serverless compute by the millisecond, priced by memory size.
PER_MILLISECOND = BillingRule("per_millisecond", "by the millisecond", step=0.001)

PER_REQUEST = BillingRule("per_request", "by the request", step=1.0)

# aws.amazon.com/sagemaker/pricing: data in and out of a serverless endpoint.
PER_GIGABYTE = BillingRule("per_gigabyte", "by the GB in and out")

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
MACHINE_RULES = {
    "aws": PER_SECOND_FROM_MINUTE,
    "gcp": PER_SECOND_FROM_MINUTE,
    "azure": WHOLE_MINUTES,
}


def rule(name: str) -> BillingRule:
    """The rule of a name."""
    if name not in RULES:
        raise InputError(f"unknown billing rule '{name}': {did_you_mean(name, RULES)}")
    return RULES[name]


def rule_for(price: Price) -> BillingRule:
    """How a price is billed; exactly as used where the provider's rule is not known."""
    if price.unit is Unit.REQUEST:
        return PER_REQUEST
    if price.unit is Unit.GIGABYTE:
        return PER_GIGABYTE
    if price.kind is Kind.SERVERLESS:
        return PER_MILLISECOND
    if price.kind is Kind.HOSTING:
        return PER_SECOND
    return MACHINE_RULES.get(price.provider, EXACT)
