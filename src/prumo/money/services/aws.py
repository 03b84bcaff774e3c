"""The AWS price list: an index of offers, for each an index of regions, for each a file.

https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/bulk-api-reading-price-list-files.html
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prumo.errors import DownloadError, InputError, did_you_mean
from prumo.money.services.request import Request, fetch, fetch_json
from prumo.money.sources.aws import ENDPOINTS, MACHINES, read
from prumo.money.sources.document import Document, Origin

if TYPE_CHECKING:
    from datetime import date

    from prumo.money.price import Price
    from prumo.progress import Progress

PLACE = "PRUMO_AWS_PRICES_URL"
HOME = "https://pricing.us-east-1.amazonaws.com"
_INDEX = "/offers/v1.0/aws/index.json"
_OFFERS = {"aws": MACHINES, "sagemaker": ENDPOINTS}


def fetch_prices(request: Request, progress: Progress, today: date) -> list[Price]:
    """The prices on demand, as of the day that AWS published them."""
    del today
    offer = _offer(request.provider)
    index = _get(_INDEX, "AWS price list", progress)
    path = str(_at(_INDEX, index, "offers", offer, "currentRegionIndexUrl"))
    regions = _at(path, _get(path, offer, progress), "regions")
    wanted = set(request.skus)
    return [
        price
        for region in request.regions
        for price in _region_prices(offer, _file(path, regions, region, offer), region, progress)
        if not wanted or price.sku in wanted
    ]


def _offer(provider: str) -> str:
    if provider not in _OFFERS:
        hint = did_you_mean(provider, _OFFERS)
        raise InputError(f"the AWS price list has no prices of '{provider}'; {hint}")
    return _OFFERS[provider]


def _file(index: str, regions: Any, region: str, offer: str) -> str:  # noqa: ANN401 (JSON)
    """The path of a region's file; EC2's is its CSV, 300 MB that need not fit in memory."""
    if isinstance(regions, dict) and region not in regions:
        raise InputError(f"{offer} is not sold in '{region}'; {did_you_mean(region, regions)}")
    path = str(_at(index, regions, region, "currentVersionUrl"))
    return path.removesuffix(".json") + ".csv" if offer == MACHINES else path


def _region_prices(offer: str, path: str, region: str, progress: Progress) -> list[Price]:
    url = _url(path)
    return fetch(
        url, f"{offer} {region}", progress, lambda text: read([Document(url, text)], Origin())
    )


def _get(path: str, title: str, progress: Progress) -> Any:  # noqa: ANN401 (whatever it holds)
    return fetch_json(_url(path), title, progress)


def _url(path: str) -> str:
    return os.environ.get(PLACE, HOME).rstrip("/") + path


def _at(path: str, content: Any, *keys: str) -> Any:  # noqa: ANN401 (whatever the JSON holds)
    """What lies under the keys of the index at a path."""
    for key in keys:
        if not isinstance(content, dict) or key not in content:
            raise DownloadError(f"{_url(path)}: has no {'/'.join(keys)} any more")
        content = content[key]
    return content
