"""A price source of another package, found through its entry point alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
from prumo.money.price import Price
from prumo.money.sources.documents import read_json


class MyCloud:
    title = "a price list of My Cloud, JSON"
    default_for = ("mycloud",)

    def recognises(self, head):
        return '"my_cloud_prices"' in head

    def read(self, documents, origin):
        for document in documents:
            for sku, amount in read_json(document)["my_cloud_prices"].items():
                yield self._price(sku, amount, origin.as_of)

    def fetch(self, request, progress, today):
        progress.show("asking My Cloud")
        return [self._price(sku, 0.25, today) for sku in request.skus]

    def _price(self, sku, amount, as_of):
        return Price(
            provider="mycloud", sku=sku, region="home", on_demand=amount, as_of=as_of, source="mine"
        )
"""
ENTRIES = """[prumo.price_sources]
mycloud = my_cloud:MyCloud
broken = no_such_module:Prices
hollow = my_cloud:Price
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with another one's price sources, one of them sound."""
    information = tmp_path / "site/my_cloud-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-cloud\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "site/my_cloud.py").write_text(SOURCE)
    return tmp_path / "site"


def price(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "prumo", "price", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_source_of_another_package_reads_files(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"my_cloud_prices": {"small": 0.5}}))
    shown = price(site, "import", "--help").stdout
    assert "|mycloud|" in shown.replace("\n", "").replace(" ", "")
    for named in ([], ["--from", "mycloud"]):
        done = price(site, "import", file, "--as-of", "2026-11-14", "--json", *named)
        (kept,) = json.loads(done.stdout)["kept"]
        assert (kept["name"], kept["on_demand"]) == ("mycloud/small@home", 0.5)


def test_the_source_of_another_package_fetches(site: Path) -> None:
    words = ("--provider", "mycloud", "--region", "home", "--sku", "large")
    done = price(site, "update", *words)
    assert done.returncode == 0, done.stderr
    assert "mycloud: 1 price of " in done.stdout
    assert "mycloud" in price(site, "update", "--help").stdout


def test_a_broken_source_harms_only_who_asks_for_it(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("provider,sku,region,on_demand,as_of,source\nlab,a,here,1,2026-11-14,bill\n")
    assert price(site, "import", file).returncode == 0
    broken = price(site, "import", file, "--from", "broken")
    assert broken.returncode == 2
    assert "the price source 'broken' of the package my-cloud cannot be loaded" in broken.stderr
    hollow = price(site, "import", file, "--from", "hollow")
    assert hollow.returncode == 2
    assert "price source 'hollow'" in hollow.stderr
