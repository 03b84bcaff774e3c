"""How many of the photographs that models are judged on they have learnt from."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.model.comparison.comparison import Comparison
    from prumo.model.comparison.variant import Variant
    from prumo.model.image_folder import ImageFolder


def seen_counts(
    variants: Sequence[Variant], folder: ImageFolder, names: Sequence[str]
) -> tuple[int | None, ...]:
    """Of each variant, how many of the named images; None where its package does not say."""
    lists = [variant.package.seen for variant in variants]
    if all(seen is None for seen in lists):
        return (None,) * len(lists)
    judged = [folder.sha256(name) for name in names]
    return tuple(None if seen is None else sum(one in seen for one in judged) for seen in lists)


def seen_sentences(comparison: Comparison) -> Iterator[str]:
    """What figures of seen photographs are worth; and of which model nobody knows them."""
    material = comparison.material
    if material is None:
        return
    names: dict[int, list[str]] = defaultdict(list)
    for row in comparison.rows:
        if row.seen:
            names[row.seen].append(row.variant)
    for count, variants in names.items():
        yield (
            f"{_listed(variants)} learnt from {count} of the {material.images} judged photographs: "
            "the figures of accuracy are better than they would be on new photographs. How often "
            "the variants agree remains meaningful."
        )
    unknown = [
        row.variant
        for row in comparison.rows
        if row.seen is None and row.manifest.origin.format == "retina"
    ]
    if unknown:
        yield (
            f"Whether {_listed(unknown)} learnt from the judged photographs is not known: the "
            "package has no list of them."
        )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
