"""Which scenarios do the same work, so that one can be chosen instead of another. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

# What is trained or asked, on what and how much of it; all other factors are ways to do it.
WORK_FACTORS = frozenset(
    {"network", "model", "dataset", "image_size", "images", "only_class", "epochs"}
    | {"experiment", "task", "workload"}
)


def work_factors(factors: Sequence[str], given: Sequence[str] = ()) -> list[str]:
    """The factors that change what is done, and not only how; `given` names more of them.

    >>> work_factors(["machine", "network", "batch_size"])
    ['network']
    """
    return [factor for factor in factors if factor in WORK_FACTORS or factor in given]


def by_work(
    runs: pl.DataFrame, factors: Sequence[str], given: Sequence[str] = ()
) -> list[pl.DataFrame]:
    """The runs apart by the work that they do, in the order of the table."""
    work = work_factors(factors, given)
    if not work or runs.is_empty():
        return [runs]
    return runs.partition_by(work, maintain_order=True)
