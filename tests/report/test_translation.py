"""Whatever a report or an answer can say has a text in every language."""

from __future__ import annotations

from string import Formatter

import pytest

from prumo.report.language import LANGUAGES, language
from support.spoken_texts import Spoken, spoken_texts, unknown_texts

TRANSLATED = [tag for tag in LANGUAGES if tag != "en"]
# Messages whose text is a variable, which `spoken_texts` knows from elsewhere.
KNOWN_FROM_ELSEWHERE = {
    "prumo/message.py",
    "prumo/money/billing.py",
    "prumo/report/render.py",
    "prumo/report/sentence.py",
    "prumo/report/warnings.py",
    "prumo_retina/photograph/pixels.py",
}


@pytest.fixture(scope="module")
def spoken() -> list[Spoken]:
    return spoken_texts()


@pytest.mark.parametrize("tag", TRANSLATED)
def test_every_text_is_translated(tag: str, spoken: list[Spoken]) -> None:
    known = language(tag).texts
    missing = [f"{item.place}: {item.text}" for item in spoken if item.text not in known]

    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_translation_has_the_names_and_forms_of_its_text(tag: str, spoken: list[Spoken]) -> None:
    known = language(tag).texts
    wrong = [
        (item.text, told)
        for item in spoken
        for told in known.get(item.text, ())
        if _fields(told) != _fields(item.text) or told.count("`") != item.text.count("`")
    ]

    assert wrong == []


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_text_with_a_plural_has_one_in_translation(tag: str, spoken: list[Spoken]) -> None:
    known = language(tag).texts
    wrong = [
        item
        for item in spoken
        if item.text in known and len(known[item.text]) != (2 if item.plural else 1)
    ]

    assert wrong == []


@pytest.mark.parametrize("tag", TRANSLATED)
def test_nothing_is_translated_that_nobody_says(tag: str, spoken: list[Spoken]) -> None:
    said = {item.text for item in spoken}

    assert [text for text in language(tag).texts if text not in said] == []


def test_the_text_of_every_message_can_be_read_in_the_source() -> None:
    hidden = [place for place in unknown_texts() if _file(place) not in KNOWN_FROM_ELSEWHERE]

    assert hidden == []


def _file(place: str) -> str:
    return place.partition(":")[0]


def _fields(text: str) -> list[tuple[str, str]]:
    return sorted((name, form or "") for _, name, form, _ in Formatter().parse(text) if name)
