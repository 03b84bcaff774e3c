"""The AWS price list: offer files with the machines of EC2 and the endpoints of SageMaker.

An index of offers names an index of regions for each, which names a file for each, JSON or CSV:
https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/bulk-api-reading-price-list-files.html
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Any

from prumo.errors import DownloadError, InputError, did_you_mean
from prumo.money.sources.documents import (
    Document,
    Origin,
    Request,
    amount_of,
    fetch,
    fetch_json,
    read_json,
    spelt,
)
from prumo.money.terms import Kind, Unit

if TYPE_CHECKING:
    from prumo.money.price import Price
    from prumo.progress import Progress

URL_VARIABLE = "PRUMO_AWS_PRICES_URL"
_URL = "https://pricing.us-east-1.amazonaws.com"
_INDEX = "/offers/v1.0/aws/index.json"
_MACHINES = "AmazonEC2"
_ENDPOINTS = "AmazonSageMaker"
_ON_DEMAND = "OnDemand"
_HEADER = "SKU"
_COLUMNS = {"termtype", "priceperunit", "unit", "currency"}
_SERVERLESS = re.compile(r"ServerlessInf:Mem-(\d+)GB$")
# By the second that an instance is kept ready, and by that of its work.
_PROVISIONED = re.compile(r"ProvisionedConcurrency:(Usage|Mem)-(\d+)GB$")
_PROVISIONED_SKUS = {"Usage": "provisioned", "Mem": "provisioned-work"}
_DATA = re.compile(r"Data-Bytes-(In|Out)$")
_NUMBER = re.compile(r"\d+(\.\d+)?")
# What a plain Linux machine of one's own says of itself; empty where a list leaves it out.
_PLAIN_MACHINE = {
    "operatingsystem": {"Linux"},
    "tenancy": {"Shared"},
    "capacitystatus": {"Used"},
    "preinstalledsw": {"NA", ""},
    "marketoption": {"OnDemand", ""},
}
_OFFERS = {"aws": _MACHINES, "sagemaker": _ENDPOINTS}


class AwsPriceList:
    """Offer files on disk, and those that AWS publishes without an account."""

    title = "an offer file of the AWS price list, JSON or CSV"
    # EC2's own list is 300 MB for each region and has no spot prices: SkyPilot's is made from it.
    default_for = ("sagemaker",)

    def recognises(self, head: str) -> bool:
        """By what every offer file begins with."""
        return '"offerCode"' in head or head.lstrip().startswith(
            ('"FormatVersion"', "FormatVersion,")
        )

    def read(self, documents: Sequence[Document], origin: Origin) -> list[Price]:
        """The machines and endpoints on demand; offer files have no spot prices."""
        found: dict[str, tuple[float, Price]] = {}
        for offer in chain.from_iterable(map(_offers, documents)):
            product = _PRODUCTS.get(offer.service)
            price = product(offer) if product else None
            if price is None:
                continue
            price = price.model_copy(update={"as_of": price.as_of or origin.as_of})
            # A free tier is no price, unless there is no other.
            rank = offer.begins if offer.amount else float("inf")
            if price.name not in found or rank < found[price.name][0]:
                found[price.name] = (rank, price)
        return [price for _, price in found.values()]

    def fetch(self, request: Request, progress: Progress, today: date) -> list[Price]:
        """The prices on demand, as of the day that AWS published them."""
        del today
        if request.provider not in _OFFERS:
            hint = did_you_mean(request.provider, _OFFERS)
            raise InputError(f"the AWS price list has no prices of '{request.provider}'; {hint}")
        offer = _OFFERS[request.provider]
        index = fetch_json(_url(_INDEX), "AWS price list", progress)
        path = str(_at(_INDEX, index, "offers", offer, "currentRegionIndexUrl"))
        regions = _at(path, fetch_json(_url(path), offer, progress), "regions")
        prices: list[Price] = []
        for region in request.regions:
            url = _url(_file(path, regions, region, offer))
            prices += self._fetched(url, f"{offer} {region}", progress)
        return [price for price in prices if not request.skus or price.sku in request.skus]

    def _fetched(self, url: str, title: str, progress: Progress) -> list[Price]:
        return fetch(url, title, progress, lambda text: self.read([Document(url, text)], Origin()))


@dataclass(frozen=True)
class _Offer:
    """One on-demand price of one product."""

    facts: Mapping[str, str]
    """The product's attributes; their names in small letters only, as JSON and CSV differ."""
    service: str
    published: date | None
    begins: float
    """From how many units on this price holds; free tiers come before."""
    amount: float
    unit: str
    currency: str


def _file(index: str, regions: Any, region: str, offer: str) -> str:  # noqa: ANN401 (JSON)
    """The path of a region's file; EC2's is its CSV, 300 MB that need not fit in memory."""
    if isinstance(regions, dict) and region not in regions:
        raise InputError(f"{offer} is not sold in '{region}'; {did_you_mean(region, regions)}")
    path = str(_at(index, regions, region, "currentVersionUrl"))
    return path.removesuffix(".json") + ".csv" if offer == _MACHINES else path


def _url(path: str) -> str:
    return os.environ.get(URL_VARIABLE, _URL).rstrip("/") + path


def _at(path: str, content: Any, *keys: str) -> Any:  # noqa: ANN401 (whatever the JSON holds)
    """What lies under the keys of the index at a path."""
    for key in keys:
        if not isinstance(content, dict) or key not in content:
            raise DownloadError(f"{_url(path)}: has no {'/'.join(keys)} any more")
        content = content[key]
    return content


def _offers(document: Document) -> Iterator[_Offer]:
    start = document.text.read(1)
    document.text.seek(0)
    return _json_offers(document) if start in "{[ \n" else _csv_offers(document)


def _json_offers(document: Document) -> Iterator[_Offer]:
    content = read_json(document)
    try:
        service = str(content["offerCode"])
        published = _day(content.get("publicationDate", ""))
        terms = content["terms"].get(_ON_DEMAND, {})
        for sku, product in content["products"].items():
            facts = {_plain(name): str(value) for name, value in product["attributes"].items()}
            for term in terms.get(sku, {}).values():
                for dimension in term["priceDimensions"].values():
                    ((currency, amount),) = dimension["pricePerUnit"].items()
                    begins = float(dimension.get("beginRange") or 0)
                    unit = dimension["unit"]
                    yield _Offer(facts, service, published, begins, float(amount), unit, currency)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{document.name}: is no offer file of AWS: {error!r}") from error


def _csv_offers(document: Document) -> Iterator[_Offer]:
    """The rows of an offer file; the first lines are about the file, down to the column names."""
    rows = csv.reader(document.text)
    about: dict[str, str] = {}
    names: list[str] = []
    for row in rows:
        if row and row[0] == _HEADER:
            names = [_plain(name) for name in row]
            break
        about |= {row[0]: row[1]} if len(row) > 1 else {}
    if not set(names) >= _COLUMNS:
        raise InputError(f"{document.name}: is no offer file of AWS: it lacks columns with prices")
    term, service = names.index("termtype"), about.get("OfferCode", "")
    published = _day(about.get("Publication Date", ""))
    for row in rows:
        if len(row) != len(names):
            raise InputError(f"{document.name}:{rows.line_num}: the row is not whole")
        if row[term] != _ON_DEMAND:
            continue
        facts = dict(zip(names, row, strict=True))
        amount = amount_of(facts["priceperunit"], document, rows.line_num)
        if amount is not None:
            begins = amount_of(facts.get("startingrange", ""), document, rows.line_num) or 0.0
            unit, currency = facts["unit"], facts["currency"]
            yield _Offer(facts, service, published, begins, amount, unit, currency)


def _machine(offer: _Offer) -> Price | None:
    facts = offer.facts
    if offer.unit != "Hrs" or not facts.get("instancetype"):
        return None
    if any(facts.get(name, "") not in values for name, values in _PLAIN_MACHINE.items()):
        return None
    return _price(offer, "aws", facts["instancetype"], Kind.MACHINE, Unit.HOUR)


def _endpoint(offer: _Offer) -> Price | None:
    facts = offer.facts
    usage = facts.get("usagetype", "")
    name = facts.get("instancename") or facts.get("instancetype", "").removesuffix("-Hosting")
    if facts.get("component") == "Hosting" and name.startswith("ml."):
        return _price(offer, "sagemaker", name, Kind.HOSTING, Unit.HOUR)
    if serverless := _SERVERLESS.search(usage):
        return _serverless(offer, serverless[1], "")
    if provisioned := _PROVISIONED.search(usage):
        return _serverless(offer, provisioned[2], f"-{_PROVISIONED_SKUS[provisioned[1]]}")
    if _DATA.search(usage) and facts.get("operation") == "Invoke-Endpoint":
        return _price(offer, "sagemaker", "serverless-data", Kind.DATA, Unit.GIGABYTE)
    return None


def _serverless(offer: _Offer, gigabytes: str, what: str) -> Price | None:
    sku = f"serverless-{gigabytes}gb{what}"
    price = _price(offer, "sagemaker", sku, Kind.SERVERLESS, Unit.SECOND)
    return price and price.model_copy(update={"memory_gib": float(gigabytes)})


_PRODUCTS: dict[str, Callable[[_Offer], Price | None]] = {
    _MACHINES: _machine,
    _ENDPOINTS: _endpoint,
}


def _price(offer: _Offer, provider: str, sku: str, kind: Kind, unit: Unit) -> Price | None:
    from prumo.money.price import Price
    from prumo.study.section import REGION, SKU

    region = offer.facts.get("regioncode", "").lower()
    if not region:
        return None
    return Price(
        provider=provider,
        sku=spelt(sku, SKU),
        region=spelt(region, REGION),
        kind=kind,
        vcpus=_number(offer.facts.get("vcpu", "")),
        memory_gib=_number(offer.facts.get("memory", "")),
        accelerator_count=_number(offer.facts.get("gpu", "")) or 0,
        on_demand=offer.amount,
        unit=unit,
        currency=offer.currency,
        as_of=offer.published,
        source=f"AWS price list, {offer.service}",
    )


def _plain(name: str) -> str:
    """`Pre Installed S/W` and `preInstalledSw` are one name."""
    return "".join(filter(str.isalpha, name)).lower()


def _number(text: str) -> float | None:
    """The number in `1,952 GiB`; none in `NA`."""
    found = _NUMBER.match(text.replace(",", ""))
    return float(found[0]) if found else None


def _day(text: Any) -> date | None:  # noqa: ANN401 (whatever the JSON holds)
    try:
        return date.fromisoformat(str(text)[:10])
    except ValueError:
        return None
