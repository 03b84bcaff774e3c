"""What an endpoint costs while it exists, and at worst."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError
from prumo.money.billing import rate_of
from prumo.money.catalog import load_catalog, provisioned_names
from prumo.money.price import Purchase

if TYPE_CHECKING:
    from prumo_endpoint.deploy.deployment import Settings

HOUR_SECONDS = 3600.0
MONTH_HOURS = 730.0


@dataclass(frozen=True)
class Bill:
    """In USD; None where the catalog has no price."""

    idle_per_hour: float | None
    """While nobody asks."""
    per_1000_answers: float | None
    """Of one second each, where answers are paid for."""
    worst_per_hour: float | None
    """All instances at work all the time."""
    hours: float
    """Until its deadline, or a month."""
    has_deadline: bool

    @property
    def worst(self) -> float | None:
        """The most that it can cost, if nobody looks after it."""
        return None if self.worst_per_hour is None else self.worst_per_hour * self.hours

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "worst": self.worst}

    def sentences(self, settings: Settings) -> list[str]:
        """What a user should know before and after."""
        if self.worst_per_hour is None or self.worst is None:
            name = settings.price_name
            if settings.provisioned_concurrency:
                name = f"{provisioned_names(name)[0]}, which is paid also while idle"
            return [f"there is no price of {name}: `prumo price import` adds one"]
        if self.per_1000_answers is not None:
            idle = f"${self.idle_per_hour:.3g} an hour" if self.idle_per_hour else "nothing"
            first = (
                f"serverless, {settings.memory_mb} MB: ${self.per_1000_answers:.3g} per 1,000 "
                f"answers of 1 s each, {idle} while idle"
            )
        else:
            first = (
                f"{settings.instance_type}: ${self.idle_per_hour:.3g} an hour as long as it "
                f"exists, ${(self.idle_per_hour or 0) * MONTH_HOURS:.2f} a month"
            )
        until = (
            f"until {settings.expires_at}, when AWS deletes it"
            if self.has_deadline
            else "a month; --expires 4h sets a deadline"
        )
        return [first, f"at most ${self.worst:.2f} for computing {until}"]


def bill_of(settings: Settings) -> Bill:
    """The bill of an endpoint, by the price catalog."""
    hours = MONTH_HOURS
    if settings.expires_at is not None:
        left = datetime.fromisoformat(settings.expires_at) - datetime.now(UTC)
        hours = max(0.0, left.total_seconds() / HOUR_SECONDS)
    unknown = Bill(None, None, None, hours, settings.expires_at is not None)
    catalog, reserved = load_catalog(), 0.0
    try:
        rate = rate_of(catalog.named(settings.price_name), Purchase.ON_DEMAND)
        if settings.provisioned_concurrency:
            ready = catalog.named(provisioned_names(settings.price_name)[0])
            per_hour = rate_of(ready, Purchase.ON_DEMAND).cost(HOUR_SECONDS, exact=True)
            reserved = settings.provisioned_concurrency * per_hour
    except InputError:
        return unknown
    hourly = rate.cost(HOUR_SECONDS, exact=True)
    if settings.instance_type is not None:
        worst = hourly * settings.instances_max
        return Bill(hourly, None, worst, hours, settings.expires_at is not None)
    return Bill(
        idle_per_hour=reserved,
        per_1000_answers=hourly / HOUR_SECONDS * 1000,
        # Work on provisioned instances is cheaper; at worst it is not.
        worst_per_hour=reserved + hourly * settings.max_concurrency,
        hours=hours,
        has_deadline=settings.expires_at is not None,
    )
