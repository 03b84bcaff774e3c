"""`prumo price update` against services that page, throttle, break off and lie."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest

from prumo import http
from prumo.errors import InputError
from prumo.money.catalog import load_catalog, own_prices
from prumo.money.lint import Problem
from prumo.money.sources import fetching_sources
from prumo.money.update import Outcome, UpdateRequest, update
from support import price_lists as lists
from support.heard_progress import Heard
from support.price_server import Trouble

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.money.update import Intake
    from support.price_server import Service

TODAY = date(2026, 11, 16)
AZURE = "/api/retail/prices"
T4 = UpdateRequest(("azure",), ("eastus",), ("Standard_NC4as_T4_v3",))
SAGEMAKER = "/offers/v1.0/aws/AmazonSageMaker/20260925000313/us-east-1/index.json"
EC2 = "/offers/v1.0/aws/AmazonEC2/20260925000313/us-east-1/index.csv"
CATALOG = "/catalogs/v8/gcp/vms.csv"
COMMITS = [{"sha": "1", "commit": {"committer": {"name": "bot", "date": "2024-08-19T10:00:00Z"}}}]


def azure_serves(service: Service, *items: dict[str, object]) -> None:
    service.pages[AZURE] = json.dumps(lists.azure_page(*items or (lists.azure_item(),)))


def aws_serves(service: Service) -> None:
    offers = {
        name: {
            "offerCode": name,
            "currentVersionUrl": f"/offers/v1.0/aws/{name}/current/index.json",
            "currentRegionIndexUrl": f"/offers/v1.0/aws/{name}/current/region_index.json",
        }
        for name in ("AmazonEC2", "AmazonSageMaker")
    }
    service.pages["/offers/v1.0/aws/index.json"] = json.dumps({"offers": offers})
    for name in offers:
        path = f"/offers/v1.0/aws/{name}/20260925000313/us-east-1/index.json"
        regions = {"us-east-1": {"regionCode": "us-east-1", "currentVersionUrl": path}}
        index = json.dumps({"formatVersion": "v1.0", "regions": regions})
        service.pages[f"/offers/v1.0/aws/{name}/current/region_index.json"] = index
    service.pages[EC2] = lists.offer_csv({})
    service.pages[SAGEMAKER] = lists.offer_json(
        "AmazonSageMaker", [(lists.hosting_attributes(), [("0", "Hrs", "0.25")])]
    )


def skypilot_serves(service: Service) -> None:
    service.pages["/commits"] = json.dumps(COMMITS)
    service.pages[CATALOG] = lists.skypilot(
        ",tpu-v2-8,1,,,tpu-v2-8,4.6,1.4,us-central1,us-central1-b",
        ",tpu-v6e-1,1,,,tpu-v6e-1,700.0,700.0,us-central1,us-central1-b",
    )


def one(request: UpdateRequest, heard: Heard | None = None) -> Outcome:
    (outcome,) = update(request, heard or Heard(), TODAY)
    return outcome


def taken(request: UpdateRequest, heard: Heard | None = None) -> Intake:
    outcome = one(request, heard)
    assert outcome.intake, outcome.failure
    return outcome.intake


SERVING = {"azure": azure_serves, "aws": aws_serves, "skypilot": skypilot_serves}
REQUESTS = {
    "azure": T4,
    "aws": UpdateRequest(("sagemaker",), ("us-east-1",), ("ml.m5.xlarge",)),
    "skypilot": UpdateRequest(("gcp",), ("us-central1",), ("tpu-v2-8",)),
}


def test_every_source_is_tested() -> None:
    assert SERVING.keys() == REQUESTS.keys() == fetching_sources().keys()


@pytest.mark.parametrize("source", SERVING)
class TestEverySource:
    """What holds for each public service."""

    def test_gives_what_was_asked_for_with_a_date_and_a_source(
        self, source: str, service: Service
    ) -> None:
        SERVING[source](service)
        request = REQUESTS[source]
        (price,) = taken(request).kept
        assert ((price.provider,), (price.region,), (price.sku,)) == (
            request.providers,
            request.regions,
            request.skus,
        )
        assert price.as_of
        assert price.source

    @pytest.mark.parametrize(
        "troubles",
        [
            [Trouble(429, {"Retry-After": "0"}), Trouble(429)],
            [Trouble(500), Trouble(503), Trouble(502)],
            [Trouble(given_bytes=20)],
            [Trouble(429, {"Retry-After": format_datetime(datetime.now(UTC))})],
        ],
        ids=["throttled", "failing", "cut off", "throttled until a date"],
    )
    def test_is_asked_again_after_a_passing_fault(
        self, source: str, troubles: list[Trouble], service: Service
    ) -> None:
        SERVING[source](service)
        service.troubles = list(troubles)
        heard = Heard()
        assert taken(REQUESTS[source], heard).kept
        assert len([line for line in heard.said if "trying again in" in line]) == len(troubles)

    @pytest.mark.parametrize("trouble", [Trouble(503), Trouble(given_bytes=3)])
    def test_is_given_up_in_the_end_and_known_prices_stay(
        self, source: str, trouble: Trouble, service: Service, cache: Path
    ) -> None:
        SERVING[source](service)
        taken(REQUESTS[source])
        before = {file: file.read_bytes() for file in cache.rglob("*.csv")}
        service.asked.clear()
        service.troubles = [trouble] * 50
        outcome = one(REQUESTS[source])
        assert "4 times; the prices known so far are kept" in outcome.failure
        assert len(service.asked) == 4
        assert {file: file.read_bytes() for file in cache.rglob("*.csv")} == before

    def test_a_page_that_is_gone_is_not_asked_for_again(
        self, source: str, service: Service
    ) -> None:
        assert "404 Not Found" in one(REQUESTS[source]).failure
        assert len(service.asked) == 1

    def test_no_network_is_told_at_once(
        self, source: str, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("AZURE_PRICES", "AWS_PRICES", "SKYPILOT_PRICES", "SKYPILOT_COMMITS"):
            monkeypatch.setenv(f"PRUMO_{name}_URL", "http://name.invalid")
        assert "http://name.invalid/" in one(REQUESTS[source]).failure.replace(
            "invalid:", "invalid/"
        )
        assert service.asked == []

    def test_a_silent_service_is_not_waited_for(
        self, source: str, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        SERVING[source](service)
        monkeypatch.setattr(http, "TIMEOUT_SECONDS", 0.25)
        service.troubles = [Trouble(delay_seconds=0.6)]
        heard = Heard()
        assert taken(REQUESTS[source], heard).kept
        assert any("timed out; trying again" in line for line in heard.said)


def test_a_service_that_wants_a_long_rest_gets_it(service: Service) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    for wanted in ("3600", later):
        service.troubles = [Trouble(429, {"Retry-After": wanted})]
        assert "asks to be left alone for 3" in one(T4).failure
    assert len(service.asked) == 2


@pytest.mark.parametrize("wanted", ["²", "soon", "Mon, 16 Nov 2020 01:00:00 -0000"])
def test_a_wait_that_is_written_oddly_is_no_defect(wanted: str, service: Service) -> None:
    azure_serves(service)
    service.troubles = [Trouble(429, {"Retry-After": wanted})]
    assert taken(T4).kept


def test_what_is_no_json_is_asked_for_again(service: Service) -> None:
    azure_serves(service)
    service.troubles = [Trouble(body=b'{"Items": [')]
    heard = Heard()
    assert taken(T4, heard).kept
    assert "the answer is no whole JSON" in heard.said[0]


def test_azure_is_asked_with_a_filter_and_page_after_page(service: Service) -> None:
    azure_serves(service)
    later = f"{AZURE}?$skip=1"
    spot = lists.azure_item(amount=0.06, meterName="NC4as T4 v3 Spot")
    first = lists.azure_page(lists.azure_item(amount=0.55), link=f"{service.url}{later}")
    service.pages |= {AZURE: json.dumps(first), later: json.dumps(lists.azure_page(spot))}
    (price,) = taken(T4).kept
    assert (price.on_demand, price.spot, price.as_of) == (0.55, 0.06, TODAY)
    wanted = (
        "serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and "
        "armRegionName eq 'eastus' and (armSkuName eq 'Standard_NC4as_T4_v3')"
    )
    first_page = f"{AZURE}?api-version=2023-01-01-preview&$filter={wanted}"
    assert service.asked == [first_page, later]


def test_pages_that_go_round_in_circles_are_left(service: Service) -> None:
    url = f"{service.url}{AZURE}?again"
    service.pages[AZURE] = json.dumps(lists.azure_page(lists.azure_item(), link=url))
    assert "the pages have no end" in one(T4).failure
    assert len(service.asked) == 2
    assert own_prices() == []


def test_many_skus_are_asked_for_in_portions(service: Service) -> None:
    azure_serves(service)
    skus = tuple(f"Standard_D{number}s_v5" for number in range(25))
    heard = Heard()
    taken(UpdateRequest(("azure",), ("eastus",), skus), heard)
    assert [asked.count("armSkuName eq") for asked in service.asked] == [10, 10, 5]
    assert heard.said[0].startswith("azure: azure has no price in eastus of Standard_D0s_v5, ")


def test_what_the_catalog_knows_of_a_machine_is_filled_in(service: Service) -> None:
    azure_serves(service)
    (price,) = taken(T4).kept
    assert (price.vcpus, price.memory_gib, price.accelerator) == (4, 28, "T4")
    assert load_catalog().named("azure/Standard_NC4as_T4_v3@eastus") == price


def test_without_options_everything_that_the_catalog_has_is_asked_for(service: Service) -> None:
    azure_serves(service)
    aws_serves(service)
    skypilot_serves(service)
    outcomes = {outcome.provider: outcome for outcome in update(UpdateRequest(), Heard(), TODAY)}
    assert outcomes.keys() == {"aws", "azure", "gcp", "sagemaker"}
    assert "404" in outcomes["aws"].failure
    assert [outcomes[name].intake is not None for name in ("azure", "gcp", "sagemaker")] == [
        True
    ] * 3
    azure_asked = [asked for asked in service.asked if asked.startswith(AZURE)]
    assert ["eastus" in asked for asked in azure_asked] == [False, True]


def test_a_catalog_on_github_is_as_old_as_its_last_commit(service: Service) -> None:
    skypilot_serves(service)
    heard = Heard()
    intake = taken(UpdateRequest(("gcp",), ("us-central1",), every_sku=True), heard)
    assert [(price.sku, price.as_of) for price in intake.kept] == [("tpu-v2-8", date(2024, 8, 19))]
    assert {finding.problem for finding in intake.left_out} == {Problem.SENTINEL}
    assert service.asked[0] == "/commits?path=catalogs/v8/gcp/vms.csv&per_page=1"
    assert heard.said[0].startswith("gcp: Google's own price list needs an API key")


def test_an_older_catalog_does_not_hide_a_newer_price(service: Service) -> None:
    skypilot_serves(service)
    taken(REQUESTS["skypilot"])
    assert load_catalog().named("gcp/tpu-v2-8@us-central1").on_demand == 4.5


def test_the_list_of_ec2_is_read_as_csv(service: Service) -> None:
    aws_serves(service)
    request = UpdateRequest(("aws",), ("us-east-1",), ("g4dn.xlarge",), source="aws")
    (price,) = taken(request).kept
    assert (price.on_demand, price.accelerator, price.as_of) == (0.526, "T4", date(2026, 9, 25))
    assert service.asked[-1] == EC2


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (UpdateRequest(("lambda",)), "nothing of it is in the catalog yet: add --region"),
        (
            UpdateRequest(("lambda",), ("us-east-1",)),
            "nothing of it is in the catalog yet: say --sku or",
        ),
        (
            UpdateRequest(("gcp",), source="aws"),
            "the AWS price list has no prices of 'gcp'; known: aws,",
        ),
        (
            UpdateRequest(("sagemaker",), ("us-east-9",)),
            "AmazonSageMaker is not sold in 'us-east-9'; did",
        ),
        (
            UpdateRequest(("sagemaker",), skus=("ml.no",)),
            "aws has none of the prices that were asked for",
        ),
    ],
)
def test_a_request_that_cannot_be_fulfilled_is_told(
    asked: UpdateRequest, reason: str, service: Service
) -> None:
    aws_serves(service)
    assert reason in one(asked).failure


def test_an_unknown_service_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'azure'"):
        update(UpdateRequest(source="azur"), Heard(), TODAY)


def test_an_index_that_changed_its_form_is_told(service: Service) -> None:
    aws_serves(service)
    service.pages["/offers/v1.0/aws/index.json"] = "[]"
    failure = one(REQUESTS["aws"]).failure
    assert "has no offers/AmazonSageMaker/currentRegionIndexUrl any more" in failure


@pytest.mark.parametrize("content", ["[]", '{"regions": []}'])
def test_an_index_of_regions_that_changed_its_form_is_told(content: str, service: Service) -> None:
    aws_serves(service)
    path = "/offers/v1.0/aws/AmazonSageMaker/current/region_index.json"
    service.pages[path] = content
    assert f"{path}: has no " in one(REQUESTS["aws"]).failure


def test_a_link_that_is_no_address_is_told(service: Service) -> None:
    page = lists.azure_page(lists.azure_item()) | {"NextPageLink": 5}
    service.pages[AZURE] = json.dumps(page)
    assert "is not an address" in one(T4).failure


def test_a_catalog_without_a_date_is_not_taken(service: Service) -> None:
    skypilot_serves(service)
    service.pages["/commits"] = "[]"
    assert "does not say when the catalog last changed" in one(REQUESTS["skypilot"]).failure
    assert own_prices() == []
