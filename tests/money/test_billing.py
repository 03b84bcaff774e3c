"""Billing rules, at their boundaries and through floating point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prumo.errors import InputError
from prumo.money.billing import (
    EXACT,
    PER_GIGABYTE,
    PER_MILLISECOND,
    PER_REQUEST,
    PER_SECOND,
    PER_SECOND_FROM_MINUTE,
    RULES,
    WHOLE_MINUTES,
    BillingRule,
    rule,
    rule_for,
)
from prumo.money.price import Kind, Unit
from prumo.report.cost_sentences import BILLING_WORDS
from support.priced_runs import price


@pytest.mark.parametrize(
    ("used", "billed"), [(0.2, 60), (59.999, 60), (60, 60), (60.001, 61), (3600.5, 3601)]
)
def test_amazon_and_google_bill_by_the_second_and_a_minute_at_least(
    used: float, billed: float
) -> None:
    assert PER_SECOND_FROM_MINUTE.billed(used) == billed


@pytest.mark.parametrize(
    ("used", "billed"), [(59.9, 0), (60, 60), (6 * 60 + 45, 360), (119.999, 60), (120, 120)]
)
def test_azure_drops_the_minute_that_was_not_ended(used: float, billed: float) -> None:
    assert WHOLE_MINUTES.billed(used) == billed


@pytest.mark.parametrize(("used", "billed"), [(1.8801, 1.881), (1.88, 1.88), (0.0004, 0.001)])
def test_serverless_compute_is_billed_by_the_begun_millisecond(used: float, billed: float) -> None:
    assert PER_MILLISECOND.billed(used) == pytest.approx(billed, abs=1e-12)


def test_an_instance_behind_an_endpoint_has_no_minimum() -> None:
    assert PER_SECOND.billed(0.4) == 1
    assert PER_SECOND.billed(12.0) == 12


def test_requests_count_whole_and_gigabytes_as_they_are() -> None:
    assert PER_REQUEST.billed(25) == 25
    assert PER_GIGABYTE.billed(0.0123) == 0.0123


def test_a_rounding_error_of_the_clock_buys_no_further_step() -> None:
    assert PER_MILLISECOND.billed(0.1 + 0.2) == 0.3
    assert PER_SECOND.billed(sum([0.1] * 30)) == 3
    assert WHOLE_MINUTES.billed(sum([0.1] * 600)) == 60


@pytest.mark.parametrize("billing", RULES.values(), ids=RULES.keys())
@given(used=st.floats(0, 1e7), more=st.floats(0, 1e5))
def test_whoever_uses_more_never_pays_less(billing: BillingRule, used: float, more: float) -> None:
    assert billing.billed(used) <= billing.billed(used + more)


@pytest.mark.parametrize("billing", RULES.values(), ids=RULES.keys())
@given(used=st.floats(0, 1e7))
def test_what_is_billed_is_within_a_step_of_what_was_used(
    billing: BillingRule, used: float
) -> None:
    assert abs(billing.billed(used) - max(used, billing.minimum)) <= (billing.step or 0) + 1e-6


def test_less_than_nothing_cannot_be_used() -> None:
    with pytest.raises(ValueError, match="nobody can use -1"):
        EXACT.billed(-1)


def test_a_rule_is_found_by_its_name_and_a_misspelt_one_is_refused() -> None:
    assert rule("whole_minutes") is WHOLE_MINUTES
    with pytest.raises(InputError, match="did you mean 'per_second'"):
        rule("per_secnd")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"provider": "aws"}, PER_SECOND_FROM_MINUTE),
        ({"provider": "gcp"}, PER_SECOND_FROM_MINUTE),
        ({"provider": "azure"}, WHOLE_MINUTES),
        ({"provider": "aws", "kind": Kind.HOSTING}, PER_SECOND),
        ({"provider": "aws", "kind": Kind.SERVERLESS, "unit": Unit.SECOND}, PER_MILLISECOND),
        ({"provider": "aws", "kind": Kind.DATA, "unit": Unit.GIGABYTE}, PER_GIGABYTE),
        ({"provider": "aws", "unit": Unit.REQUEST}, PER_REQUEST),
        ({"provider": "lab"}, EXACT),
    ],
)
def test_every_price_has_the_rule_of_its_provider(
    changes: dict[str, object], expected: BillingRule
) -> None:
    assert rule_for(price(1.0, **changes)) is expected


def test_every_rule_has_words_for_a_sentence() -> None:
    assert BILLING_WORDS.keys() == RULES.keys()
