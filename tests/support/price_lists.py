"""Price lists as providers give them: one machine with a T4 in every form."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

SKYPILOT_HEAD = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"
    "Region,AvailabilityZone"
)
OFFER_COLUMNS = [
    "SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate",
    "StartingRange", "EndingRange", "Unit", "PricePerUnit", "Currency", "Product Family",
    "serviceCode", "Location", "Instance Type", "vCPU", "Memory", "Tenancy", "Operating System",
    "usageType", "operation", "CapacityStatus", "GPU", "MarketOption", "Pre Installed S/W",
    "Region Code",
]  # fmt: skip


def skypilot(*rows: str) -> str:
    return "\n".join([SKYPILOT_HEAD, *rows]) + "\n"


def azure_item(
    sku: str = "Standard_NC4as_T4_v3", amount: float = 0.5, **other: Any
) -> dict[str, Any]:
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": amount,
        "unitPrice": amount,
        "armRegionName": "eastus",
        "location": "US East",
        "effectiveStartDate": "2021-05-01T00:00:00Z",
        "meterName": sku.removeprefix("Standard_"),
        "productName": "Virtual Machines NCasT4_v3 Series",
        "skuName": sku.removeprefix("Standard_").replace("_", " "),
        "serviceName": "Virtual Machines",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": sku,
    } | other


def azure_page(*items: dict[str, Any], link: str | None = None) -> dict[str, Any]:
    return {
        "BillingCurrency": "USD",
        "CustomerEntityId": "Default",
        "CustomerEntityType": "Retail",
        "Items": list(items),
        "NextPageLink": link,
        "Count": len(items),
    }


def offer_json(
    service: str, products: list[tuple[dict[str, str], list[tuple[str, str, str]]]]
) -> str:
    """An offer file; each product has attributes, and prices as (from units on, unit, amount)."""
    listed, terms = {}, {}
    for number, (attributes, dimensions) in enumerate(products):
        sku = f"SKU{number}"
        listed[sku] = {"sku": sku, "productFamily": "Compute Instance", "attributes": attributes}
        terms[sku] = {
            f"{sku}.JRTCKXETXF": {
                "sku": sku,
                "effectiveDate": "2026-09-01T00:00:00Z",
                "priceDimensions": {
                    f"{sku}.JRTCKXETXF.{begins}": {
                        "unit": unit,
                        "beginRange": begins,
                        "endRange": "Inf",
                        "pricePerUnit": {"USD": amount},
                    }
                    for begins, unit, amount in dimensions
                },
            }
        }
    content = {
        "formatVersion": "v1.0",
        "disclaimer": "This pricing list is for informational purposes only.",
        "offerCode": service,
        "version": "20260925000313",
        "publicationDate": "2026-09-25T00:03:13Z",
        "products": listed,
        "terms": {"OnDemand": terms, "Reserved": {}},
    }
    return json.dumps(content, indent=2)


def machine_attributes(name: str = "g4dn.xlarge", **other: str) -> dict[str, str]:
    return {
        "servicecode": "AmazonEC2",
        "instanceType": name,
        "vcpu": "4",
        "memory": "16 GiB",
        "gpu": "1",
        "tenancy": "Shared",
        "operatingSystem": "Linux",
        "capacitystatus": "Used",
        "preInstalledSw": "NA",
        "marketoption": "OnDemand",
        "operation": "RunInstances",
        "usagetype": f"BoxUsage:{name}",
        "regionCode": "us-east-1",
    } | other


def hosting_attributes(name: str = "ml.m5.xlarge", **other: str) -> dict[str, str]:
    return {
        "servicecode": "AmazonSageMaker",
        "component": "Hosting",
        "instanceName": name,
        "instanceType": f"{name}-Hosting",
        "vCpu": "4",
        "memory": "16 GiB",
        "usagetype": f"USE1-Host:{name}",
        "operation": "RunInstance",
        "regionCode": "us-east-1",
    } | other


def serverless_attributes(gigabytes: int) -> dict[str, str]:
    return {
        "servicecode": "AmazonSageMaker",
        "usagetype": f"USE1-ServerlessInf:Mem-{gigabytes}GB",
        "operation": "RunInstance",
        "regionCode": "us-east-1",
    }


def provisioned_attributes(gigabytes: int, what: str) -> dict[str, str]:
    usage = f"USE1-ProvisionedConcurrency:{what}-{gigabytes}GB"
    return serverless_attributes(gigabytes) | {"usagetype": usage}


def data_attributes(way: str) -> dict[str, str]:
    return {
        "servicecode": "AmazonSageMaker",
        "group": f"Hosting:{way.upper()}",
        "usagetype": f"USE1-Hst:Data-Bytes-{way}",
        "operation": "Invoke-Endpoint",
        "regionCode": "us-east-1",
    }


def offer_csv(*rows: dict[str, str]) -> str:
    """An offer file of EC2 machines as CSV; rows differ from that of a plain Linux machine."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(["FormatVersion", "v1.0"])
    writer.writerow(["Disclaimer", "This pricing list is for informational purposes only, truly."])
    writer.writerow(["Publication Date", "2026-09-25T00:03:13Z"])
    writer.writerow(["Version", "20260925000313"])
    writer.writerow(["OfferCode", "AmazonEC2"])
    writer.writerow(OFFER_COLUMNS)
    plain = {
        "SKU": "K1", "TermType": "OnDemand", "StartingRange": "0", "EndingRange": "Inf",
        "Unit": "Hrs", "PricePerUnit": "0.5260000000", "Currency": "USD",
        "Product Family": "Compute Instance", "Instance Type": "g4dn.xlarge", "vCPU": "4",
        "Memory": "16 GiB", "Tenancy": "Shared", "Operating System": "Linux",
        "CapacityStatus": "Used", "GPU": "1", "MarketOption": "OnDemand",
        "Pre Installed S/W": "NA", "Region Code": "us-east-1",
    }  # fmt: skip
    for row in rows:
        writer.writerow([(plain | row).get(column, "") for column in OFFER_COLUMNS])
    return text.getvalue()


EXAMPLES = {
    "skypilot": (
        "aws/vms.csv",
        skypilot("g4dn.xlarge,T4,1.0,4.0,16.0,,0.526,0.3265,us-east-1,use1-az1"),
    ),
    "aws": (
        "offer.json",
        offer_json("AmazonEC2", [(machine_attributes(), [("0", "Hrs", "0.5260000000")])]),
    ),
    "azure": ("page.json", json.dumps(azure_page(azure_item()))),
    "csv": (
        "own.csv",
        "provider,sku,region,accelerator,accelerator_count,on_demand\nmine,box,here,T4,1,0.5\n",
    ),
}
"""A file of each form: its name, and its text."""
