"""What is said of two things: how much less, how surely, and nothing where runs do not tell."""

from __future__ import annotations

import pytest

from prumo.money.difference import Aspect, Difference
from prumo.report.cost_sentences import difference_message


@pytest.mark.parametrize(
    ("aspect", "one", "other", "chance_less", "told"),
    [
        (Aspect.COST, 1.0, 3.226, 0.9999, "A costs 3.2 times less than B; the chance that this "),
        (Aspect.COST, 3.0, 1.0, 0.001, "A costs 3.0 times as much as B; the chance that this "),
        (Aspect.COST, 0.9, 1.0, 0.98, "A costs 10.0 % less than B; the chance that this is truly "),
        (Aspect.COST, 1.2, 1.0, 0.02, "A costs 20.0 % more than B; "),
        (Aspect.TIME, 1.0, 10.0, 1.0, "A takes 10.0 times less time than B; "),
        (Aspect.TIME, 1.25, 1.0, 0.0, "A takes 25.0 % more time than B; "),
        (Aspect.TIME, 4.0, 1.0, 0.0, "A takes 4.0 times as long as B; "),
        (Aspect.TIME, 0.8, 1.0, 0.99, "A takes 20.0 % less time than B; "),
    ],
)
def test_a_difference_that_the_runs_tell_is_said_in_its_direction(
    aspect: Aspect, one: float, other: float, chance_less: float, told: str
) -> None:
    assert str(
        difference_message(Difference(aspect, "A", "B", one, other, chance_less))
    ).startswith(told)


@pytest.mark.parametrize("chance_less", [0.03, 0.5, 0.97])
def test_a_difference_in_doubt_is_not_claimed(chance_less: float) -> None:
    said = str(difference_message(Difference(Aspect.COST, "A", "B", 1.0, 2.0, chance_less)))

    assert said.startswith(
        "These runs show no clear difference in cost between A and B: the probability that A is"
    )
    assert "times" not in said


def test_single_runs_are_not_called_sure() -> None:
    said = str(difference_message(Difference(Aspect.TIME, "A", "B", 1.0, 2.0, None)))

    assert said.startswith("In these runs A takes 2.0 times less time than B; with a single run")


def test_what_is_the_same_in_every_run_is_no_matter_of_chance() -> None:
    cost = Difference(Aspect.COST, "A", "B", 0.0, 0.0, 0.5, is_same=True)
    time = Difference(Aspect.TIME, "A", "B", 2.0, 2.0, None, is_same=True)

    assert str(difference_message(cost)) == "All runs of A and B cost the same."
    assert str(difference_message(time)) == "All runs of A and B take the same time."


def test_nothing_has_no_ratio() -> None:
    time = Difference(Aspect.TIME, "A", "B", 0.0, 1.0, 1.0)
    one = Difference(Aspect.COST, "A", "B", 0.0, 1.0, 1.0)
    other = Difference(Aspect.COST, "A", "B", 1.0, 0.0, 0.0)

    assert (
        str(difference_message(one)) == "As billed, the runs of A cost nothing, and those of B do."
    )
    assert (
        str(difference_message(other))
        == "As billed, the runs of B cost nothing, and those of A do."
    )
    assert (
        str(difference_message(time))
        == "As measured, the runs of A take no time, and those of B do."
    )
