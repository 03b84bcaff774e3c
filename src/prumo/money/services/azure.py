"""Azure's Retail Prices API: no account needed, filtered by the service, given in pages.

https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from prumo.errors import DownloadError
from prumo.money.services.request import Request, fetch_json
from prumo.money.sources.azure import items_of, prices_of
from prumo.money.sources.document import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from prumo.money.price import Price
    from prumo.progress import Progress

PLACE = "PRUMO_AZURE_PRICES_URL"
HOME = "https://prices.azure.com"
# From this version on, the values in a filter are case-sensitive.
_VERSION = "2023-01-01-preview"
_SKUS_OF_A_FILTER = 10
_MOST_PAGES = 2000


def fetch_prices(request: Request, progress: Progress, today: date) -> list[Price]:
    """The prices that hold today, of Linux machines on demand and as spot."""
    items = [
        item
        for region in request.regions
        for skus in _portions(request.skus)
        for item in _items(_first_url(region, skus), f"azure {region}", progress)
    ]
    return prices_of(items, Origin(as_of=today))


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
    return f"{os.environ.get(PLACE, HOME).rstrip('/')}/api/retail/prices?{words}"


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
        yield from items_of(page, url)
        url = str(page.get("NextPageLink") or "") if isinstance(page, dict) else ""
