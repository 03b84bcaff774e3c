"""What a reader must know to read an allocation of variation, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message, listed
from prumo.statistics.factorial import term_label
from prumo.statistics.metric import metric_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from prumo.statistics.factorial import Cells, Fit, Support

# Shares that add up to within this of one show as 100 %.
ROUNDED_SHARE = 0.0005


def obstacle(table: pl.DataFrame, factors: Sequence[str], metric: str) -> Message | None:
    """Why there is nothing to allot; None where there is."""
    values = {"metric": metric_of(metric).title}
    if table.is_empty():
        return Message("{metric}: no finished run has a value.", values)
    if not factors:
        return Message("No factor has runs at more than one level, so there is nothing to compare.")
    if table[metric].min() == table[metric].max():
        return Message("{metric} is the same in every run: there is no variation.", values)
    return None


def scale_remark(*, is_wanted: bool, is_logarithmic: bool) -> Message:
    """Whether logarithms were analysed, and why not."""
    if is_logarithmic:
        return Message(
            "Logarithms are analysed: factors multiply such a metric rather than add to it."
        )
    if is_wanted:
        return Message(
            "Values are analysed as they are: some are not positive and have no logarithm."
        )
    return Message("Values are analysed as they are.")


def design_remarks(cells: Cells, support: Support, fit: Fit) -> Iterator[Message]:
    """What the measured combinations allow to tell, and what they do not."""
    if support.aliased:
        yield Message(
            "The levels of {factors} change only together with those of other factors: what they "
            "do is counted with those.",
            {"factors": listed(support.aliased)},
        )
    yield from _missing_interactions(support)
    if cells.degrees_within:
        return
    if fit.degrees_left:
        yield Message(
            "Every combination ran once: the interactions that have no row of their own stand for "
            "error, which makes the tests cautious."
        )
    else:
        yield Message(
            "Every combination ran once and none is left to tell error from effects: there are "
            "shares and no tests. Replications give both."
        )


def share_remarks(total_share: float) -> Iterator[Message]:
    """How to read shares that overlap."""
    if abs(total_share - 1) > ROUNDED_SHARE:
        yield Message(
            "The shares add up to {percent:.1f} %: combinations are missing or ran unequally "
            "often, so that effects overlap or hide each other (type II sums of squares).",
            {"percent": 100 * total_share},
        )


def exact_remarks(cells: Cells) -> Iterator[Message]:
    """Why there are no tests where nothing is left as error."""
    if cells.degrees_within:
        yield Message(
            "Runs of the same combination do not differ at all, so every difference is certain and "
            "no test is needed."
        )
    else:
        yield Message(
            "The terms explain every run exactly: there are shares and no tests. Replications "
            "would tell how runs differ."
        )


def _missing_interactions(support: Support) -> Iterator[Message]:
    has_interactions = any(len(term) > 1 for term in support.terms)
    if support.is_confounded:
        yield (
            Message("These combinations do not tell larger interactions from smaller ones.")
            if has_interactions
            else Message(
                "Only effects of single factors are told: these combinations are a fraction in "
                "which interactions look like such effects, or like each other."
            )
        )
    elif support.incomplete and not has_interactions:
        yield Message(
            "Only effects of single factors are told: no two factors were measured in all "
            "combinations of their levels."
        )
    elif support.incomplete:
        names = [term_label(term) for term in support.incomplete]
        yield Message(
            "Not told by themselves, because combinations of their levels are missing: {terms}.",
            {"terms": listed(names)},
        )
    if support.is_cut:
        yield Message("Interactions of more factors are too many to be told one by one.")
