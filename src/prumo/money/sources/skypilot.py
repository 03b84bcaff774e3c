"""SkyPilot's catalogs: a row for each zone, and Google's hosts and GPUs in rows of their own.

They lie on GitHub, one CSV file for each provider, as old as its last commit.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

from prumo.errors import DownloadError, InputError
from prumo.money.sources.documents import (
    Document,
    Origin,
    Request,
    amount_of,
    fetch,
    fetch_json,
    spelt,
)

if TYPE_CHECKING:
    from prumo.money.price import Price
    from prumo.progress import Progress

URL_VARIABLE = "PRUMO_SKYPILOT_PRICES_URL"
COMMITS_URL_VARIABLE = "PRUMO_SKYPILOT_COMMITS_URL"
_URL = "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master"
_COMMITS_URL = "https://api.github.com/repos/skypilot-org/skypilot-catalog/commits"
_COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Region", "Price", "SpotPrice")

# Hosts that are sold with their GPUs only, and how many each size has.
_WITH_GPUS = {
    f"{family}-{size}": (gpu, count)
    for family, gpu, counts in (
        ("a2-highgpu", "A100", {"1g": 1, "2g": 2, "4g": 4, "8g": 8}),
        ("a2-megagpu", "A100", {"16g": 16}),
        ("a2-ultragpu", "A100-80GB", {"1g": 1, "2g": 2, "4g": 4, "8g": 8}),
        ("a3-highgpu", "H100", {"1g": 1, "2g": 2, "4g": 4, "8g": 8}),
        ("a3-megagpu", "H100-MEGA", {"8g": 8}),
        ("a3-ultragpu", "H200", {"8g": 8}),
        ("a4-highgpu", "B200", {"8g": 8}),
        (
            "g2-standard",
            "L4",
            {"4": 1, "8": 1, "12": 1, "16": 1, "32": 1, "24": 2, "48": 4, "96": 8},
        ),
        ("g4-standard", "RTXPRO6000", {"48": 1, "96": 2, "192": 4, "384": 8}),
    )
    for size, count in counts.items()
}
# The price of such a host alone is that of nothing one can rent.
_GPU_FAMILIES = ("a2-", "a3-", "a4-", "a4x-", "g2-", "g4-")

# Others are attached to N1 hosts of at most so many vCPUs, by number of GPUs.
_N1_MOST_VCPUS: dict[str, dict[float, int]] = {
    "K80": {1: 8, 2: 16, 4: 32, 8: 64},
    "P4": {1: 24, 2: 48, 4: 96},
    "P100": {1: 16, 2: 32, 4: 96},
    "T4": {1: 48, 2: 48, 4: 96},
    "V100": {1: 12, 2: 24, 4: 48, 8: 96},
}


class SkyPilotCatalog:
    """A catalog on disk, or the newest one on GitHub."""

    title = "a vms.csv of SkyPilot's catalog"
    default_for = ()

    def recognises(self, head: str) -> bool:
        """By its column names."""
        columns = head.partition("\n")[0].strip().split(",")
        return set(_COLUMNS) <= set(columns)

    def read(self, documents: Sequence[Document], origin: Origin) -> Iterator[Price]:
        """One price for each machine and region: that of its cheapest zone."""
        for document in documents:
            provider = _provider(document, origin)
            rows: Iterable[_Row] = _rows(document)
            if provider == "gcp":
                rows = _google_machines(list(rows))
            cheapest: dict[tuple[str, str], _Row] = {}
            for row in rows:
                key = (row.machine, row.region)
                other = cheapest.get(key, row)
                cheapest[key] = row._replace(
                    on_demand=_least(row.on_demand, other.on_demand),
                    spot=_least(row.spot, other.spot),
                )
            source = Origin(provider, origin.as_of)
            yield from (_price(row, source) for row in cheapest.values())

    def fetch(self, request: Request, progress: Progress, today: date) -> list[Price]:
        """A provider's prices, as of the day that its catalog last changed."""
        del today
        path = f"catalogs/v8/{request.provider}/vms.csv"
        origin = Origin(request.provider, _last_change(path, progress))
        url = f"{os.environ.get(URL_VARIABLE, _URL).rstrip('/')}/{path}"
        prices = fetch(
            url,
            f"SkyPilot catalog, {request.provider}",
            progress,
            lambda text: list(self.read([Document(url, text)], origin)),
        )
        regions, skus = set(request.regions), set(request.skus)
        return [
            price for price in prices if price.region in regions and (not skus or price.sku in skus)
        ]


def _last_change(path: str, progress: Progress) -> date:
    """The day of the file's last commit: a catalog fetched today may be years old."""
    query = urlencode({"path": path, "per_page": 1}, quote_via=quote)
    url = f"{os.environ.get(COMMITS_URL_VARIABLE, _COMMITS_URL)}?{query}"
    commits = fetch_json(url, "SkyPilot catalog, its date", progress)
    try:
        return date.fromisoformat(commits[0]["commit"]["committer"]["date"][:10])
    except (LookupError, TypeError, ValueError) as error:
        raise DownloadError(f"{url}: does not say when the catalog last changed") from error


class _Row(NamedTuple):
    """What is sold in one zone: a machine, or GPUs without a host."""

    machine: str
    accelerator: str
    accelerators: float
    vcpus: float | None
    memory_gib: float | None
    region: str
    zone: str
    on_demand: float | None
    spot: float | None


def _provider(document: Document, origin: Origin) -> str:
    """The catalogs lie in folders of their providers' names: `catalogs/v8/gcp/vms.csv`."""
    from prumo.study.section import PROVIDER

    if re.fullmatch(PROVIDER, origin.provider):
        return origin.provider
    if origin.provider:
        raise InputError(
            f"'{origin.provider}' cannot be a provider; "
            "write it in small letters, digits and dashes"
        )
    path = Path(document.name).absolute()
    if path.stem == "vms" and re.fullmatch(PROVIDER, path.parent.name):
        return path.parent.name
    raise InputError(f"{document.name}: does not say whose prices these are; give --provider")


def _rows(document: Document) -> Iterator[_Row]:
    table = csv.DictReader(document.text)
    missing = set(_COLUMNS) - set(table.fieldnames or ())
    if missing:
        raise InputError(
            f"{document.name}: is no catalog of SkyPilot's: it lacks {', '.join(sorted(missing))}"
        )
    for cells in table:
        line = table.line_num

        def number(column: str, cells: dict[str, str] = cells, line: int = line) -> float | None:
            return amount_of(cells.get(column) or "", document, line)

        row = _Row(
            machine=cells["InstanceType"] or "",
            accelerator=cells["AcceleratorName"] or "",
            accelerators=number("AcceleratorCount") or 0,
            vcpus=number("vCPUs"),
            memory_gib=number("MemoryGiB"),
            region=cells["Region"] or "",
            zone=cells.get("AvailabilityZone") or "",
            on_demand=number("Price"),
            spot=number("SpotPrice"),
        )
        if row.region and (row.machine or row.accelerator):
            yield row


def _google_machines(rows: Sequence[_Row]) -> Iterator[_Row]:
    """Hosts joined with the GPUs that they take in their zone; TPUs come with theirs."""
    hosts: dict[str, list[_Row]] = {}
    for row in rows:
        if row.machine:
            hosts.setdefault(row.zone, []).append(row)
    for row in rows:
        if row.machine:
            if not row.machine.startswith(_GPU_FAMILIES):
                yield row
        elif row.accelerator.startswith("tpu-"):
            yield row._replace(machine=row.accelerator)
        else:
            count = "" if row.accelerators == 1 else f"{row.accelerators:g}x"
            for host in hosts.get(row.zone, ()):
                if _takes(host, row):
                    yield host._replace(
                        machine=f"{host.machine}+{count}{row.accelerator}",
                        accelerator=row.accelerator,
                        accelerators=row.accelerators,
                        on_demand=_sum(host.on_demand, row.on_demand),
                        spot=_sum(host.spot, row.spot),
                    )


def _sum(one: float | None, other: float | None) -> float | None:
    """Both amounts; one that is of no use stays as it is, so that the sum does not hide it."""
    from prumo.money.lint import amount_problem

    if one is None or other is None:
        return None
    useless = [amount for amount in (one, other) if amount_problem(amount)]
    return useless[0] if useless else round(one + other, 9)


def _least(one: float | None, other: float | None) -> float | None:
    """The cheaper of two; one that is of no use only where there is no other."""
    from prumo.money.lint import amount_problem

    given = [amount for amount in (one, other) if amount is not None]
    usable = [amount for amount in given if not amount_problem(amount)]
    return min(usable or given, default=None)


def _price(row: _Row, origin: Origin) -> Price:
    from prumo.money.price import Price
    from prumo.study.section import REGION, SKU

    return Price(
        provider=origin.provider,
        sku=spelt(row.machine, SKU),
        region=spelt(row.region.lower(), REGION),
        vcpus=row.vcpus,
        memory_gib=row.memory_gib,
        accelerator=row.accelerator,
        accelerator_count=row.accelerators,
        on_demand=row.on_demand,
        spot=row.spot,
        as_of=origin.as_of,
        source=f"SkyPilot catalog, {origin.provider}",
    )


def _takes(host: _Row, gpus: _Row) -> bool:
    """Whether a machine can be rented with this host and these GPUs."""
    if host.machine in _WITH_GPUS:
        return _WITH_GPUS[host.machine] == (gpus.accelerator, gpus.accelerators)
    most_vcpus = _N1_MOST_VCPUS.get(gpus.accelerator, {}).get(gpus.accelerators, 0)
    is_family = host.machine.startswith("n1-standard-")
    return is_family and host.vcpus is not None and host.vcpus <= most_vcpus
