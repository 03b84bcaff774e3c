"""Nested lists of a JSON document as an array of numbers, and of nothing else."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from prumo.serve.http.refusal import wrong_values


def array_of_numbers(nested: list[Any]) -> np.ndarray:
    """Numbers in equal rows, however deep.

    Raises:
        Refusal: There is something else among them, or a row is longer than another.
    """
    level = nested
    # Before numpy sees it, which makes True a 1 and each string as long as the longest:
    # a megabyte of them would take a hundred gigabytes.
    while (kinds := set(map(type, level))) == {list}:
        level = list(chain.from_iterable(level))
    if not kinds <= {int, float}:
        raise wrong_values("an array must hold numbers in equal rows, and nothing else")
    try:
        array = np.array(nested)
    except ValueError:
        raise wrong_values("the rows of an array are not equally long") from None
    if array.dtype.kind not in "iuf":
        raise wrong_values("a number of an array is too large")
    return array
