"""The catalog: what is shipped, what the user brought, and how prices are named and found."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import InputError, StorageError
from prumo.money.catalog import (
    Catalog,
    Search,
    find,
    keep,
    load_catalog,
    newest,
    own_prices,
    select,
    shipped_prices,
)
from prumo.money.price import Kind, Price, Purchase, read_table, table_text
from prumo.money.terms import COLUMNS, REQUIRED
from prumo.study.section import Machine

if TYPE_CHECKING:
    from pathlib import Path


def price(name: str = "lab/box@here", amount: float | None = 1.0, **other: Any) -> Price:
    provider, sku, region = re.split("[/@]", name)
    known: dict[str, Any] = {"as_of": date(2026, 1, 1), "source": "a test"}
    return Price(provider=provider, sku=sku, region=region, on_demand=amount, **(known | other))


def test_a_table_of_prices_has_the_fields_of_a_price_as_columns() -> None:
    assert tuple(Price.model_fields) == COLUMNS
    required = (name for name, field in Price.model_fields.items() if field.is_required())
    assert tuple(required) == REQUIRED


def test_every_shipped_price_has_an_amount_a_source_and_a_date() -> None:
    for shipped in shipped_prices():
        assert shipped.on_demand, shipped.name
        assert shipped.source, shipped.name
        assert shipped.as_of, shipped.name
        assert Machine(price=shipped.name)


@pytest.mark.parametrize(
    ("name", "amount"),
    [
        ("azure/Standard_F4s_v2@eastus", 0.169),
        ("azure/Standard_NC4as_T4_v3@eastus", 0.526),
        ("sagemaker/ml.m4.xlarge@us-east-1", 0.24),
        ("sagemaker/ml.m5.xlarge@us-east-1", 0.23),
        ("sagemaker/ml.m6g.xlarge@us-east-1", 0.1848),
        ("sagemaker/ml.c7g.xlarge@us-east-1", 0.174),
        ("sagemaker/serverless-1gb@us-east-1", 0.00002),
        ("sagemaker/serverless-3gb@us-east-1", 0.00006),
        ("sagemaker/serverless-data@us-east-1", 0.016),
        ("gcp/n2-standard-4@southamerica-east1", 0.30832),
        ("gcp/n1-standard-4+T4@us-central1", 0.54),
    ],
)
def test_the_prices_of_the_published_studies_are_shipped(name: str, amount: float) -> None:
    assert load_catalog().named(name).on_demand == amount


def test_a_name_needs_no_region_where_there_is_only_one() -> None:
    assert load_catalog().named("sagemaker/ml.m5.large").region == "us-east-1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("azure/Standard_F4s_v2", "has a price in 2 regions; name one, as azure/Standard_F4s_v2@c"),
        ("azure/Standard_F4s_v3@eastus", "did you mean 'azure/Standard_F4s_v2'?"),
        ("azure/Standard_F4s_v2@eastu", "in 'eastu'; did you mean 'eastus'?"),
        ("box", "it is written as provider/sku, with one of aws, azure, gcp, sagemaker"),
        ("azure/?", "`prumo price list --provider azure` shows what is known"),
        ("", "it is written as provider/sku"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        load_catalog().named(text)


def test_the_newest_of_a_name_counts_and_an_undated_one_is_older_than_any() -> None:
    old, new, undated = (
        price(amount=1.0, as_of=date(2024, 1, 1)),
        price(amount=2.0, as_of=date(2026, 1, 1)),
        price(amount=3.0, as_of=None),
    )
    assert newest([new, old, undated]) == (new,)
    assert newest([undated, old]) == (old,)


def test_ones_own_price_counts_against_a_shipped_one_of_the_same_day() -> None:
    shipped = next(each for each in shipped_prices() if each.provider == "gcp")
    keep([shipped.model_copy(update={"on_demand": 9.0})])
    catalog = load_catalog()
    assert catalog.named(shipped.name).on_demand == 9.0
    assert catalog.own == {shipped.name}


def test_what_is_kept_stays_beside_what_was_there_also_of_earlier_days(cache: Path) -> None:
    first = price("lab/a@here"), price("lab/b@here"), price("other/c@there")
    keep(first)
    later = price("lab/a@here", 2.0, as_of=date(2026, 2, 2))
    keep([later, price("lab/b@here", 5.0)])
    assert own_prices() == [first[0], price("lab/b@here", 5.0), later, first[2]]
    assert sorted(file.name for file in (cache / "prices").iterdir()) == ["lab.csv", "other.csv"]


def test_a_cache_that_cannot_be_written_is_told(cache: Path) -> None:
    cache.write_text("no folder")
    with pytest.raises(StorageError, match="PRUMO_CACHE can name another folder"):
        keep([price()])


@pytest.mark.parametrize(
    "source", ["two\nlines", "two\r\nlines", "two\rlines", "a\u2028b\x85c", "ação; 価格"]
)
def test_a_source_may_be_any_text(source: str) -> None:
    keep([price(source=source)])
    keep([price("lab/other@here")])
    assert [kept.source for kept in own_prices()] == [source, "a test"]


def test_a_table_of_ones_own_that_was_spoilt_is_named(cache: Path) -> None:
    keep([price()])
    (cache / "prices/lab.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"lab\.csv: is no table of prices: .*; fix or delete it"):
        load_catalog()


def test_a_table_says_all_of_a_price() -> None:
    full = price(
        amount=0.00002,
        spot=0.1,
        vcpus=0.5,
        memory_gib=2,
        accelerator="L4",
        accelerator_count=0.25,
        kind=Kind.SERVERLESS,
        source='a "test", with commas',
        as_of=None,
    )
    assert list(read_table(table_text([full]).splitlines(), "table")) == [full]


PRICES = (
    price("lab/plain@here", 0.2, vcpus=4, memory_gib=16),
    price("lab/t4@here", 0.5, spot=0.4, accelerator="T4", vcpus=4, memory_gib=16),
    price("lab/t4@there", 0.4, accelerator="T4", vcpus=8, memory_gib=32),
    price("lab/a100@here", 3.0, spot=0.1, accelerator="A100", vcpus=12),
    price("lab/a100-80@here", 4.0, accelerator="A100-80GB"),
    price("lab/a10@here", 1.0, accelerator="A10"),
    price("lab/tpu@here", 4.5, accelerator="tpu-v2-8"),
    price("lab/reais@here", 0.1, currency="BRL"),
    price("lab/spot-only@here", None, spot=0.05),
    price("lab/serverless@here", 0.00002, kind=Kind.SERVERLESS, unit="second"),
)


@pytest.mark.parametrize(
    ("search", "skus"),
    [
        (Search(gpu="t4"), ["t4", "t4"]),
        (Search(gpu="T4", maximum=0.4), ["t4"]),
        (Search(gpu="A100"), ["a100", "a100-80"]),
        (Search(gpu="A10"), ["a10"]),
        (Search(gpu="tpu"), ["tpu"]),
        (Search(maximum=0.45), ["plain", "t4"]),
        (Search(purchase=Purchase.SPOT), ["spot-only", "a100", "t4"]),
        (Search(region="there"), ["t4"]),
        (Search(vcpus=8), ["t4", "a100"]),
        (Search(memory_gib=17), ["t4"]),
        (Search(currency="BRL"), ["reais"]),
        (Search(kind=Kind.SERVERLESS), ["serverless"]),
        (Search(kind=Kind.HOSTING), []),
    ],
)
def test_prices_are_found_by_every_property_the_cheapest_first(
    search: Search, skus: list[str]
) -> None:
    assert [found.sku for found in find(PRICES, search)] == skus


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (Search(gpu="A1000"), "no price has the GPU 'A1000'; did you mean 'A100'?"),
        (Search(provider="lap"), "no price has the provider 'lap'; did you mean 'lab'?"),
        (Search(region="sa-east-1"), "To fetch its prices:  prumo price update --region sa-east-1"),
        (Search(currency="EUR"), "no price has the currency 'EUR'; known: BRL, USD"),
    ],
)
def test_a_misspelt_word_is_not_taken_for_an_empty_answer(search: Search, reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        find(PRICES, search)


def test_prices_are_selected_by_provider_and_region() -> None:
    assert [found.sku for found in select(PRICES, "lab", "there")] == ["t4"]
    assert select(PRICES, "", "") == list(PRICES)
    with pytest.raises(InputError, match="no price has the provider 'lap'"):
        select(PRICES, "lap", "")


def test_an_empty_catalog_knows_nothing() -> None:
    with pytest.raises(InputError, match="no price is known of 'a/b'"):
        Catalog(()).named("a/b@c")
