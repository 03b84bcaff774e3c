"""SkyPilot's catalogs on GitHub: one CSV for each provider, as old as its last commit."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from prumo.errors import DownloadError
from prumo.money.services.request import Request, fetch, fetch_json
from prumo.money.sources.document import Document, Origin
from prumo.money.sources.skypilot import read

if TYPE_CHECKING:
    from prumo.money.price import Price
    from prumo.progress import Progress

PLACE = "PRUMO_SKYPILOT_PRICES_URL"
HOME = "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master"
COMMITS_PLACE = "PRUMO_SKYPILOT_COMMITS_URL"
COMMITS = "https://api.github.com/repos/skypilot-org/skypilot-catalog/commits"


def fetch_prices(request: Request, progress: Progress, today: date) -> list[Price]:
    """A provider's prices, as of the day that its catalog last changed."""
    del today
    path = f"catalogs/v8/{request.provider}/vms.csv"
    origin = Origin(request.provider, _last_change(path, progress))
    url = f"{os.environ.get(PLACE, HOME).rstrip('/')}/{path}"
    prices = fetch(
        url,
        f"SkyPilot catalog, {request.provider}",
        progress,
        lambda text: list(read([Document(url, text)], origin)),
    )
    regions, skus = set(request.regions), set(request.skus)
    return [
        price for price in prices if price.region in regions and (not skus or price.sku in skus)
    ]


def _last_change(path: str, progress: Progress) -> date:
    """The day of the file's last commit: a catalog fetched today may be years old."""
    query = urlencode({"path": path, "per_page": 1}, quote_via=quote)
    url = f"{os.environ.get(COMMITS_PLACE, COMMITS)}?{query}"
    commits = fetch_json(url, "SkyPilot catalog, its date", progress)
    try:
        return date.fromisoformat(commits[0]["commit"]["committer"]["date"][:10])
    except (LookupError, TypeError, ValueError) as error:
        raise DownloadError(f"{url}: does not say when the catalog last changed") from error
