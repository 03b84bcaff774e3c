from __future__ import annotations

import pytest

from prumo.quantity import Estimate, Quantity, digits, scale_of


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00123, "s", "1.230 ms"),
        (12.3456, "s", "12.35 s"),
        (599.0, "s", "599 s"),
        (5400.0, "s", "90 min"),
        (9000.0, "s", "2.500 h"),
        (4.21e-8, "s", "42.10 ns"),
        (536870912, "B", "512 MiB"),
        (1.5 * 2**30, "B", "1.500 GiB"),
        (45.678, "%", "45.68 %"),
        (1234.5678, "images/s", "1,235 images/s"),
        (0.0, "s", "0 s"),
        (-0.0021, "s", "-2.100 ms"),
        (7.0, "", "7"),
        (2.5e9, "", "2.500e+09"),
        (None, "s", "\N{EN DASH}"),
        (float("nan"), "s", "nan s"),
    ],
)
def test_a_quantity_has_four_digits_and_a_unit_of_its_size(
    value: float | None, unit: str, text: str
) -> None:
    assert str(Quantity(value, unit)) == text


def test_an_interval_has_the_unit_of_its_mean() -> None:
    scale = scale_of(1.0, "s")

    assert scale.interval(0.9996, 1.0004) == "[0.9996, 1.000]"
    assert scale.interval(None, None) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "USD", "$0.00"),
        (0.05, "USD", "$0.05"),
        (0.00123456, "USD", "$0.001235"),
        (2.4, "USD/h", "$2.40/h"),
        (1234567.891, "BRL", "R$1,234,567.89"),
        (-3.5, "EUR", "-€3.50"),
        (12.0, "CHF", "CHF\N{NO-BREAK SPACE}12.00"),
        (None, "USD", "\N{EN DASH}"),
    ],
)
def test_money_has_its_cents_and_small_amounts_the_digits_that_count(
    value: float | None, unit: str, text: str
) -> None:
    assert str(Quantity(value, unit)) == text


def test_a_ratio_may_be_told_with_fewer_digits() -> None:
    assert str(Quantity(1.23456, digits=3)) == "1.23"


def test_an_estimate_stands_in_the_scale_of_its_value() -> None:
    assert str(Estimate(0.9, 0.8, 1.1, "s")) == "900 ms [800, 1,100]"


def test_whole_numbers_stay_whole() -> None:
    assert [digits(number) for number in (0, 12, -1500.0)] == ["0", "12", "-1,500"]
