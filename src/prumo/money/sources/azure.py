"""Azure's Retail Prices API: one item for each meter, spot apart from on demand, in pages.

It needs no account: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from prumo.errors import DownloadError, InputError
from prumo.money.sources.documents import Document, Origin, Request, fetch_json, read_json, spelt
from prumo.money.terms import Purchase

if TYPE_CHECKING:
    from prumo.money.price import Price
    from prumo.progress import Progress

URL_VARIABLE = "PRUMO_AZURE_PRICES_URL"
_URL = "https://prices.azure.com"
# From this version on, the values in a filter are case-sensitive.
_VERSION = "2023-01-01-preview"
_SKUS_OF_A_FILTER = 10
_MOST_PAGES = 2000
_PROVIDER = "azure"
_API = "Azure Retail Prices API"
_HOURS_OF_MACHINES = {
    "type": "Consumption",
    "unitOfMeasure": "1 Hour",
    "serviceName": "Virtual Machines",
}


class AzureRetailPrices:
    """Pages of the API, saved in files or asked for now."""

    title = "JSON pages of the Azure Retail Prices API"
    default_for = (_PROVIDER,)

    def recognises(self, head: str) -> bool:
        """By the names that every answer begins with."""
        return '"BillingCurrency"' in head or '"armSkuName"' in head

    def read(self, documents: Sequence[Document], origin: Origin) -> list[Price]:
        """The Linux machines on all pages; an item dates the start of its price, not its day."""
        items = (
            item for document in documents for item in _items_of(read_json(document), document.name)
        )
        return _prices_of(items, origin)

    def fetch(self, request: Request, progress: Progress, today: date) -> list[Price]:
        """The prices that hold today, of Linux machines on demand and as spot."""
        items = [
            item
            for region in request.regions
            for skus in _portions(request.skus)
            for item in _items(_first_url(region, skus), f"azure {region}", progress)
        ]
        return _prices_of(items, Origin(as_of=today))


def _portions(skus: Sequence[str]) -> list[Sequence[str]]:
    """Some SKUs at a time, so that no URL gets too long; one portion where all are wanted."""
    starts = range(0, max(1, len(skus)), _SKUS_OF_A_FILTER)
    return [skus[start : start + _SKUS_OF_A_FILTER] for start in starts]


def _first_url(region: str, skus: Sequence[str]) -> str:
    conditions = [
        "serviceName eq 'Virtual Machines'",
        "priceType eq 'Consumption'",
        f"armRegionName eq {_quoted(region)}",
    ]
    if skus:
        conditions.append(f"({' or '.join(f'armSkuName eq {_quoted(sku)}' for sku in skus)})")
    query = {"api-version": _VERSION, "$filter": " and ".join(conditions)}
    words = urlencode(query, safe="$'()", quote_via=quote)
    return f"{os.environ.get(URL_VARIABLE, _URL).rstrip('/')}/api/retail/prices?{words}"


def _quoted(word: str) -> str:
    """A word as OData writes it."""
    return "'" + word.replace("'", "''") + "'"


def _items(url: str, title: str, progress: Progress) -> Iterator[Any]:
    """The items of all pages, each of which names the next."""
    seen: set[str] = set()
    while url:
        if url in seen or len(seen) == _MOST_PAGES:
            raise DownloadError(f"{url}: the pages have no end; nothing was taken from them")
        seen.add(url)
        page = fetch_json(url, f"{title}: page {len(seen)}", progress)
        yield from _items_of(page, url)
        url = str(page.get("NextPageLink") or "") if isinstance(page, dict) else ""


def _items_of(page: Any, name: str) -> list[Any]:  # noqa: ANN401 (whatever the JSON holds)
    """The items of a page, or of a bare list of them."""
    items = page.get("Items") if isinstance(page, dict) else page
    if not isinstance(items, list):
        raise InputError(f"{name}: is no page of the {_API}: it has no Items")
    return items


def _prices_of(items: Iterable[Any], origin: Origin) -> list[Price]:
    """One price for each machine and region, from the items for on demand and for spot."""
    from prumo.money.price import Price
    from prumo.study.section import REGION, SKU

    found: dict[tuple[str, str, str], dict[Purchase, float]] = {}
    for item in items:
        if (purchase := _purchase(item)) is None:
            continue
        key = (item["armSkuName"].strip(), item["armRegionName"].strip(), item["currencyCode"])
        amounts = found.setdefault(key, {})
        # Of a machine's several meters only one is paid; with the highest nobody pays more.
        amounts[purchase] = max(item["retailPrice"], amounts.get(purchase, 0.0))
    return [
        Price(
            provider=_PROVIDER,
            sku=spelt(sku, SKU),
            region=spelt(region.lower(), REGION),
            on_demand=amounts.get(Purchase.ON_DEMAND),
            spot=amounts.get(Purchase.SPOT),
            currency=currency,
            as_of=origin.as_of,
            source=_API,
        )
        for (sku, region, currency), amounts in found.items()
    ]


def _purchase(item: Any) -> Purchase | None:  # noqa: ANN401 (whatever the JSON holds)
    """How the machine of an item is bought; None for what is no Linux machine by the hour."""
    if not isinstance(item, dict):
        return None
    product, meter = str(item.get("productName", "")), str(item.get("meterName", ""))
    texts = [item.get(name) for name in ("armSkuName", "armRegionName", "currencyCode")]
    if (
        any(item.get(name) != value for name, value in _HOURS_OF_MACHINES.items())
        or not all(isinstance(text, str) and text.strip() for text in texts)
        or not isinstance(item.get("retailPrice"), float | int)
        or any(word in product for word in ("Windows", "Cloud Services", "CloudServices"))
        or "Low Priority" in meter
    ):
        return None
    return Purchase.SPOT if "Spot" in meter else Purchase.ON_DEMAND
