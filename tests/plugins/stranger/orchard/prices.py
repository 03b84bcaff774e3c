"""A price source: the price list of a cloud that nobody else knows."""

from collections.abc import Iterator, Sequence

from prumo.errors import InputError
from prumo.money.price import Price
from prumo.money.sources.documents import Document, Origin, read_json


class OrchardPrices:
    """Reads `{"orchard_prices": {"small": 0.5}}`: US dollars per hour by machine."""

    title = "a price list of Orchard Cloud, JSON"

    def recognises(self, head: str) -> bool:
        """By its first key."""
        return head.lstrip().startswith('{"orchard_prices"')

    def read(self, documents: Sequence[Document], origin: Origin) -> Iterator[Price]:
        """A price for each machine."""
        for document in documents:
            content = read_json(document)
            if not isinstance(content, dict) or "orchard_prices" not in content:
                raise InputError(f"{document.name}: has no key `orchard_prices`")
            for machine, usd_per_hour in content["orchard_prices"].items():
                yield Price(
                    provider="orchard",
                    sku=machine,
                    region="home",
                    on_demand=usd_per_hour,
                    as_of=origin.as_of,
                    source="Orchard Cloud's price list",
                )
