"""The contract of the entry points in `prumo.price_sources`."""

from __future__ import annotations

import io
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from prumo.errors import InputError
from prumo.money.price import Price
from prumo.money.sources import FetchingSource, PriceSource, find_source
from prumo.money.sources.documents import Document, Origin
from prumo.plugins import PRICE_SOURCES
from prumo.testing.require import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HEAD_CHARACTERS = 4096
FOREIGN_TEXTS = ("", "{}", "[]", "name,age\nAda,36\n", "name: a study\nworkload: {kind: command}\n")
DAY = date(2026, 11, 14)


class PriceSourceContract:
    """A price source: how its files are recognised and read.

    class TestMine(PriceSourceContract):
        source = MyCloudPrices()
        sample = '{"my_cloud_prices": [...]}'
    """

    source: ClassVar[PriceSource]
    """What the entry point names; an instance where it names a class."""
    sample: ClassVar[str | Sequence[str]]
    """A price list, or the documents that together are one."""
    document_name: ClassVar[str] = "list"
    """The file name of the sample, for sources that read something from it."""

    def test_it_has_what_a_price_source_has(self) -> None:
        """Its interface is whole."""
        require(
            isinstance(self.source, PriceSource),
            "a price source has `title`, `recognises(head)` and `read(documents, origin)`",
        )
        require(self.source.title.strip(), "`title` says what its files are")

    def test_it_recognises_its_own_files_alone(self) -> None:
        """At most one source may claim a file."""
        head = self._texts()[0][:HEAD_CHARACTERS]
        require(self.source.recognises(head) is True, "it recognises how its own files begin")
        for text in FOREIGN_TEXTS:
            require(
                self.source.recognises(text) is False,
                f"it recognises only its own files, not one that begins {text!r}",
            )
        claimed = [
            name
            for name in PRICE_SOURCES.names()
            if type(find_source(name)) is not type(self.source)
            and find_source(name).recognises(head)
        ]
        require(not claimed, f"no other installed source claims the same file: {claimed}")

    def test_it_reads_prices(self) -> None:
        """Every price names what, where, how much, when and from whom."""
        prices = self._read(self._texts())
        require(prices, "the sample has at least one price")
        for price in prices:
            require(isinstance(price, Price), f"it yields prumo.money.price.Price, not {price!r}")
            require(
                price.on_demand is not None or price.spot is not None,
                f"{price.name} has an amount, `on_demand` or `spot`",
            )
            require(price.as_of, f"{price.name} is dated: by the list, or by origin.as_of")
            require(price.source, f"{price.name} says in `source` where it comes from")

    def test_it_reads_the_same_twice(self) -> None:
        """Reading keeps no state."""
        first, second = self._read(self._texts()), self._read(self._texts())
        require(first == second, "reading the same documents twice gives the same prices")

    def test_a_file_of_another_kind_is_refused(self) -> None:
        """What is not such a list gives an error for people, or no price."""
        for text in ("no list at all\n", '{"cut": ["off'):
            try:
                found = self._read([text])
            except InputError:
                continue
            except Exception as error:
                raise AssertionError(
                    f"a document that it cannot read is refused with prumo.errors.InputError, "
                    f"which names it, not with {type(error).__name__}: {error}"
                ) from error
            require(not found, "no price is found in a document that is no price list")

    def test_fetching_says_for_whom(self) -> None:
        """A source with `fetch` names the providers that it is asked for by default."""
        if hasattr(self.source, "fetch"):
            require(
                isinstance(self.source, FetchingSource)
                and all(isinstance(name, str) for name in self.source.default_for),
                "a source with `fetch` has `default_for`, a tuple of provider names",
            )

    def _texts(self) -> list[str]:
        return [self.sample] if isinstance(self.sample, str) else list(self.sample)

    def _read(self, texts: Iterable[str]) -> list[Price]:
        documents = [Document(self.document_name, io.StringIO(text)) for text in texts]
        return list(self.source.read(documents, Origin("mine", DAY)))
