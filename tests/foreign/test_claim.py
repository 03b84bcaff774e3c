from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest

from prumo.errors import StudyError
from prumo.foreign.claims import Claim, load_claims

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "claims:\n  - says: it is so\n    metric: train_seconds\n    of: {network: vgg19}\n"


def claim(tmp_path: Path, statement: str) -> Claim:
    file = tmp_path / "claims.yaml"
    file.write_text(f"{HEAD}    {statement}\n")
    return load_claims(file).section.claims[0]


@pytest.mark.parametrize(
    ("printed", "rounding"),
    [("2.35", 0.005), ("2.350", 0.0005), ("12", 0.5), ("0.0000376", 5e-8), ("1e-3", 5e-4)],
)
def test_the_digits_that_were_printed_say_how_exact_a_figure_is(
    tmp_path: Path, printed: str, rounding: float
) -> None:
    found = claim(tmp_path, f"mean: {printed}")
    assert found.stated is not None
    assert found.stated.low == found.stated.high == float(printed)
    assert found.allowance == pytest.approx(rounding)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("4 to 6", 4, 6),
        ("at least 10", 10, inf),
        ("at most 3.5", -inf, 3.5),
        ("-10 to 10", -10, 10),
    ],
)
def test_ranges_are_as_stated_and_have_no_rounding(
    tmp_path: Path, text: str, low: float, high: float
) -> None:
    found = claim(tmp_path, f"mean: {text}")
    assert found.stated is not None
    assert (found.stated.low, found.stated.high, found.allowance) == (low, high, 0)


@pytest.mark.parametrize(("tolerance", "allowance"), [("0.1", 0.1), ("5 %", 10), ("5%", 10)])
def test_a_tolerance_replaces_the_rounding(
    tmp_path: Path, tolerance: str, allowance: float
) -> None:
    assert claim(tmp_path, f"mean: 200\n    tolerance: {tolerance}").allowance == allowance


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("", "claims[0]: needs one statement, not 0; known: mean, standard_deviation"),
        ("mean: 1\n    median: 1", "needs one statement, not 2"),
        ("mean: about 2", "claims[0].mean: should be a number as it was printed such as 2.35"),
        ("mean: 2,35", "should be a number as it was printed"),
        ("mean: 6 to 4", "claims[0].mean: 6 is more than 4"),
        ("mean: 1\n    tolerance: much", "claims[0].tolerance: should be a number in the unit"),
        ("mean: 1\n    than: {network: a}", "mean compares nothing, so `than` says nothing"),
        ("times_less: 2", "times_less needs `than`"),
        ("mean: 1e999", "claims[0].mean: is beyond all figures"),
        ("mean: 1e99999999999999999999", "claims[0].mean: is beyond all figures"),
        ("mean: 1\n    tolerance: 1e999", "claims[0].tolerance: should be a number in the unit"),
        (
            "ordering: less\n    than: {network: a}\n    tolerance: 1",
            "ordering states no figure, so `tolerance` says nothing",
        ),
        ("times_less: 2\n    than: {a: b}", "`than` names a factor of which `of` has no level"),
        ("ordering: larger\n    than: {network: a}", "'larger' is not known; known: less, more"),
        ("times_fewer: 2", "claims[0].times_fewer: unknown key; did you mean"),
    ],
)
def test_a_claim_that_cannot_be_checked_is_refused_with_its_place(
    tmp_path: Path, statement: str, told: str
) -> None:
    with pytest.raises(StudyError) as error:
        claim(tmp_path, statement)
    assert told in str(error.value)
    assert "should not be empty" not in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "claims.yaml:"))
