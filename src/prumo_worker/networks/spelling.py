"""The nearest right spelling of a word, for messages."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def hint(word: str, known: Iterable[str]) -> str:
    """What was perhaps meant, or all there is when nothing is near.

    >>> hint("convolutoin", ["convolution", "dense"])
    "did you mean 'convolution'?"
    """
    choices = list(known)
    near = get_close_matches(word, choices, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(choices)}"
