"""The language of a report: its texts, and how it writes numbers and money."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Self, cast

from prumo.errors import InputError, did_you_mean
from prumo.message import Message, Series
from prumo.plugins import TRANSLATIONS
from prumo.quantity import (
    CURRENCY_SYMBOLS,
    DIGITS,
    ENGLISH,
    MISSING,
    Estimate,
    Marks,
    Quantity,
    Scale,
    digits,
    scale_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from babel import Locale

LANGUAGES = ("en", "pt-BR")
LEAST_P_TOLD = 0.001
# Units that are words; all others are the same everywhere.
UNITS = ("images", "images/s")


@dataclass(frozen=True)
class Language:
    """Tells messages, numbers and quantities; English where it knows nothing else."""

    tag: str = "en"
    """The language's name by BCP 47, as a page says it."""
    marks: Marks = ENGLISH
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """English text → its translation, or its translations for one and for many."""
    locale: Locale | None = None

    def say(self, said: Message | str) -> str:
        """A text in this language, with whatever stands in it."""
        if isinstance(said, str):
            return self.texts.get(said, (said,))[0]
        values = {name: self._value(value) for name, value in said.values.items()}
        return self._template(said).format_map(values)

    def each(self, *texts: str) -> tuple[str, ...]:
        """Several texts in this language, such as the heads of a table."""
        return tuple(map(self.say, texts))

    def told(self, value: object) -> str:
        """A value as it stands in a text: a name stays itself, all else is in this language."""
        return format(self._value(value), "")

    def number(self, value: float | None, count: int = DIGITS) -> str:
        """A number with so many digits that count."""
        return MISSING if value is None else self.marks.localized(digits(value, count))

    def formatted(self, value: float, form: str) -> str:
        """A number in a form of Python's, such as `,.1f`."""
        return self.marks.localized(format(value, form))

    def percent(self, share: float) -> str:
        """A share of one in percent, with the digits that it has, such as 95 % or 99.9 %."""
        return self.formatted(100 * share, "g") + " %"

    def share(self, share: float) -> str:
        """A share of one in percent, to a tenth."""
        return self.formatted(100 * share, ".1f") + " %"

    def p_value(self, p_value: float | None) -> str:
        """The chance of a test; a smaller one than a thousandth says no more to a reader."""
        if p_value is None:
            return MISSING
        if p_value < LEAST_P_TOLD:
            return f"< {self.formatted(LEAST_P_TOLD, 'g')}"
        return self.formatted(p_value, ".3f")

    def quantity(self, value: float | None, unit: str) -> str:
        """A value with a unit that suits it."""
        return self.scale(value, unit).text(value)

    def scale(self, value: float | None, unit: str, metric: str = "") -> Scale:
        """The scale that shows a value best, for it and what stands beside it.

        A single answer costs too little to be read: its cost is given per thousand.
        """
        if metric.startswith("cost_per_inference_"):
            return Scale(1e-3, f"{unit}/1000", self.marks)
        return scale_of(value, unit, self.marks)

    def interval(self, low: float | None, high: float | None, count: int = DIGITS) -> str:
        """Both ends of an interval with so many digits that count; a dash where there is none."""
        return scale_of(high, "", self.marks, count).interval(low, high)

    def _value(self, value: object) -> object:
        if isinstance(value, Message):
            return self.say(value)
        if isinstance(value, Series):
            return value.separator.join(map(self.told, value))
        if isinstance(value, (Quantity, Estimate)):
            return value.localized(self.marks)
        return _Number(value, self.marks) if isinstance(value, float) else value

    def _template(self, message: Message) -> str:
        templates = self.texts.get(message.text) or tuple(
            filter(None, (message.text, message.plural))
        )
        return templates[-1] if message.plural and self._is_many(message) else templates[0]

    def _is_many(self, message: Message) -> bool:
        if self.locale is None:
            return message.count != 1
        return self.locale.plural_form(message.count) != "one"


class _Number(float):
    """A number that keeps the marks of a language in whatever form a text asks for."""

    marks: Marks

    def __new__(cls, value: float, marks: Marks) -> Self:
        number = super().__new__(cls, value)
        number.marks = marks
        return number

    def __format__(self, form: str) -> str:
        return self.marks.localized(format(float(self), form))


def english() -> Language:
    """The language in which all texts are written."""
    return Language()


@cache
def language(tag: str) -> Language:
    """A language by its tag, such as `pt-BR`; letters' case and `_` for `-` do not matter."""
    known = {name.lower(): name for name in LANGUAGES}
    wanted = tag.strip().replace("_", "-").lower()
    if wanted == "en":
        return english()
    if wanted not in known:
        raise InputError(f"reports are not available in '{tag}': {did_you_mean(tag, LANGUAGES)}")
    from babel import Locale  # noqa: PLC0415 (English needs none of it)

    locale = Locale.parse(known[wanted], sep="-")
    texts = _texts(locale)
    return Language(known[wanted], _marks(locale, texts), texts, locale)


def _marks(locale: Locale, texts: Mapping[str, tuple[str, ...]]) -> Marks:
    from babel.numbers import (  # noqa: PLC0415 (English needs none of it)
        get_currency_symbol,
        get_decimal_symbol,
        get_group_symbol,
    )

    decimal = get_decimal_symbol(locale)
    return Marks(
        decimal=decimal,
        group=get_group_symbol(locale),
        between="; " if decimal == "," else ", ",
        currencies={code: get_currency_symbol(code, locale) for code in CURRENCY_SYMBOLS},
        currency_gap=locale.currency_formats["standard"].prefix[0].replace("¤", ""),
        units={unit: texts[unit][0] for unit in UNITS if unit in texts},
    )


def _texts(locale: Locale) -> dict[str, tuple[str, ...]]:
    """The texts of all installed packages; where two translate one, Prumo's own counts."""
    texts: dict[str, tuple[str, ...]] = {}
    for name in sorted(TRANSLATIONS.names(), key=lambda name: name != "prumo"):
        for text, translated in _package_texts(TRANSLATIONS.load(name), locale).items():
            texts.setdefault(text, translated)
    return texts


def _package_texts(package: object, locale: Locale) -> dict[str, tuple[str, ...]]:
    """The texts in `locale/LOCALE.po` of a package; none where it has no such file."""
    from babel.messages.pofile import read_po  # noqa: PLC0415 (English needs none of it)

    source = files(cast("ModuleType", package)) / "locale" / f"{locale}.po"
    if not source.is_file():
        return {}
    with source.open("rb") as file:
        catalog = read_po(file, locale=locale)
    return {
        _forms(entry.id)[0]: _forms(entry.string) for entry in catalog if entry.id and entry.string
    }


def _forms(texts: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)
