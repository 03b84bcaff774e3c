"""Data in and out of a serverless endpoint, which is paid for beside its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.money.cost import BYTES_PER_GIGABYTE
from prumo.money.price import Unit

if TYPE_CHECKING:
    from prumo.money.catalog import Catalog
    from prumo.money.price import Price


def data_price_name(serverless: str) -> str:
    """The price of data beside that of a serverless endpoint.

    >>> data_price_name("sagemaker/serverless-2gb@us-east-1")
    'sagemaker/serverless-data@us-east-1'
    """
    provider, region = serverless.partition("/")[0], serverless.partition("@")[2]
    return f"{provider}/serverless-data@{region}"


def data_price(catalog: Catalog, serverless: str) -> Price | None:
    """What the catalog knows of it; None where that is nothing."""
    name = data_price_name(serverless)
    found = (price for price in catalog.prices if price.name == name)
    return next((price for price in found if price.unit is Unit.GIGABYTE), None)


def per_byte(per_gigabyte: float) -> float:
    """As AWS reckons gigabytes."""
    return per_gigabyte / BYTES_PER_GIGABYTE
