"""Stated claims against the data: what agrees, what differs, what is contradicted. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.foreign.claim_figures import (
    Figure,
    Group,
    Levels,
    Scenarios,
    Scope,
    mean_figure,
    order_figure,
    ratio_figure,
    single_figure,
    spread_figure,
    spread_ratio_figure,
)
from prumo.foreign.claims import COMPARISONS, SPREAD_RATIO, Claim, Claims, Stated
from prumo.quantity import DIGITS
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo.statistics.metric import metric_of

if TYPE_CHECKING:
    from prumo.study.document import SectionFile

PERCENT = "%"
TIMES = "\N{MULTIPLICATION SIGN}"


class Judgement(StrEnum):
    """What the data say of a claim."""

    AGREES = "agrees"
    AGREES_IN_PART = "agrees in part"
    DIFFERS = "differs"
    CONTRADICTED = "contradicted"
    NOT_SUPPORTED = "not supported"


class ReasonKind(StrEnum):
    """Why a claim is contradicted or not supported, or in what it does not agree."""

    NO_RUNS = "no_runs"
    NOT_POSITIVE = "not_positive"
    NOT_PUBLISHED = "not_published"
    NO_DEVIATION = "no_deviation"
    NO_SPREAD = "no_spread"
    NOT_APART = "not_apart"
    OPPOSITE = "opposite"
    EXCEPTIONS = "exceptions"
    """It holds on average and not in every pair."""
    OUTSIDE = "outside"
    """Some scenarios lie outside of the stated range."""


@dataclass(frozen=True)
class Reason:
    """A reason, with the counts and limits that it rests on."""

    kind: ReasonKind
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Audited:
    """One claim and what the data say of it."""

    claim: Claim
    scope: Scope
    judgement: Judgement
    reason: Reason | None = None
    """Why it is contradicted or not supported, or in what it does not agree."""
    found: Figure | None = None
    """What the data give in place of the stated figure."""
    alternative: Scope | None = None
    """Other scenarios of which the claim would be true."""

    @property
    def unit(self) -> str:
        """The unit of the stated figure and of the found one."""
        if self.claim.kind in COMPARISONS:
            return PERCENT if self.claim.kind.startswith("percent") else TIMES
        return metric_of(self.claim.metric).unit

    @property
    def difference(self) -> float | None:
        """How far the data are from what was stated; None where there is nothing to subtract."""
        stated = self.claim.stated
        return None if stated is None or not self.found else stated.difference(self.found.value)

    @property
    def difference_percent(self) -> float | None:
        """The same in percent of what was stated."""
        stated = self.claim.stated
        if stated is None or self.found is None or self.difference is None:
            return None
        nearest = self.found.value - self.difference
        return None if nearest == 0 else 100 * self.difference / abs(nearest)

    @property
    def is_inside_interval(self) -> bool | None:
        """Whether the data cannot rule the stated figure out; None where there is no telling."""
        stated, found = self.claim.stated, self.found
        if stated is None or found is None or found.low is None or found.high is None:
            return None
        return stated.low <= found.high and found.low <= stated.high

    @property
    def digits(self) -> int:
        """How many digits tell the stated figure and the found one apart."""
        return max(DIGITS, self.claim.stated.digits if self.claim.stated else 0)


def audit(
    claims: SectionFile[Claims], scenarios: Scenarios, confidence: float = DEFAULT_CONFIDENCE
) -> list[Audited]:
    """Judge every claim; StudyError where one is about scenarios or figures that there are not."""
    audited = []
    for number, claim in enumerate(claims.section.claims):
        scope = _scope(claims, number, scenarios)
        found = _found(claim, scope, scenarios, confidence)
        if isinstance(found, ReasonKind):
            reason = Reason(found)
            audited.append(Audited(claim, scope, Judgement.NOT_SUPPORTED, reason))
            continue
        judgement, why = _judged(claim, found)
        alternative = None
        if claim.stated is not None and judgement is not Judgement.AGREES:
            alternative = _alternative(claim, scope, scenarios, confidence)
        audited.append(Audited(claim, scope, judgement, why, found, alternative))
    return audited


def _scope(claims: SectionFile[Claims], number: int, scenarios: Scenarios) -> Scope:
    """The scenarios of a claim, with the levels as the results write them."""
    claim = claims.section.claims[number]
    try:
        scenarios.require_metric(claim.metric)
    except InputError as error:
        raise claims.error(("claims", number, "metric"), str(error)) from None

    def checked(side: str, levels: Levels) -> Levels:
        try:
            return {name: scenarios.level(name, level) for name, level in levels.items()}
        except InputError as error:
            raise claims.error(("claims", number, side), str(error)) from None

    one, changed = checked("of", claim.of), checked("than", claim.than)
    scope = Scope(one, {**one, **changed} if changed else {})
    if changed and not scope.apart:
        raise claims.error(("claims", number, "than"), "names the same levels as `of`")
    covered = len(scenarios.groups(claim.metric, one))
    if claim.kind not in {"mean", *COMPARISONS} - {SPREAD_RATIO} and covered > 1:
        message = f"is of one scenario, and `of` means {covered}; name more levels"
        raise claims.error(("claims", number, claim.kind), message)
    return scope


def _found(
    claim: Claim, scope: Scope, scenarios: Scenarios, confidence: float
) -> Figure | ReasonKind:
    """The figure that the data give, or why they give none."""
    if claim.kind in COMPARISONS:
        return _compared(claim, scenarios.pairs(claim.metric, scope), confidence)
    groups = scenarios.groups(claim.metric, scope.one)
    if not groups:
        return ReasonKind.NO_RUNS
    if claim.kind == "mean":
        return mean_figure(groups, confidence, is_amount=metric_of(claim.metric).is_amount)
    if claim.kind.endswith("standard_deviation"):
        population = claim.kind.startswith("population")
        spread = spread_figure(groups[0], confidence, population=population)
        return spread or _no_deviation(groups[0])
    return single_figure(groups[0], claim.kind) or ReasonKind.NOT_PUBLISHED


def _compared(
    claim: Claim, pairs: Sequence[tuple[Group, Group]], confidence: float
) -> Figure | ReasonKind:
    if not pairs:
        return ReasonKind.NO_RUNS
    if claim.kind == SPREAD_RATIO:
        untold = [group for group in pairs[0] if group.standard_deviation is None]
        reason = _no_deviation(untold[0]) if untold else ReasonKind.NOT_POSITIVE
        return spread_ratio_figure(*pairs[0], confidence) or reason
    figure = ratio_figure if claim.ordering is None else order_figure
    ratio = figure(pairs, confidence)
    return ReasonKind.NOT_POSITIVE if ratio is None else ratio.changed(COMPARISONS[claim.kind])


def _no_deviation(group: Group) -> ReasonKind:
    return ReasonKind.NO_DEVIATION if group.spread is None else ReasonKind.NOT_PUBLISHED


def _judged(claim: Claim, found: Figure) -> tuple[Judgement, Reason | None]:
    if claim.ordering is not None:
        return _ordered(found, is_more=claim.ordering == "more")
    if _holds(claim, found):
        return Judgement.AGREES, None
    if _is_opposite(claim, found):
        return Judgement.CONTRADICTED, Reason(ReasonKind.OPPOSITE)
    return Judgement.DIFFERS, _outside(claim, found)


def _ordered(ratio: Figure, *, is_more: bool) -> tuple[Judgement, Reason | None]:
    if ratio.low is None or ratio.high is None:
        return Judgement.NOT_SUPPORTED, Reason(ReasonKind.NO_SPREAD)
    if ratio.low <= 1 <= ratio.high:
        return Judgement.NOT_SUPPORTED, Reason(ReasonKind.NOT_APART)
    if (ratio.low > 1) != is_more:
        return Judgement.CONTRADICTED, Reason(ReasonKind.OPPOSITE)
    others = [part for part in ratio.parts if (part > 1) != is_more]
    if not others:
        return Judgement.AGREES, None
    counts = {"count": len(others), "all": len(ratio.parts)}
    return Judgement.AGREES_IN_PART, Reason(ReasonKind.EXCEPTIONS, counts)


def _holds(claim: Claim, found: Figure) -> bool:
    """Whether the data give the stated figure; of a range, whether all scenarios lie in it."""
    stated = claim.stated
    if stated is None:
        return False
    values = found.parts if stated.is_range and found.parts else (found.value,)
    return all(_is_allowed(claim, stated, value) for value in values)


def _is_allowed(claim: Claim, stated: Stated, value: float) -> bool:
    # A figure that lies just on the edge of what is allowed is not refused for its last bit.
    return abs(stated.difference(value)) <= claim.allowance + 1e-9 * abs(value)


def _outside(claim: Claim, found: Figure) -> Reason | None:
    """Which of several scenarios lie outside of a stated range, if it is one."""
    stated = claim.stated
    if stated is None or not stated.is_range or len(found.parts) <= 1:
        return None
    outside = sum(not _is_allowed(claim, stated, part) for part in found.parts)
    ends = {"low": min(found.parts), "high": max(found.parts)}
    return Reason(ReasonKind.OUTSIDE, {"count": outside, "all": len(found.parts), **ends})


def _is_opposite(claim: Claim, found: Figure) -> bool:
    """Whether the claim says less and the data surely more, or the other way round."""
    stated = claim.stated
    if claim.kind not in COMPARISONS or stated is None or found.low is None or found.high is None:
        return False
    equal = COMPARISONS[claim.kind](1.0)
    return (stated.low > equal > found.high) or (stated.high < equal < found.low)


def _alternative(
    claim: Claim, scope: Scope, scenarios: Scenarios, confidence: float
) -> Scope | None:
    """The scope nearest to a wrong claim's own of which it would be true."""
    for other in scenarios.other_scopes(scope):
        found = _found(claim, other, scenarios, confidence)
        if isinstance(found, Figure) and _holds(claim, found):
            return other
    return None
