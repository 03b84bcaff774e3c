"""Numbers for people: four digits that count, and a unit of the right size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor, isfinite, log10

DIGITS = 4
CENTS = 2
MISSING = "\N{EN DASH}"
PLAIN = 1e6

SIZES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "s": (
        (7200.0, 3600.0, "h"),
        (600.0, 60.0, "min"),
        (1.0, 1.0, "s"),
        (1e-3, 1e-3, "ms"),
        (1e-6, 1e-6, "µs"),
        (0.0, 1e-9, "ns"),
    ),
    "B": (
        (2.0**40, 2.0**40, "TiB"),
        (2.0**30, 2.0**30, "GiB"),
        (2.0**20, 2.0**20, "MiB"),
        (2.0**10, 2.0**10, "KiB"),
        (0.0, 1.0, "B"),
    ),
    "J": ((1e6, 1e6, "MJ"), (1e3, 1e3, "kJ"), (0.0, 1.0, "J")),
    "FLOP": (
        (1e18, 1e18, "EFLOP"),
        (1e15, 1e15, "PFLOP"),
        (1e12, 1e12, "TFLOP"),
        (1e9, 1e9, "GFLOP"),
        (0.0, 1.0, "FLOP"),
    ),
}
"""Unit → from which value on a scale is used, its factor and its name."""
# An ISO 4217 code, alone or as a rate such as USD/h.
MONEY = re.compile(r"([A-Z]{3})(/.+)?")
CURRENCY_SYMBOLS = {"USD": "$", "BRL": "R$", "EUR": "€", "GBP": "£"}


@dataclass(frozen=True)
class Marks:
    """How a language writes numbers: as English does, unless it says otherwise."""

    decimal: str = "."
    group: str = ","
    between: str = ", "
    """What stands between the two ends of an interval."""
    currencies: Mapping[str, str] = field(default_factory=lambda: CURRENCY_SYMBOLS)
    currency_gap: str = ""
    """What stands between a currency's symbol and the amount."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units that are words, such as images/s → what the language calls them."""

    def localized(self, english: str) -> str:
        """An English number with these marks.

        >>> Marks(decimal=",", group=".").localized("1,234.5")
        '1.234,5'
        """
        return english.translate({ord(","): self.group, ord("."): self.decimal})

    def money(self, number: str, currency: str) -> str:
        """An amount with the symbol of its currency, or its code where it has none."""
        sign, amount = ("-", number[1:]) if number.startswith("-") else ("", number)
        symbol = self.currencies.get(currency)
        if symbol is None:
            return f"{sign}{currency}\N{NO-BREAK SPACE}{amount}"
        return f"{sign}{symbol}{self.currency_gap}{amount}"


ENGLISH = Marks()


@dataclass(frozen=True)
class Scale:
    """A unit of a size that suits a value; what stands beside that value uses the same."""

    factor: float
    unit: str
    marks: Marks = ENGLISH
    digits: int = DIGITS
    """How many digits count."""

    def number(self, value: float | None) -> str:
        """The value in this unit, without the unit."""
        if value is None:
            return MISSING
        least_places = CENTS if MONEY.fullmatch(self.unit) else 0
        return self.marks.localized(digits(value / self.factor, self.digits, least_places))

    def text(self, value: float | None) -> str:
        """The value with its unit."""
        number = self.number(value)
        if value is None or not self.unit:
            return number
        if money := MONEY.fullmatch(self.unit):
            return self.marks.money(number, money[1]) + (money[2] or "")
        return f"{number} {self.unit}"

    def interval(self, low: float | None, high: float | None) -> str:
        """Both ends of an interval; a dash where there is none."""
        if low is None or high is None:
            return MISSING
        return f"[{self.number(low)}{self.marks.between}{self.number(high)}]"


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, written with a scale that suits it in the reader's language.

    The units that are scaled are s, B, J and FLOP; a currency's code stands for money.

    >>> str(Quantity(0.00123, "s")), str(Quantity(0.05, "USD")), str(Quantity(2.4, "USD/h"))
    ('1.230 ms', '$0.05', '$2.40/h')
    """

    value: float | None
    unit: str = ""
    digits: int = DIGITS

    def __str__(self) -> str:
        return self.localized(ENGLISH)

    def localized(self, marks: Marks) -> str:
        """The quantity with the marks of a language."""
        return scale_of(self.value, self.unit, marks, self.digits).text(self.value)


@dataclass(frozen=True)
class Estimate:
    """A value with the interval that it is known to, if any, both in the value's scale.

    >>> str(Estimate(1.5, 1.25, 1.75, "s"))
    '1.500 s [1.250, 1.750]'
    """

    value: float
    low: float | None
    high: float | None
    unit: str = ""
    digits: int = DIGITS

    def __str__(self) -> str:
        return self.localized(ENGLISH)

    def localized(self, marks: Marks) -> str:
        """The estimate with the marks of a language."""
        scale = scale_of(self.value, self.unit, marks, self.digits)
        text = scale.text(self.value)
        return text if self.low is None else f"{text} {scale.interval(self.low, self.high)}"


def scale_of(value: float | None, unit: str, marks: Marks = ENGLISH, digits: int = DIGITS) -> Scale:
    """The scale that shows a value best.

    >>> scale_of(0.00123, "s").text(0.00123)
    '1.230 ms'
    >>> scale_of(512 * 2**20, "B").text(512 * 2**20)
    '512 MiB'
    """
    sizes = SIZES.get(unit)
    if sizes is None:
        return Scale(1.0, marks.units.get(unit, unit), marks, digits)
    size = abs(value) if value else 1.0
    # A value that is not a number is larger than nothing, so the plain unit has to do.
    fitting = ((factor, name) for least, factor, name in sizes if size >= least)
    return Scale(*next(fitting, (1.0, unit)), marks, digits)


def digits(value: float, count: int = DIGITS, least_places: int = 0) -> str:
    """A number in English with so many digits that count; whole numbers whole.

    >>> [digits(number) for number in (3.14159, 1234.5, 0.01234567, 12, 4.2e9)]
    ['3.142', '1,234', '0.01235', '12', '4.200e+09']
    >>> digits(1234.5, least_places=2), digits(3.768e-7, least_places=2)
    ('1,234.50', '0.0000003768')
    """
    if not isfinite(value):
        return f"{value}"
    if value == 0:
        return f"{0:.{least_places}f}"
    if not least_places and not 1 / PLAIN <= abs(value) < PLAIN:
        return f"{value:.{count - 1}e}"
    if value == int(value):
        return f"{value:,.{least_places}f}"
    places = max(least_places, count - 1 - floor(log10(abs(value))))
    text = f"{value:,.{places}f}"
    if not least_places:
        return text
    # An amount has no zeros that follow its cents.
    cents = text.index(".") + 1 + least_places
    return text[:cents] + text[cents:].rstrip("0")
