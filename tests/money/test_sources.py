"""Price lists in every form become prices that a study can name."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import InputError
from prumo.money.price import Kind, Unit
from prumo.money.sources import find_source, read_files
from prumo.money.sources.documents import Origin
from prumo.plugins import PRICE_SOURCES
from prumo.study.section import Machine
from support import price_lists as lists

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.money.price import Price

DAY = date(2026, 11, 14)


def read(
    folder: Path, text: str, name: str = "list", form: str = "", provider: str = ""
) -> list[Price]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return read_files([file], form, Origin(provider, DAY))


def test_every_form_has_an_example() -> None:
    assert lists.EXAMPLES.keys() == set(PRICE_SOURCES.names())


@pytest.mark.parametrize("form", lists.EXAMPLES)
class TestEveryForm:
    """What holds for each form of price lists."""

    def test_is_told_by_how_a_file_begins(self, form: str) -> None:
        _, text = lists.EXAMPLES[form]
        assert [name for name in lists.EXAMPLES if find_source(name).recognises(text)] == [form]

    def test_gives_prices_with_a_date_and_a_source(self, form: str, tmp_path: Path) -> None:
        name, text = lists.EXAMPLES[form]
        (price,) = read(tmp_path, text, name)
        assert price.on_demand in {0.5, 0.526}
        assert price.as_of
        assert price.source

    def test_gives_names_that_a_study_can_write(self, form: str, tmp_path: Path) -> None:
        name, text = lists.EXAMPLES[form]
        (price,) = read(tmp_path, text, name)
        assert Machine(price=price.name).price == price.name

    def test_is_read_the_same_when_it_is_named(self, form: str, tmp_path: Path) -> None:
        name, text = lists.EXAMPLES[form]
        assert read(tmp_path, text, name, form=form) == read(tmp_path, text, name)

    @pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"Items": 3}', "a;b\n1;2\n", "\0"])
    def test_refuses_what_is_something_else_and_names_the_file(
        self, form: str, text: str, tmp_path: Path
    ) -> None:
        with pytest.raises(InputError, match=r"gcp/vms\.csv"):
            read(tmp_path, text, "gcp/vms.csv", form=form)

    def test_refuses_bytes_that_are_no_text(self, form: str, tmp_path: Path) -> None:
        (tmp_path / "list").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match="is no text in UTF-8"):
            read_files([tmp_path / "list"], form, Origin("aws"))


def test_a_file_of_no_known_form_is_refused_with_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no price list that Prumo knows \(aws: "):
        read(tmp_path, "hello\n")


def test_a_list_without_a_price_is_not_taken_for_a_sound_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="list: no price was found in it"):
        read(tmp_path, json.dumps(lists.azure_page()))


def test_a_misspelt_form_is_corrected() -> None:
    with pytest.raises(InputError, match="did you mean 'skypilot'"):
        find_source("skipilot")


class TestSkyPilot:
    """One price for each machine and region out of rows by zone."""

    def test_zones_become_their_region_at_the_cheapest(self, tmp_path: Path) -> None:
        (price,) = read(
            tmp_path,
            lists.skypilot(
                "c3.large,,,2.0,3.75,,0.105,0.0328,us-east-1,use1-az2",
                "c3.large,,,2.0,3.75,,0.105,0.0296,us-east-1,use1-az3",
                "c3.large,,,2.0,3.75,,0.105,,us-east-1,use1-az4",
            ),
            provider="aws",
        )
        assert (price.on_demand, price.spot, price.vcpus) == (0.105, 0.0296, 2)

    def test_an_empty_price_stays_empty(self, tmp_path: Path) -> None:
        (price,) = read(tmp_path, lists.skypilot("a,,,1,1,,,,r,"), provider="aws")
        assert (price.on_demand, price.spot) == (None, None)

    def test_google_hosts_and_gpus_are_added_up_where_they_fit(self, tmp_path: Path) -> None:
        prices = read(
            tmp_path,
            lists.skypilot(
                "n1-standard-4,,,4.0,15.0,,0.19,0.04,us-central1,us-central1-a",
                "n1-standard-4,,,4.0,15.0,,0.19,0.04,us-central1,us-central1-b",
                "n1-standard-16,,,16.0,60.0,,0.76,,us-central1,us-central1-a",
                "n2-standard-4,,,4.0,16.0,,0.194,0.1,us-central1,us-central1-a",
                "a2-highgpu-1g,,,12.0,85.0,,0.73948,0.29576,us-central1,us-central1-a",
                ",T4,1.0,,,,0.35,0.24,us-central1,us-central1-a",
                ",T4,2.0,,,,0.7,0.48,us-central1,us-central1-c",
                ",V100,1.0,,,,2.48,0.74,us-central1,us-central1-a",
                ",A100,1.0,,,,2.93391,1.8,us-central1,us-central1-a",
            ),
            "gcp/vms.csv",
        )
        assert {price.sku: (price.on_demand, price.spot) for price in prices} == {
            "n1-standard-4": (0.19, 0.04),
            "n1-standard-16": (0.76, None),
            "n2-standard-4": (0.194, 0.1),
            "n1-standard-4+T4": (0.54, 0.28),
            "n1-standard-16+T4": (1.11, None),
            "n1-standard-4+V100": (2.67, 0.78),
            "a2-highgpu-1g+A100": (3.67339, 2.09576),
        }
        with_t4 = next(price for price in prices if price.sku == "n1-standard-4+T4")
        assert (with_t4.accelerator, with_t4.accelerator_count, with_t4.memory_gib) == ("T4", 1, 15)

    def test_several_gpus_are_in_the_name(self, tmp_path: Path) -> None:
        prices = read(
            tmp_path,
            lists.skypilot(
                "n1-standard-8,,,8.0,30.0,,0.38,0.08,us-central1,us-central1-a",
                ",T4,2.0,,,,0.7,0.48,us-central1,us-central1-a",
            ),
            "gcp/vms.csv",
        )
        assert [price.sku for price in prices] == ["n1-standard-8", "n1-standard-8+2xT4"]

    def test_a_zone_without_a_price_does_not_hide_the_price_of_another(
        self, tmp_path: Path
    ) -> None:
        (price,) = read(
            tmp_path,
            lists.skypilot(
                "c3.large,,,2,4,,0.0,700.0,us-east-1,a", "c3.large,,,2,4,,0.105,0.03,us-east-1,b"
            ),
            provider="aws",
        )
        assert (price.on_demand, price.spot) == (0.105, 0.03)

    def test_a_sum_does_not_hide_that_a_part_has_no_price(self, tmp_path: Path) -> None:
        prices = read(
            tmp_path,
            lists.skypilot(
                "n1-standard-4,,,4,15,,0.0,0.04,us-central1,a", ",T4,1,,,,0.35,700.0,us-central1,a"
            ),
            "gcp/vms.csv",
        )
        assert [(price.on_demand, price.spot) for price in prices] == [(0.0, 0.04), (0.0, 700.0)]

    @pytest.mark.parametrize("count", ["nan", "inf", "1.5"])
    def test_an_odd_number_of_gpus_fits_no_host(self, count: str, tmp_path: Path) -> None:
        text = lists.skypilot(
            "n1-standard-4,,,4,15,,0.19,,us-central1,a", f",T4,{count},,,,0.35,,us-central1,a"
        )
        assert [price.sku for price in read(tmp_path, text, "gcp/vms.csv")] == ["n1-standard-4"]

    def test_a_provider_that_no_study_could_name_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="'My Lab' cannot be a provider; write it in small"):
            read(tmp_path, lists.skypilot("a,,,1,1,,1,,r,"), provider="My Lab")

    def test_a_tpu_needs_no_host(self, tmp_path: Path) -> None:
        row = ",tpu-v2-8,1,,,tpu-v2-8,4.5,1.35,us-central1,us-central1-b"
        (price,) = read(tmp_path, lists.skypilot(row), "gcp/vms.csv")
        assert price.name == "gcp/tpu-v2-8@us-central1"
        assert price.accelerator == "tpu-v2-8"

    def test_names_get_a_spelling_that_a_study_can_write(self, tmp_path: Path) -> None:
        row = '1x RTX/4090,RTX4090,1,8,32,,0.3,0.2,"Sweden, SE",'
        (price,) = read(tmp_path, lists.skypilot(row), provider="vast")
        assert price.name == "vast/1x-RTX-4090@sweden--se"

    def test_whose_prices_they_are_must_be_known(self, tmp_path: Path) -> None:
        with pytest.raises(
            InputError, match="does not say whose prices these are; give --provider"
        ):
            read(tmp_path, lists.skypilot("a,,,1,1,,1,,r,"), "catalog.csv")

    def test_a_wrong_amount_is_told_with_its_line(self, tmp_path: Path) -> None:
        text = lists.skypilot("a,,,1,1,,1,,r,", "b,,,1,1,,cheap,,r,")
        with pytest.raises(InputError, match=r"vms\.csv:3: 'cheap' is no amount"):
            read(tmp_path, text, "aws/vms.csv")


class TestAws:
    """Offer files: one of many prices for each machine is that of a plain Linux machine."""

    def test_only_plain_linux_machines_on_demand_count(self, tmp_path: Path) -> None:
        hour = [("0", "Hrs", "9.0")]
        others = [
            {"operatingSystem": "Windows"},
            {"tenancy": "Dedicated"},
            {"capacitystatus": "UnusedCapacityReservation"},
            {"preInstalledSw": "SQL Web"},
            {"marketoption": "CapacityBlock"},
            {"regionCode": ""},
        ]
        products = [(machine_with(other), hour) for other in others]
        products.append((lists.machine_attributes(), [("0", "Hrs", "0.526")]))
        (price,) = read(tmp_path, lists.offer_json("AmazonEC2", products))
        assert (price.name, price.on_demand, price.spot) == (
            "aws/g4dn.xlarge@us-east-1",
            0.526,
            None,
        )
        assert (price.vcpus, price.memory_gib, price.accelerator_count) == (4, 16, 1)
        assert price.as_of == date(2026, 9, 25)

    def test_csv_says_the_same_as_json(self, tmp_path: Path) -> None:
        text = lists.offer_csv(
            {"TermType": "Reserved", "PricePerUnit": "0.1"},
            {"Operating System": "Windows", "PricePerUnit": "9"},
            {"MarketOption": "CapacityBlock", "PricePerUnit": "0"},
            {},
        )
        _, same = lists.EXAMPLES["aws"]
        assert read(tmp_path, text) == read(tmp_path, same)

    def test_large_numbers_have_commas(self, tmp_path: Path) -> None:
        (price,) = read(tmp_path, lists.offer_csv({"Memory": "1,952 GiB", "GPU": ""}))
        assert (price.memory_gib, price.accelerator_count) == (1952, 0)

    def test_endpoints_hosted_and_serverless(self, tmp_path: Path) -> None:
        text = lists.offer_json(
            "AmazonSageMaker",
            [
                (lists.hosting_attributes(), [("0", "Hrs", "0.23")]),
                (lists.hosting_attributes(component="Training"), [("0", "Hrs", "0.3")]),
                (
                    lists.serverless_attributes(2),
                    [("0", "Second", "0"), ("150000", "Second", "0.00004")],
                ),
                (lists.provisioned_attributes(3, "Usage"), [("0", "Second", "0.000015")]),
                (lists.provisioned_attributes(3, "Mem"), [("0", "Second", "0.000035")]),
                (lists.provisioned_attributes(3, "Other"), [("0", "Second", "9")]),
                (lists.data_attributes("In"), [("0", "GB", "0.016")]),
                (lists.data_attributes("Out"), [("0", "GB", "0.016")]),
            ],
        )
        prices = {price.sku: price for price in read(tmp_path, text)}
        assert {
            sku: (price.on_demand, price.unit, price.kind) for sku, price in prices.items()
        } == {
            "ml.m5.xlarge": (0.23, Unit.HOUR, Kind.HOSTING),
            "serverless-2gb": (0.00004, Unit.SECOND, Kind.SERVERLESS),
            "serverless-3gb-provisioned": (0.000015, Unit.SECOND, Kind.SERVERLESS),
            "serverless-3gb-provisioned-work": (0.000035, Unit.SECOND, Kind.SERVERLESS),
            "serverless-data": (0.016, Unit.GIGABYTE, Kind.DATA),
        }
        assert prices["serverless-2gb"].memory_gib == 2

    def test_odd_places_and_sizes_are_no_defect(self, tmp_path: Path) -> None:
        odd = machine_with({"regionCode": "US East (Ohio)", "memory": ". GiB"})
        text = lists.offer_json("AmazonEC2", [(odd, [("0", "Hrs", "1.0")])])
        (price,) = read(tmp_path, text)
        assert (price.region, price.memory_gib) == ("us-east--ohio-", None)

    def test_a_list_without_a_column_of_prices_is_told(self, tmp_path: Path) -> None:
        text = lists.offer_csv({}).replace("PricePerUnit", "Amount")
        with pytest.raises(InputError, match="list: is no offer file of AWS: it lacks columns"):
            read(tmp_path, text)

    def test_a_row_that_was_cut_off_is_told(self, tmp_path: Path) -> None:
        text = lists.offer_csv({}, {})[:-60]
        with pytest.raises(InputError, match=r"list:8: the row is not whole"):
            read(tmp_path, text)

    def test_a_very_long_json_is_left_to_csv(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prumo.money.sources.documents._JSON_CHARACTERS", 100)
        with pytest.raises(InputError, match="give the CSV file of the same list"):
            read(tmp_path, lists.EXAMPLES["aws"][1])


def machine_with(other: dict[str, str]) -> dict[str, str]:
    return lists.machine_attributes() | other


class TestAzure:
    """Retail prices: on demand and spot are items of their own, among many that are not meant."""

    def test_spot_joins_on_demand_also_from_another_page(self, tmp_path: Path) -> None:
        files = []
        for number, item in enumerate(
            [lists.azure_item(amount=0.526), lists.azure_item(amount=0.06, meterName="NC4as Spot")]
        ):
            files.append(tmp_path / f"{number}.json")
            files[-1].write_text(json.dumps(lists.azure_page(item)))
        (price,) = read_files(files, "", Origin(as_of=DAY))
        assert (price.name, price.on_demand, price.spot, price.as_of) == (
            "azure/Standard_NC4as_T4_v3@eastus",
            0.526,
            0.06,
            DAY,
        )

    @pytest.mark.parametrize(
        "other",
        [
            {"productName": "Virtual Machines NCasT4_v3 Series Windows"},
            {"productName": "NCasT4_v3 Series Cloud Services"},
            {"meterName": "NC4as T4 v3 Low Priority"},
            {"type": "DevTestConsumption"},
            {"type": "Reservation", "unitOfMeasure": "1 Hour"},
            {"unitOfMeasure": "1 GB/Month"},
            {"serviceName": "Azure Databricks"},
            {"armRegionName": ""},
            {"armRegionName": " "},
            {"armSkuName": 5},
            {"currencyCode": ["USD"]},
            {"retailPrice": None},
        ],
    )
    def test_what_is_no_linux_machine_by_the_hour_is_left_out(
        self, other: dict[str, Any], tmp_path: Path
    ) -> None:
        page = lists.azure_page(lists.azure_item(amount=9.0, **other), lists.azure_item())
        (price,) = read(tmp_path, json.dumps(page))
        assert (price.on_demand, price.spot) == (0.5, None)

    def test_the_start_of_a_price_is_not_its_day(self, tmp_path: Path) -> None:
        (tmp_path / "page").write_text(lists.EXAMPLES["azure"][1])
        (price,) = read_files([tmp_path / "page"], "azure", Origin())
        assert price.as_of is None


class TestPlainTable:
    """A table of one's own."""

    def test_every_property_has_a_column(self, tmp_path: Path) -> None:
        text = (
            "provider,sku,region,kind,vcpus,memory_gib,on_demand,spot,unit,currency,as_of,source\n"
            "lab,node,porto-alegre,machine,8,32,1.5,,hour,BRL,2026-01-02,our bill\n"
        )
        (price,) = read(tmp_path, text)
        assert (price.currency, price.as_of, price.source) == ("BRL", date(2026, 1, 2), "our bill")
        assert (price.on_demand, price.spot, price.vcpus) == (1.5, None, 8)

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            ("lab,node,poa,cheap", "on_demand 'cheap': Input should be a valid number"),
            ("lab,,poa,1", "sku is empty"),
            ("lab,node,poa,1,5", "the row has more cells than there are columns; amounts are"),
            ("Lab One,node,poa,1", "provider 'Lab One' has characters that a price's name cannot"),
        ],
    )
    def test_what_is_wrong_is_told_with_line_and_column(
        self, row: str, reason: str, tmp_path: Path
    ) -> None:
        text = f"provider,sku,region,on_demand\nlab,other,poa,2\n{row}\n"
        with pytest.raises(InputError) as caught:
            read(tmp_path, text)
        assert f"list:3: {reason}" in str(caught.value)

    def test_empty_cells_at_the_end_of_a_row_are_none(self, tmp_path: Path) -> None:
        (price,) = read(tmp_path, "provider,sku,region,on_demand\nlab,node,poa,2,,\n")
        assert price.on_demand == 2

    def test_an_endless_cell_is_refused(self, tmp_path: Path) -> None:
        text = f"provider,sku,region,on_demand\nlab,{'x' * 200_000},poa,2\n"
        with pytest.raises(InputError, match="list: is no table: field larger than"):
            read(tmp_path, text)

    def test_a_misspelt_column_is_corrected(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="'on_demnd' is not known; did you mean 'on_demand'"):
            read(tmp_path, "provider,sku,region,on_demnd\n", form="csv")
