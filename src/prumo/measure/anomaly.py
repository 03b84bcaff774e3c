"""What is odd about a run that ended, by name. Pure."""

from __future__ import annotations

from enum import StrEnum
from statistics import fmean
from typing import TYPE_CHECKING

from prumo.measure.journal import Event, events_of, is_number, not_finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Ours. Quarters even out single batches; fewer losses than this make no quarters.
FEWEST_LOSSES = 8
FLAT_SHARE = 0.01
RISING_SHARE = 0.05
# Ours: a kernel moves this much of idle pages out without any need.
SWAP_GROWTH_BYTES = 16 * 2**20


class Anomaly(StrEnum):
    """Every anomaly there is."""

    NOT_FINITE_LOSS = "not_finite_loss"
    """A loss was infinite or not a number."""
    NEGATIVE_LOSS = "negative_loss"
    """A loss was below 0, where no cross-entropy can be."""
    FLAT_LOSS = "flat_loss"
    """The last quarter of the losses is within 1 % of the first."""
    RISING_LOSS = "rising_loss"
    """The last quarter of the losses is more than 5 % above the first."""
    SWAP_USED = "swap_used"
    """The machine began to swap while the run went on."""

    @property
    def worthless(self) -> str:
        """Why a run with it is worth nothing; empty where its times still hold."""
        return _WORTHLESS.get(self, "")


_WORTHLESS = {
    Anomaly.NOT_FINITE_LOSS: "the loss was not finite",
    Anomaly.NEGATIVE_LOSS: "the loss was negative",
}


def find_anomalies(
    events: Sequence[Event], metrics: Mapping[str, float], swap_bytes: Sequence[float]
) -> list[Anomaly]:
    """The anomalies of a run; `swap_bytes` is the swap in use at every sample."""
    return list(_found(list(events), metrics, swap_bytes))


def _found(
    events: list[Event], metrics: Mapping[str, float], swap_bytes: Sequence[float]
) -> Iterator[Anomaly]:
    every = [*_losses(events, "step"), *_losses(events, "epoch"), metrics.get("loss", 0.0)]
    if "loss" in not_finite(events) or not all(map(is_number, every)):
        yield Anomaly.NOT_FINITE_LOSS
    if any(loss < 0 for loss in every):
        yield Anomaly.NEGATIVE_LOSS
    # Of the epochs where no steps are told.
    told = _losses(events, "step") or _losses(events, "epoch")
    losses = list(filter(is_number, told))
    if len(losses) >= FEWEST_LOSSES:
        quarter = len(losses) // 4
        first, last = fmean(losses[:quarter]), fmean(losses[-quarter:])
        if abs(last - first) <= FLAT_SHARE * abs(first):
            yield Anomaly.FLAT_LOSS
        elif last - first > RISING_SHARE * abs(first):
            yield Anomaly.RISING_LOSS
    if swap_bytes and max(swap_bytes) - swap_bytes[0] > SWAP_GROWTH_BYTES:
        yield Anomaly.SWAP_USED


def _losses(events: list[Event], kind: str) -> list[float]:
    """The losses of the steps or epochs, without the warm-up."""
    told = [event.get("loss") for event in events_of(events, kind) if event.get("epoch") != 0]
    return [loss for loss in told if isinstance(loss, (int, float)) and not isinstance(loss, bool)]
