"""The contract of the entry points in `prumo.translations`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from string import Formatter
from types import ModuleType
from typing import ClassVar

from babel.messages.pofile import read_po

from prumo.testing.require import require


class TranslationContract:
    """A package whose folder `locale` has a file `LOCALE.po` for each language.

    class TestMine(TranslationContract):
        package = my_package
    """

    package: ClassVar[ModuleType]
    """What the entry point names."""

    def test_it_has_a_language(self) -> None:
        """A package without texts needs no entry point."""
        require(any(self._catalogs()), f"{self.package.__name__} has no file locale/LOCALE.po")

    def test_every_text_is_translated_with_its_values(self) -> None:
        """A value that a translation does not name, or names wrongly, would be lost."""
        for name, content in self._catalogs():
            for entry in read_po(content.splitlines(keepends=True)):
                text = _tuple(entry.id)[-1]
                for translated in _tuple(entry.string) if entry.id else ():
                    require(translated, f"{name}: '{text}' has no translation")
                    require(
                        _values(translated) <= _values(text),
                        f"{name}: the translation of '{text}' names other values in braces",
                    )

    def _catalogs(self) -> Iterator[tuple[str, bytes]]:
        folder = files(self.package) / "locale"
        for file in folder.iterdir() if folder.is_dir() else ():
            if file.name.endswith(".po"):
                yield file.name, file.read_bytes()


def _tuple(texts: object) -> tuple[str, ...]:
    return tuple(texts) if isinstance(texts, (list, tuple)) else (str(texts or ""),)


def _values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}
