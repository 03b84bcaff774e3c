"""What may succeed another time is tried again, as often as the policy says and no longer."""

from __future__ import annotations

import pytest

from prumo.http import BrokenConnectionError, RetryPolicy, TransientError, retry

QUICK = RetryPolicy(attempts=4, first_wait_seconds=0.001, longest_wait_seconds=0.003)


class Flaky:
    """Fails with each of the errors in turn, then gives the number of its call."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return self.calls


def test_what_succeeds_is_tried_once() -> None:
    assert retry(Flaky(), QUICK) == 1


def test_each_wait_is_twice_as_long_up_to_the_longest() -> None:
    waits: list[tuple[str, float]] = []
    flaky = Flaky(*(TransientError(str(number)) for number in range(3)))

    answer = retry(flaky, QUICK, lambda error, seconds: waits.append((str(error), seconds)))

    assert answer == 4
    assert waits == [("0", 0.001), ("1", 0.002), ("2", 0.003)]


def test_after_the_last_attempt_the_last_error_is_raised() -> None:
    flaky = Flaky(*(BrokenConnectionError(str(number)) for number in range(9)))

    with pytest.raises(BrokenConnectionError, match="3"):
        retry(flaky, QUICK)

    assert flaky.calls == 4


def test_the_wait_that_a_server_asks_for_is_kept() -> None:
    waits: list[float] = []

    retry(Flaky(TransientError("busy", 0.002)), QUICK, lambda _, seconds: waits.append(seconds))

    assert waits == [0.002]


def test_a_server_that_asks_for_a_long_wait_is_not_asked_again() -> None:
    flaky = Flaky(TransientError("busy", 600.0))

    with pytest.raises(TransientError, match="busy"):
        retry(flaky, QUICK)

    assert flaky.calls == 1


def test_other_errors_are_not_tried_again() -> None:
    flaky = Flaky(ValueError("wrong address"))

    with pytest.raises(ValueError, match="wrong address"):
        retry(flaky, QUICK)

    assert flaky.calls == 1
