"""What a comparison shows, in sentences that its data support, and what it does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.model.comparison.seen_photographs import seen_sentences
from prumo.statistics.comparison import holm
from prumo.statistics.interval import DEFAULT_CONFIDENCE

if TYPE_CHECKING:
    from prumo.model.comparison.comparison import Comparison, Row
    from prumo.model.comparison.pairing import Pairing
    from prumo.retina.judge.estimate import Estimate
    from prumo.statistics.ratio import Ratio

_SMALLEST_P = 0.001


def sentences(comparison: Comparison) -> list[str]:
    """Every other variant beside the first one: its speed, its answers, and how often it is right.

    The p values of all variants are corrected together: of speed as its intervals are, of
    rightness after Holm.
    """
    first, others = comparison.first, comparison.rows[1:]
    told = list(seen_sentences(comparison))
    told += [_speed(row, first, comparison.speed_up(row)) for row in others]
    judged = [(row, row.pairing) for row in others if row.pairing is not None]
    right_ps = holm([pairing.p_value for _, pairing in judged])
    for (row, pairing), p_value in zip(judged, right_ps, strict=True):
        told.append(_agreement(row, first, pairing))
        if pairing.same_label.value < 1:
            told.append(_rightness(row, first, pairing, p_value))
    return told


def _speed(row: Row, first: Row, ratio: Ratio) -> str:
    p_value = ratio.p_value
    if ratio.low is None or ratio.high is None or p_value is None:
        return f"One round does not tell whether {row.variant} is faster than {first.variant}."
    if p_value >= 1 - DEFAULT_CONFIDENCE:
        return (
            f"No difference in speed between {row.variant} and {first.variant} is shown "
            f"({ratio.value:.2f} times as fast, {ratio.low:.2f} to {ratio.high:.2f}; "
            f"{_told_p(p_value)})."
        )
    word, shown = ("faster", ratio) if ratio.value >= 1 else ("slower", ratio.inverse)
    return (
        f"{row.variant} is {shown.value:.2f} times {word} than {first.variant} (95 % interval "
        f"{shown.low:.2f} to {shown.high:.2f}; {_told_p(p_value)})."
    )


def _agreement(row: Row, first: Row, pairing: Pairing) -> str:
    told = f"{row.variant} gives {_same(pairing.same_label, 'label', first)}"
    if pairing.same_referral is not None:
        told += f", and {_same(pairing.same_referral, 'referral', first)}"
    return f"{told}; probabilities differ by at most {pairing.largest_difference:.2g}."


def _same(same: Estimate, what: str, first: Row) -> str:
    changed = round((1 - same.value) * same.n)
    counted = (
        f"another {what} than {first.variant} to {changed} of {same.n} images"
        if changed
        else f"the same {what} as {first.variant} to all {same.n} images"
    )
    if same.low is None or same.high is None:
        return counted
    return f"{counted} (agreement {same.value:.1%}, {same.low:.1%} to {same.high:.1%})"


def _rightness(row: Row, first: Row, pairing: Pairing, p_value: float) -> str:
    counts = (
        f"{pairing.only_other_right} images only {row.variant} gets right, "
        f"{pairing.only_first_right} only {first.variant} ({_told_p(p_value)})"
    )
    if p_value >= 1 - DEFAULT_CONFIDENCE:
        return f"That {row.variant} or {first.variant} is right more often is not shown: {counts}."
    better = row if pairing.only_other_right > pairing.only_first_right else first
    return f"{better.variant} is right more often: {counts}."


def _told_p(p_value: float) -> str:
    return f"p = {p_value:.3f}" if p_value >= _SMALLEST_P else f"p < {_SMALLEST_P}"
