"""Where prices come from: the plug-in point `prumo.price_sources`, and finding one for a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from csv import Error as TableError  # `csv` is a module of this package once it is loaded
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from prumo.errors import InputError, PluginError, did_you_mean
from prumo.money.sources.documents import Document, Origin, Request
from prumo.plugins import PRICE_SOURCES

if TYPE_CHECKING:
    from prumo.money.price import Price
    from prumo.progress import Progress

FALLBACK = "skypilot"
"""The source that is asked for a provider for which no source is the default."""
_HEAD_CHARACTERS = 4096


@runtime_checkable
class PriceSource(Protocol):
    """One kind of price list, and how its files are read.

    A package adds one in its own `pyproject.toml`, as a class without constructor arguments or as
    an object; `prumo price import FILE --from mycloud` then reads its files, and without `--from`
    it is found by how a file begins:

        [project.entry-points."prumo.price_sources"]
        mycloud = "my_package.prices:MyCloudPrices"

        class MyCloudPrices:
            title = "a price list of My Cloud, JSON"

            def recognises(self, head: str) -> bool:
                return '"my_cloud_prices"' in head

            def read(self, documents: Sequence[Document], origin: Origin) -> Iterable[Price]:
                for document in documents:
                    for row in read_json(document)["my_cloud_prices"]:
                        yield Price(
                            provider="mycloud", sku=row["type"], region=row["region"],
                            on_demand=row["usd_per_hour"], as_of=origin.as_of, source=self.title,
                        )

    `Price` is in `prumo.money.price`; the other types, `read_json` and, for sources that can also
    fetch, `fetch` and `fetch_json` with their retries are in `prumo.money.sources.documents`.
    """

    title: str
    """What its files are, for messages: "an offer file of the AWS price list, JSON or CSV"."""

    def recognises(self, head: str) -> bool:
        """Whether a text that begins so is of this kind; at most one source should say so."""

    def read(self, documents: Sequence[Document], origin: Origin) -> Iterable[Price]:
        """The prices in documents that belong together, as the pages of one answer.

        Prices that are of no use (zero, negative, undated) may be among them: they are reported and
        left out afterwards.

        Raises:
            InputError: A document is not what it seemed; the message names it and the line.
        """


@runtime_checkable
class FetchingSource(PriceSource, Protocol):
    """A price source that can also ask a public service: `prumo price update --from mycloud`."""

    default_for: tuple[str, ...]
    """The providers for which it is asked when the user names no source."""

    def fetch(self, request: Request, progress: Progress, today: date) -> list[Price]:
        """The prices that were asked for, as far as the service has them.

        Raises:
            DownloadError: The service did not answer; the prices known so far are kept.
            InputError: It cannot have such prices.
        """


def find_source(name: str) -> PriceSource:
    """The price source of that name.

    Raises:
        InputError: No installed package has one of this name.
        PluginError: It cannot be loaded, or is not a price source.
    """
    loaded = PRICE_SOURCES.load(name)
    try:
        source = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:
        raise PluginError(
            f"the price source '{name}' cannot be made: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(source, PriceSource):
        raise PluginError(f"the price source '{name}' lacks title, recognises or read")
    return source


def find_fetching_source(name: str) -> FetchingSource:
    """The price source of that name, which must be able to fetch."""
    known = fetching_sources()
    if name not in known:
        find_source(name)
        raise InputError(f"prices cannot be fetched from '{name}'; {did_you_mean(name, known)}")
    return known[name]


def default_source(provider: str) -> str:
    """The name of the source that is asked for the prices of a provider."""
    known = fetching_sources()
    return next((name for name in known if provider in known[name].default_for), FALLBACK)


def fetching_sources() -> dict[str, FetchingSource]:
    """Every installed source that can fetch, by name."""
    return {
        name: source for name, source in _installed().items() if isinstance(source, FetchingSource)
    }


def read_files(files: Sequence[Path], name: str, origin: Origin) -> list[Price]:
    """The prices in files of one source; without its name, it is found by how the first begins."""
    place = ", ".join(map(str, files))
    with ExitStack() as stack:
        documents = [
            Document(str(file), stack.enter_context(file.open(encoding="utf-8-sig", newline="")))
            for file in files
        ]
        try:
            source = find_source(name) if name else _recognised(documents[0])
            prices = list(source.read(documents, origin))
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: is no text in UTF-8") from error
        except TableError as error:
            raise InputError(f"{place}: is no table: {error}") from error
    if not prices:
        raise InputError(f"{place}: no price was found in it")
    return prices


def _recognised(document: Document) -> PriceSource:
    head = document.text.read(_HEAD_CHARACTERS)
    document.text.seek(0)
    installed = _installed()
    fitting = [name for name, source in installed.items() if source.recognises(head)]
    if len(fitting) > 1:
        raise InputError(
            f"{document.name}: may be a price list of {' or '.join(fitting)}; name one with --from"
        )
    if not fitting:
        forms = "; ".join(f"{name}: {source.title}" for name, source in installed.items())
        raise InputError(f"{document.name}: is no price list that Prumo knows ({forms})")
    return installed[fitting[0]]


def _installed() -> dict[str, PriceSource]:
    """All sources that load; a broken one is an error only where it is asked for by name."""
    found = {}
    for name in PRICE_SOURCES.names():
        try:
            found[name] = find_source(name)
        except PluginError:
            continue
    return found
