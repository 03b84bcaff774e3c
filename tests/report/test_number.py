from __future__ import annotations

import pytest

from prumo.report.number import quantity, scale_of


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
    ],
)
def test_a_quantity_has_four_digits_and_a_unit_of_its_size(
    value: float | None, unit: str, text: str
) -> None:
    assert quantity(value, unit) == text


def test_an_interval_has_the_unit_of_its_mean() -> None:
    scale = scale_of(1.0, "s")

    assert scale.interval(0.9996, 1.0004) == "[0.9996, 1.000]"
    assert scale.interval(None, None) == "\N{EN DASH}"
