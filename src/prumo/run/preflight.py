"""Before runs that cost money elsewhere: what they will start and cost, and who agrees to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import InputError, PrumoError
from prumo.run.events import Remark

if TYPE_CHECKING:
    from prumo.run.events import Listener


class BudgetError(PrumoError):
    """What the user allowed to be spent is spent; everything that finished is kept."""


@dataclass(frozen=True)
class Preflight:
    """What runs would start elsewhere, found out before anything is started."""

    findings: tuple[str, ...]
    """What was checked, what it costs, and what to know before agreeing: a line each."""
    cost_usd: float | None
    """The most that is expected; None where there is no price."""


def _nobody_agreed(_: Preflight) -> bool:
    return False


@dataclass(frozen=True)
class Spending:
    """What the user allows."""

    confirm: Callable[[Preflight], bool] = _nobody_agreed
    """Asks the user; nothing is started without a yes."""
    max_cost_usd: float | None = None


NOTHING_TO_SPEND = Spending()


def require_consent(preflight: Preflight | None, spending: Spending, listener: Listener) -> None:
    """Show a preflight, and raise InputError unless the user agrees to it and its cost."""
    limit = spending.max_cost_usd
    if preflight is None:
        if limit is not None:
            raise InputError("--max-cost limits runs that are paid for, and these run here")
        return
    for finding in preflight.findings:
        listener(Remark(finding))
    if limit is not None and preflight.cost_usd is None:
        raise InputError("--max-cost cannot be kept: there is no price for all that would run")
    if limit is not None and preflight.cost_usd is not None and preflight.cost_usd > limit:
        raise InputError(
            f"this would cost up to ${preflight.cost_usd:.2f}, more than --max-cost {limit:g}; "
            "nothing was started. --only and --replications select less"
        )
    if not spending.confirm(preflight):
        raise InputError("nothing was started: runs that cost money need your yes, or --yes")
