"""Every warning has a text, advice, translations and an entry in the documentation."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

import pytest

from prumo.report.language import LANGUAGES, language
from prumo.report.warnings import CATALOGUES, Catalogue, CostNote, MachineWarning, WarningKind

DOCS = Path(__file__).parent.parent.parent / "docs" / "warnings.md"
EVERY = [kind for catalogue in CATALOGUES for kind in catalogue]


@pytest.mark.parametrize("tag", LANGUAGES)
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.key)
def test_a_warning_renders_in_every_language(kind: Catalogue, tag: str) -> None:
    told_in = language(tag)
    values = _values(kind.value.text)
    texts = [told_in.say(kind.message(**values))]
    for name, text in kind.value.parts.items():
        texts.append(told_in.say(kind.part(name, **_values(text))))
    if kind.value.advice:
        texts.append(told_in.say(kind.advice))

    assert all(texts)
    assert not any("{" in text for text in texts)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.key)
def test_a_warning_has_an_entry_in_the_documentation(kind: Catalogue) -> None:
    assert f"`{kind.key}`" in DOCS.read_text("utf-8")


def test_results_and_machines_never_warn_without_advice() -> None:
    assert not [kind for kind in (*WarningKind, *MachineWarning) if not kind.value.advice]


def test_no_two_warnings_have_one_name_or_one_text() -> None:
    assert len({kind.key for kind in EVERY}) == len(EVERY)
    assert len({kind.value.text for kind in EVERY}) == len(EVERY)


def test_a_plural_follows_the_count() -> None:
    one = WarningKind.UNREADABLE.message(count=1, names="C01-r1")
    two = WarningKind.UNREADABLE.message(count=2, names="C01-r1, C01-r2")

    assert str(one).startswith("1 run folder could")
    assert str(two).startswith("2 run folders could")
    assert language("pt-BR").say(two).startswith("2 pastas")


def test_the_numbers_of_a_warning_are_written_as_the_language_writes_them() -> None:
    steal = MachineWarning.STEAL.message(percent=4.25)
    cores = CostNote.OTHER_CORES.message(cores="4 cores", price="p", vcpus=2.5, names="C1")

    assert str(steal).startswith("4.2 %")
    assert language("pt-BR").say(steal).startswith("4,2 %")
    assert "2,5" in language("pt-BR").say(cores)


def _values(text: str) -> dict[str, object]:
    """A value for each field of a text: a number where it is formatted as one."""
    fields = ((name, form) for _, name, form, _ in Formatter().parse(text) if name)
    return {name: 2 if name == "count" else 1.5 if form else "some" for name, form in fields}
