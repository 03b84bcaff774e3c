"""Pages of Azure's Retail Prices API: one item for each meter, spot apart from on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.errors import InputError
from prumo.money.price import Price, Purchase
from prumo.money.sources.document import Document, Origin, Source, read_json, spelt
from prumo.study.settings import REGION, SKU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PROVIDER = "azure"
TITLE = "Azure Retail Prices API"


def recognises(head: str) -> bool:
    """By the names that every answer begins with."""
    return '"BillingCurrency"' in head or '"armSkuName"' in head


def read(documents: Sequence[Document], origin: Origin) -> list[Price]:
    """The Linux machines on all pages; an item's date is the start of its price, not its day."""
    items = (
        item for document in documents for item in items_of(read_json(document), document.name)
    )
    return prices_of(items, origin)


def items_of(page: Any, name: str) -> list[Any]:  # noqa: ANN401 (whatever the JSON holds)
    """The items of a page, or of a bare list of them."""
    items = page.get("Items") if isinstance(page, dict) else page
    if not isinstance(items, list):
        raise InputError(f"{name}: is no page of the {TITLE}: it has no Items")
    return items


def prices_of(items: Iterable[Any], origin: Origin) -> list[Price]:
    """One price for each machine and region, from the items for on demand and for spot."""
    found: dict[tuple[str, str, str], dict[Purchase, float]] = {}
    for item in items:
        if (purchase := _purchase(item)) is None:
            continue
        key = (item["armSkuName"].strip(), item["armRegionName"].strip(), item["currencyCode"])
        amounts = found.setdefault(key, {})
        # Where a machine has several meters, one is what is paid: the dearer never surprises.
        amounts[purchase] = max(item["retailPrice"], amounts.get(purchase, 0.0))
    return list(_as_prices(found, origin))


def _as_prices(
    found: dict[tuple[str, str, str], dict[Purchase, float]], origin: Origin
) -> Iterator[Price]:
    for (sku, region, currency), amounts in found.items():
        yield Price(
            provider=PROVIDER,
            sku=spelt(sku, SKU),
            region=spelt(region.lower(), REGION),
            on_demand=amounts.get(Purchase.ON_DEMAND),
            spot=amounts.get(Purchase.SPOT),
            currency=currency,
            as_of=origin.as_of,
            source=TITLE,
        )


def _purchase(item: Any) -> Purchase | None:  # noqa: ANN401 (whatever the JSON holds)
    """How the machine of an item is bought; None for what is no Linux machine by the hour."""
    if not isinstance(item, dict):
        return None
    product, meter = str(item.get("productName", "")), str(item.get("meterName", ""))
    if (
        item.get("type") != "Consumption"
        or item.get("unitOfMeasure") != "1 Hour"
        or item.get("serviceName") != "Virtual Machines"
        or not all(_is_text(item.get(name)) for name in ("armSkuName", "armRegionName"))
        or not _is_text(item.get("currencyCode"))
        or not isinstance(item.get("retailPrice"), float | int)
        or "Windows" in product
        or "Cloud Services" in product
        or "CloudServices" in product
        or "Low Priority" in meter
    ):
        return None
    return Purchase.SPOT if "Spot" in meter else Purchase.ON_DEMAND


def _is_text(value: Any) -> bool:  # noqa: ANN401 (whatever the JSON holds)
    return isinstance(value, str) and bool(value.strip())


SOURCE = Source("azure", "JSON pages of the Azure Retail Prices API", recognises, read)
