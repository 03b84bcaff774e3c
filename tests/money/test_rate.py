"""Rates, exchange and the grid: amounts with all that they came from."""

from __future__ import annotations

from datetime import date

import pytest
from pydantic import ValidationError

from prumo.errors import InputError
from prumo.money.billing import Exchange, Rate, currency_code, rate_of
from prumo.money.energy import grid_of
from prumo.money.price import Kind, Purchase, Unit
from prumo.report.cost_sentences import exchange_message, grid_message, rate_message
from support.priced_runs import price, rate


def test_an_hourly_price_pays_for_billed_seconds() -> None:
    azure = rate(0.6, provider="azure")

    assert azure.cost(6 * 60 + 45) == pytest.approx(0.06)
    assert azure.cost(6 * 60 + 45, exact=True) == pytest.approx(0.0675)


def test_serverless_pays_by_the_millisecond_of_its_memory_size() -> None:
    two_gigabytes = rate(0.00004, provider="aws", kind=Kind.SERVERLESS, unit=Unit.SECOND, sku="2GB")

    assert two_gigabytes.cost(0.8604) == pytest.approx(0.861 * 0.00004)


def test_data_pays_by_the_gigabyte_and_requests_by_number() -> None:
    assert rate(0.016, unit=Unit.GIGABYTE).cost(2.5) == pytest.approx(0.04)
    assert rate(0.0000002, unit=Unit.REQUEST).cost(1_000_000) == pytest.approx(0.2)


def test_a_rate_keeps_what_it_came_from() -> None:
    kept = rate_of(price(0.2, provider="aws", spot=0.05), Purchase.SPOT)

    assert (kept.amount, kept.purchase, kept.billing) == (0.05, "spot", "per_second_from_minute")
    assert (kept.price, kept.source, kept.as_of) == ("aws/box@here", "a quote", date(2026, 11, 1))
    assert Rate.model_validate_json(kept.model_dump_json()) == kept
    assert str(rate_message(kept)) == (
        "aws/box@here, spot, $0.05/h as of 2026-11-01, billed by the second, a minute at least; "
        "from a quote"
    )


def test_a_machine_that_is_not_sold_so_has_no_rate() -> None:
    with pytest.raises(InputError, match="lab/box@here has no spot price; it is sold on demand"):
        rate_of(price(0.2), Purchase.SPOT)
    with pytest.raises(InputError, match="has no amount at all"):
        rate_of(price(None), Purchase.ON_DEMAND)


def test_an_exchange_says_its_rate_and_its_date() -> None:
    real = Exchange(currency="BRL", rate=5.4, as_of=date(2026, 11, 14))

    assert real.of(2.0) == pytest.approx(10.8)
    assert str(exchange_message(real)) == "$1.00 = R$5.40 on 2026-11-14"


@pytest.mark.parametrize("worth", [0, -1, float("nan"), float("inf")])
def test_a_currency_that_is_worth_nothing_is_no_exchange(worth: float) -> None:
    with pytest.raises(ValidationError):
        Exchange(currency="BRL", rate=worth, as_of=date(2026, 11, 14))


def test_a_currency_is_three_letters() -> None:
    assert currency_code(" brl") == "BRL"
    for wrong in ("R$", "real", "B1L", ""):
        with pytest.raises(InputError, match="three letters"):
            currency_code(wrong)


def test_the_grid_of_a_region_is_dated_and_unknown_elsewhere() -> None:
    brazil = grid_of("gcp/n2-standard-4@southamerica-east1")

    assert brazil is not None
    assert brazil.grams_per_kwh == 67.32
    assert "2024" in str(grid_message(brazil))
    assert grid_of("azure/Standard_F4s_v2@eastus") is None
    assert grid_of("gcp/n2-standard-4@nowhere") is None
