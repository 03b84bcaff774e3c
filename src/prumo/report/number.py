"""Numbers for people: three or four digits that count, and a unit of the right size."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

DIGITS = 4
MISSING = "\N{EN DASH}"
PLAIN = 1e6

SIZES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": (
        (7200.0, "h"),
        (600.0, "min"),
        (1.0, "s"),
        (1e-3, "ms"),
        (1e-6, "µs"),
        (0.0, "ns"),
    ),
    "B": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (0.0, "B")),
    "J": ((1e6, "MJ"), (1e3, "kJ"), (0.0, "J")),
}
FACTORS = {
    "h": 3600.0,
    "min": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "µs": 1e-6,
    "ns": 1e-9,
    "TiB": 2.0**40,
    "GiB": 2.0**30,
    "MiB": 2.0**20,
    "KiB": 2.0**10,
    "B": 1.0,
    "MJ": 1e6,
    "kJ": 1e3,
    "J": 1.0,
}


@dataclass(frozen=True)
class Scale:
    """A unit of a size that suits a value; what stands beside that value uses the same."""

    factor: float
    unit: str

    def number(self, value: float | None) -> str:
        """The value in this unit, without the unit."""
        return MISSING if value is None else digits(value / self.factor)

    def text(self, value: float | None) -> str:
        """The value with its unit."""
        number = self.number(value)
        return f"{number} {self.unit}" if self.unit and value is not None else number

    def interval(self, low: float | None, high: float | None) -> str:
        """Both ends of an interval; a dash where there is none."""
        if low is None or high is None:
            return MISSING
        return f"[{self.number(low)}, {self.number(high)}]"


def scale_of(value: float | None, unit: str) -> Scale:
    """The scale that shows a value best.

    >>> scale_of(0.00123, "s").text(0.00123)
    '1.230 ms'
    >>> scale_of(512 * 2**20, "B").text(512 * 2**20)
    '512 MiB'
    """
    sizes = SIZES.get(unit)
    if sizes is None:
        return Scale(1.0, unit)
    size = abs(value) if value else 1.0
    name = next(name for least, name in sizes if size >= least)
    return Scale(FACTORS[name], name)


def quantity(value: float | None, unit: str) -> str:
    """A value with a unit that suits it."""
    return scale_of(value, unit).text(value)


def digits(value: float, count: int = DIGITS) -> str:
    """A number with so many digits that count; whole numbers whole.

    >>> [digits(number) for number in (3.14159, 1234.5, 0.01234567, 12, 4.2e9)]
    ['3.142', '1,234', '0.01235', '12', '4.200e+09']
    """
    if value == 0:
        return "0"
    if abs(value) >= PLAIN or abs(value) < 1 / PLAIN:
        return f"{value:.{count - 1}e}"
    if value == int(value):
        return f"{int(value):,}"
    places = max(0, count - 1 - floor(log10(abs(value))))
    return f"{value:,.{places}f}"
