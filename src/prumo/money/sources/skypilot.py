"""SkyPilot's catalogs: a row for each zone, and Google's hosts and GPUs in rows of their own.

They lie on GitHub, one CSV file for each provider, as old as its last commit.
"""

from __future__ import annotations

import csv
import os
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

from prumo.errors import DownloadError, InputError
from prumo.money.lint import amount_problem
from prumo.money.price import Price
from prumo.money.sources.documents import (
    Document,
    Origin,
    Request,
    amount_of,
    fetch,
    fetch_json,
    spelt,
)
from prumo.study.section import PROVIDER, REGION, SKU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prumo.progress import Progress

URL_VARIABLE = "PRUMO_SKYPILOT_PRICES_URL"
COMMITS_URL_VARIABLE = "PRUMO_SKYPILOT_COMMITS_URL"
_URL = "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master"
_COMMITS_URL = "https://api.github.com/repos/skypilot-org/skypilot-catalog/commits"
_COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Region", "Price", "SpotPrice")
_GOOGLE = "gcp"
_TPU = "tpu-"
_FILE = "vms"

# Hosts that are sold with their GPUs only.
_WITH_GPUS = {
    "a2-highgpu-1g": ("A100", 1),
    "a2-highgpu-2g": ("A100", 2),
    "a2-highgpu-4g": ("A100", 4),
    "a2-highgpu-8g": ("A100", 8),
    "a2-megagpu-16g": ("A100", 16),
    "a2-ultragpu-1g": ("A100-80GB", 1),
    "a2-ultragpu-2g": ("A100-80GB", 2),
    "a2-ultragpu-4g": ("A100-80GB", 4),
    "a2-ultragpu-8g": ("A100-80GB", 8),
    "a3-highgpu-1g": ("H100", 1),
    "a3-highgpu-2g": ("H100", 2),
    "a3-highgpu-4g": ("H100", 4),
    "a3-highgpu-8g": ("H100", 8),
    "a3-megagpu-8g": ("H100-MEGA", 8),
    "a3-ultragpu-8g": ("H200", 8),
    "a4-highgpu-8g": ("B200", 8),
    "g2-standard-4": ("L4", 1),
    "g2-standard-8": ("L4", 1),
    "g2-standard-12": ("L4", 1),
    "g2-standard-16": ("L4", 1),
    "g2-standard-32": ("L4", 1),
    "g2-standard-24": ("L4", 2),
    "g2-standard-48": ("L4", 4),
    "g2-standard-96": ("L4", 8),
    "g4-standard-48": ("RTXPRO6000", 1),
    "g4-standard-96": ("RTXPRO6000", 2),
    "g4-standard-192": ("RTXPRO6000", 4),
    "g4-standard-384": ("RTXPRO6000", 8),
}
_GPU_FAMILIES = ("a2-", "a3-", "a4-", "a4x-", "g2-", "g4-")

# Others are attached to N1 hosts of at most so many vCPUs, by number of GPUs.
_N1_FAMILY = "n1-standard-"
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
            provider = _named(origin.provider) if origin.provider else _provider(document)
            rows: Iterable[_Row] = _rows(document)
            if provider == _GOOGLE:
                rows = _google_machines(list(rows))
            source = Origin(provider, origin.as_of)
            yield from (_price(row, source) for row in _cheapest_zones(rows))

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


def _named(provider: str) -> str:
    if not re.fullmatch(PROVIDER, provider):
        raise InputError(
            f"'{provider}' cannot be a provider; write it in small letters, digits and dashes"
        )
    return provider


def _provider(document: Document) -> str:
    """The catalogs lie in folders of their providers' names: `catalogs/v8/gcp/vms.csv`."""
    path = Path(document.name).absolute()
    if path.stem == _FILE and re.fullmatch(PROVIDER, path.parent.name):
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
            if not _needs_gpus(row.machine):
                yield row
        elif row.accelerator.startswith(_TPU):
            yield row._replace(machine=row.accelerator)
        else:
            gpus = _Gpus(row.accelerator, row.accelerators)
            for host in hosts.get(row.zone, ()):
                if _takes(host.machine, host.vcpus, gpus):
                    yield _joined(host, row, gpus)


def _joined(host: _Row, gpus_row: _Row, gpus: _Gpus) -> _Row:
    return host._replace(
        machine=f"{host.machine}+{gpus.label}",
        accelerator=gpus.name,
        accelerators=gpus.count,
        on_demand=_sum(host.on_demand, gpus_row.on_demand),
        spot=_sum(host.spot, gpus_row.spot),
    )


def _sum(one: float | None, other: float | None) -> float | None:
    """Both amounts; one that is of no use stays as it is, so that the sum does not hide it."""
    if one is None or other is None:
        return None
    useless = [amount for amount in (one, other) if amount_problem(amount)]
    return useless[0] if useless else round(one + other, 9)


def _cheapest_zones(rows: Iterable[_Row]) -> list[_Row]:
    merged: dict[tuple[str, str], _Row] = {}
    for row in rows:
        key = (row.machine, row.region)
        other = merged.get(key)
        merged[key] = row if other is None else _cheaper(row, other)
    return list(merged.values())


def _cheaper(row: _Row, other: _Row) -> _Row:
    return row._replace(
        on_demand=_least(row.on_demand, other.on_demand), spot=_least(row.spot, other.spot)
    )


def _least(one: float | None, other: float | None) -> float | None:
    """The cheaper of two; one that is of no use only where there is no other."""
    given = [amount for amount in (one, other) if amount is not None]
    usable = [amount for amount in given if not amount_problem(amount)]
    return min(usable or given, default=None)


def _price(row: _Row, origin: Origin) -> Price:
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


@dataclass(frozen=True)
class _Gpus:
    """GPUs that are priced without a host."""

    name: str
    count: float

    @property
    def label(self) -> str:
        """As it stands in the name of a machine: `T4`, `2xT4`."""
        return self.name if self.count == 1 else f"{self.count:g}x{self.name}"


def _takes(host: str, vcpus: float | None, gpus: _Gpus) -> bool:
    """Whether a machine can be rented with this host and these GPUs."""
    if host in _WITH_GPUS:
        return _WITH_GPUS[host] == (gpus.name, gpus.count)
    most_vcpus = _N1_MOST_VCPUS.get(gpus.name, {}).get(gpus.count, 0)
    return host.startswith(_N1_FAMILY) and vcpus is not None and vcpus <= most_vcpus


def _needs_gpus(host: str) -> bool:
    """Whether the price of a host alone is that of nothing one can rent."""
    return host.startswith(_GPU_FAMILIES)
