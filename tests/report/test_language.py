from __future__ import annotations

import pytest

from prumo.errors import InputError
from prumo.message import Message, Series, counted, listed
from prumo.quantity import MISSING, Estimate, Quantity
from prumo.report.language import english, language

GAP = "\N{NO-BREAK SPACE}"
MESSAGES = [
    Message("Scenarios"),
    counted(1, "run"),
    counted(3, "run"),
    Message("{epoch:02d}: {share:.1f} % of {total}", {"epoch": 3, "share": 12.34, "total": 1024}),
    Message("{scenario} at {value}", {"scenario": "C1", "value": Quantity(0.00123, "s")}),
    Message("{parts}.", {"parts": Series((counted(2, "scenario"), "C1", 0.5), "; ")}),
    Message("{value}", {"value": Estimate(12.5, 11.0, 14.0, "s")}),
]


@pytest.mark.parametrize("message", MESSAGES, ids=str)
def test_english_says_what_the_message_itself_says(message: Message) -> None:
    assert english().say(message) == str(message)


def test_portuguese_tells_what_stands_in_a_message_too() -> None:
    message = Message("{parts}.", {"parts": Series((counted(2, "scenario"), Quantity(1.5, "s")))})

    assert language("pt-BR").say(message) == "2 cenários, 1,500 s."


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 execução"), (1, "1 execução"), (2, "2 execuções")]
)
def test_a_count_takes_the_plural_of_the_language(count: int, text: str) -> None:
    assert language("pt-BR").say(counted(count, "run")) == text


def test_names_are_not_translated() -> None:
    portuguese = language("pt-BR")
    message = Message("{scenario} at {value}", {"scenario": "Scenarios", "value": "1.5"})

    assert portuguese.told("Scenarios") == "Scenarios"
    assert portuguese.say(message) == "Scenarios com 1.5"


def test_the_rest_of_a_long_list_is_counted() -> None:
    names = [f"C{number}" for number in range(1, 11)]

    assert language("pt-BR").told(listed(names)).endswith("C8 e mais 2")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1234.5678, "s", "20,58 min"),
        (0.00123, "s", "1,230 ms"),
        (1234.5678, "images/s", "1.235 imagens/s"),
        (1234.5, "USD", f"US${GAP}1.234,50"),
        (-0.0123, "BRL", f"-R${GAP}0,0123"),
        (2.4, "USD/h", f"US${GAP}2,40/h"),
        (12.0, "CHF", f"CHF{GAP}12,00"),
        (4.2e9, "", "4,200e+09"),
        (None, "s", MISSING),
    ],
)
def test_portuguese_numbers_have_a_decimal_comma(value: float | None, unit: str, text: str) -> None:
    assert language("pt-BR").quantity(value, unit) == text


def test_the_ends_of_an_interval_are_told_apart_where_the_comma_is_decimal() -> None:
    assert language("pt-BR").interval(0.5, 1.25) == "[0,5000; 1,250]"
    assert english().interval(0.5, 1.25) == "[0.5000, 1.250]"
    assert english().interval(0.5, 1.25, 3) == "[0.500, 1.25]"
    assert english().interval(None, None) == MISSING


def test_shares_and_forms_follow_the_language() -> None:
    assert language("pt-BR").percent(0.999) == "99,9 %"
    assert language("pt-BR").formatted(61706, ",d") == "61.706"
    assert language("pt-BR").quantity(3.5, "USD") == f"US${GAP}3,50"


@pytest.mark.parametrize("tag", ["pt-BR", "pt_br", "PT-br "])
def test_a_language_is_found_however_it_is_spelt(tag: str) -> None:
    assert language(tag).tag == "pt-BR"


@pytest.mark.parametrize("tag", ["", "de", "pt", "pt-PT"])
def test_an_unknown_language_is_refused_with_those_that_are_known(tag: str) -> None:
    with pytest.raises(InputError, match="pt-BR"):
        language(tag)
