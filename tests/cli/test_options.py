"""Options that are numbers take numbers only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Prumo


@pytest.mark.parametrize(
    "words",
    [
        ("price", "find", "--max"),
        ("price", "find", "--vcpus"),
        ("price", "find", "--memory"),
        ("cost", "results", "--grid"),
        ("cost", "results", "--watts-per-core"),
        ("cost", "results", "--confidence"),
        ("advise", "results", "--confidence"),
        ("retina", "predict", "model", "eye.jpg", "--threshold"),
    ],
)
def test_what_is_not_a_number_is_refused_for_its_option(
    words: tuple[str, ...], prumo_here: Prumo
) -> None:
    refused = prumo_here(*words, "nan")

    assert refused.returncode == 2
    assert f"Invalid value for '{words[-1]}': nan is not a finite number." in refused.stderr
