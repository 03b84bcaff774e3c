"""Before a study on SageMaker: can it work, what does it cost, what if this machine dies now."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import numpy as np

from prumo.errors import InputError, did_you_mean
from prumo.money.catalog import load_catalog
from prumo_endpoint.keep_warm.live import policy_named
from prumo_endpoint.load.request_table import requests_needed
from prumo_endpoint.money.data import data_price, per_byte
from prumo_endpoint.rule import KINDS
from prumo_endpoint.sagemaker.account import Account, AccountError, aws_errors
from prumo_endpoint.sagemaker.cloudwatch import PATIENCE_SECONDS
from prumo_endpoint.sagemaker.deployment import MAX_CONCURRENCY, Deployment, architecture_of
from prumo_endpoint.scenarios import COLD_STARTS, REQUESTS
from prumo_endpoint.traces import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_endpoint.keep_warm.policy import Times

CREATION_SECONDS = 600.0
"""Assumed for an endpoint that is created; SageMaker promises nothing."""
ANSWER_SECONDS = 1.0
COLD_ANSWER_SECONDS = 20.0
"""Both are assumed, and said in the preflight."""
# The more data the shorter answers are, where nothing else limits their number.
_SHORT_ANSWER_SECONDS = 0.05
_ANSWER_BYTES = 10_000
_OVERHEAD_SECONDS = 15.0
# Up to 650 times the first rate, and then back to the highest that keeps the goal.
_RAMP_STEPS = 20
_RAMP_FACTOR = 1.5
_HOUR = 3600
_SCHEMA_LIST = ("manifest.list", "image.index")
_MANIFESTS = [
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
]
_INSTANCE_QUOTA = "{instance_type} for endpoint usage"
_MEMORY_QUOTA = re.compile(r"memory.*serverless", re.IGNORECASE)


@dataclass(frozen=True)
class PlannedRun:
    """A run on SageMaker: where, and how long it will take."""

    deployment: Deployment | None
    """None for an endpoint that exists already."""
    seconds: float
    """Until its end, with the wait for CloudWatch."""
    busy_seconds: float
    """For which requests are being answered, those at the same time added up."""
    requests: float = 0.0


def planned_seconds(parameters: Mapping[str, Any]) -> tuple[float, float, float]:
    """How long a run takes, for how long it is answered, and how many requests it has.

    Guesses on the long side. A serverless endpoint cannot be billed for more than all its instances
    at work all the time, which is what a ramp ends with.
    """
    experiment, seconds = parameters["experiment"], float(parameters["seconds"])
    instances = parameters.get("max_concurrency") or MAX_CONCURRENCY
    if experiment in {"closed-loop", "ramp"}:
        busy = min(parameters["users"], instances) if experiment == "closed-loop" else instances
        lasts = seconds if experiment == "closed-loop" else _ramp_seconds(parameters)
        asked = busy * lasts
        requests = asked / _SHORT_ANSWER_SECONDS
    else:
        requests, lasts, starts = _planned_requests(parameters, instances)
        asked = requests * ANSWER_SECONDS + starts * COLD_ANSWER_SECONDS
        if experiment in {"open-loop", "trace"}:
            asked = min(asked, instances * (lasts + COLD_ANSWER_SECONDS))
            lasts += COLD_ANSWER_SECONDS
        else:
            lasts += asked
    before = parameters.get("uncounted")
    before = int(experiment == "warm-up") if before is None else before
    lasts += before * (ANSWER_SECONDS + float(parameters["interval_seconds"]))
    asked += before * ANSWER_SECONDS
    return lasts + _OVERHEAD_SECONDS + PATIENCE_SECONDS, asked, requests + before


def _planned_requests(parameters: Mapping[str, Any], instances: int) -> tuple[float, float, int]:
    """How many requests are sent, over how many seconds, and how many of them start cold."""
    experiment, interval = parameters["experiment"], float(parameters["interval_seconds"])
    if experiment == "cold-start":
        starts = parameters.get("requests") or COLD_STARTS
        return starts, starts * float(parameters["idle_seconds"]), starts
    if experiment in {"warm-up", "real-time"}:
        requests = parameters.get("requests") or REQUESTS
        return requests, requests * interval, 1
    if experiment == "burst":
        bursts = parameters["bursts"]
        return parameters["burst_size"] * bursts, bursts * interval, instances
    if experiment == "trace":
        times = _trace_times(parameters)
        idle = parameters["idle_timeout_seconds"] / parameters["trace_speed"]
        return len(times), float(times[-1]), instances + int((np.diff(times) > idle).sum())
    seconds = float(parameters["seconds"])
    return math.ceil(float(parameters["rate"]) * seconds), seconds, instances


def _trace_times(parameters: Mapping[str, Any]) -> Times:
    """When the calls of a trace and the pings between them are sent."""
    calls = Trace(Path(parameters["trace"]), seed=parameters["seed"]).arrivals()
    times = calls.seconds
    if (policy := parameters.get("keep_warm")) is not None:
        pings = policy_named(policy).pings(calls, parameters["idle_timeout_seconds"])
        times = np.sort(np.concatenate([times, pings]))
    return np.asarray(times / parameters["trace_speed"])


def _ramp_seconds(parameters: Mapping[str, Any]) -> float:
    """Of rising rates, each as long as asked for, or as its percentile needs."""
    seconds, needed = float(parameters["seconds"]), requests_needed(parameters["goal_share"])
    rates = float(parameters.get("rate") or 1) * _RAMP_FACTOR ** np.arange(_RAMP_STEPS)
    return float(np.maximum(seconds, needed / rates).sum())


class Costs:
    """What planned runs cost, at the prices of the catalog."""

    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self._runs = runs
        self._deployments = list(dict.fromkeys(run.deployment for run in runs if run.deployment))
        self.unpriced: list[str] = []
        catalog = load_catalog()
        self.rates: dict[Deployment, float] = {}
        """US dollars per hour of an instance, or per second of a serverless answer."""
        self.data_usd_per_byte: dict[Deployment, float] = {}
        """In and out of a serverless endpoint, where the price is known."""
        self.request_bytes = 0
        """The largest that is sent."""
        for deployment in self._deployments:
            try:
                price = catalog.named(deployment.price_name)
            except InputError:
                price = None
            if price is None or price.on_demand is None or price.currency != "USD":
                self.unpriced.append(deployment.price_name)
            else:
                self.rates[deployment] = price.on_demand
            data = data_price(catalog, deployment.price_name) if deployment.is_serverless else None
            if data is not None and data.on_demand is not None and data.currency == "USD":
                self.data_usd_per_byte[deployment] = per_byte(data.on_demand)

    @property
    def total_usd(self) -> float | None:
        """The most that is expected; None where a price is missing."""
        if self.unpriced:
            return None
        return math.fsum(self._usd(deployment) for deployment in self._deployments)

    def run_usd(self, run: PlannedRun) -> float:
        """One run alone, on an endpoint that stands."""
        if run.deployment is None or run.deployment not in self.rates:
            return 0.0
        if run.deployment.is_serverless:
            data_bytes = run.requests * (self.request_bytes + _ANSWER_BYTES)
            return self.used_usd(run.deployment, run.busy_seconds, data_bytes)
        return run.seconds * self.rates[run.deployment] / _HOUR

    def used_usd(self, deployment: Deployment, seconds: float, data_bytes: float) -> float:
        """What a serverless endpoint costs for answers of so many seconds, and their data."""
        data = data_bytes * self.data_usd_per_byte.get(deployment, 0.0)
        return seconds * self.rates.get(deployment, 0.0) + data

    def at_once(self) -> list[Deployment]:
        """The endpoints that exist at the most expensive moment."""
        return max(self._standing(), key=self.usd_per_hour, default=[])

    def usd_per_hour(self, deployments: Sequence[Deployment]) -> float:
        """What endpoints cost while nobody asks them."""
        return math.fsum(
            self.rates.get(each, 0.0) for each in deployments if not each.is_serverless
        )

    def most_instances(self) -> Counter[tuple[str, str]]:
        """Region and instance type → the most that exist at once."""
        most: Counter[tuple[str, str]] = Counter()
        for standing in self._standing():
            most |= Counter((d.region, d.instance_type) for d in standing if d.instance_type)
        return most

    def _standing(self) -> Iterator[list[Deployment]]:
        """For each run the endpoints that exist during it."""
        for place in range(len(self._runs)):
            yield [each for each in self._deployments if place in self._lifetime(each)]

    def _lifetime(self, deployment: Deployment) -> range:
        """From its first run to its last one."""
        places = [n for n, run in enumerate(self._runs) if run.deployment == deployment]
        return range(places[0], places[-1] + 1)

    def _usd(self, deployment: Deployment) -> float:
        rate, lifetime = self.rates[deployment], self._lifetime(deployment)
        if deployment.is_serverless:
            own = (run for run in self._runs if run.deployment == deployment)
            return math.fsum(map(self.run_usd, own))
        seconds = math.fsum(self._runs[place].seconds for place in lifetime)
        return (seconds + CREATION_SECONDS) * rate / _HOUR


def findings(
    runs: Sequence[PlannedRun],
    accounts: Mapping[str, Account],
    costs: Costs,
    largest_payload: int,
    spent_usd: float,
) -> list[str]:
    """What the user has to know before agreeing.

    Raises:
        InputError: It cannot work: a region, a quota, an architecture, a payload.
        AccountError: The credentials do not work.
    """
    for region in accounts:
        require_region(region)
    lines = [
        f"SageMaker: account {account.number}, {region}" for region, account in accounts.items()
    ]
    deployments = list(dict.fromkeys(run.deployment for run in runs if run.deployment))
    for deployment in deployments:
        require_payload(deployment, largest_payload)
        lines += _architecture_lines(deployment, accounts[deployment.region])
    for region, account in accounts.items():
        here = [each for each in deployments if each.region == region]
        most = costs.most_instances()
        instances = {kind: count for (place, kind), count in most.items() if place == region}
        memory_mb = max((each.memory_mb or 0 for each in here), default=0)
        lines += quota_lines(account, instances, memory_mb) if here else []
    if any(run.deployment is None for run in runs):
        lines.append("endpoints that exist already are asked and not priced here")
    hours = (sum(run.seconds for run in runs) + len(deployments) * CREATION_SECONDS) / _HOUR
    if deployments:
        lines.append(
            f"endpoints to create and remove again: {len(deployments)}, for {len(runs)} runs, "
            f"about {hours:.1f} h"
        )
    lines += [f"no price for {name}: `prumo price import` adds one" for name in costs.unpriced]
    if (total := costs.total_usd) is not None:
        already = f", {spent_usd:.2f} already spent" if spent_usd else ""
        lines.append(f"price: up to ${total:.2f}{already}")
    lines += _assumption_lines(deployments, costs)
    hourly = costs.usd_per_hour(costs.at_once())
    lines.append("if this program dies, a keeper process removes everything; if the machine dies,")
    lines.append(
        f"  up to ${hourly:.2f} an hour, ${24 * hourly:.2f} a day, until `prumo endpoint clean`"
        if hourly
        else "  serverless endpoints remain, which cost nothing while nobody asks"
    )
    return lines


def _assumption_lines(deployments: Sequence[Deployment], costs: Costs) -> list[str]:
    serverless = [each for each in deployments if each.is_serverless]
    if not serverless:
        return []
    taken = f"answers of {ANSWER_SECONDS:g} s and cold starts of {COLD_ANSWER_SECONDS:g} s"
    lines = [f"  it assumes {taken}; --max-cost also stops a run that costs more"]
    unpriced = {each.region for each in serverless if each not in costs.data_usd_per_byte}
    if unpriced:
        lines.append(f"  data in and out has no known price in {', '.join(sorted(unpriced))}")
    return lines


def require_region(region: str) -> None:
    """Refuse a region in which boto3 knows no SageMaker."""
    import boto3  # noqa: PLC0415 (large, and only for SageMaker)

    session = boto3.Session()
    known = [
        name
        for partition in session.get_available_partitions()
        for name in session.get_available_regions("sagemaker", partition)
    ]
    if region not in known:
        raise InputError(
            f"there is no SageMaker in the region '{region}', as far as this boto3 knows; "
            f"{did_you_mean(region, known)}"
        )


def require_payload(deployment: Deployment, largest_bytes: int) -> None:
    """Refuse a body that SageMaker refuses."""
    kind = "serverless" if deployment.is_serverless else "real-time"
    limit = KINDS[kind]
    if largest_bytes > limit.payload_bytes:
        raise InputError(
            f"the largest payload has {largest_bytes / 2**20:.1f} MB; a {kind} endpoint takes "
            f"{limit.payload_mb:g} MB"
        )


def _architecture_lines(deployment: Deployment, account: Account) -> list[str]:
    image, wanted = account.image(deployment.image), architecture_of(deployment.instance_type)
    try:
        built = _architectures(image, account)
    except AccountError as error:
        if error.code in {"RepositoryNotFoundException", "ImageNotFoundException"}:
            raise InputError(f"there is no image {image}; push one to ECR") from error
        return [f"the architecture of {image} is not checked: {error}"]
    if built and wanted not in built:
        what = deployment.instance_type or "a serverless endpoint"
        raise InputError(
            f"{image} is built for {', '.join(sorted(built))}, and {what} needs {wanted}"
        )
    return [] if built else [f"the architecture of {image} is not known; {wanted} is needed"]


def _architectures(image: str, account: Account) -> set[str]:
    """What an image of ECR is built for; empty where its manifest does not say."""
    registry, _, rest = image.partition("/")
    name, mark, tag = rest.rpartition("@") if "@" in rest else rest.rpartition(":")
    identity = {"imageDigest" if mark == "@" else "imageTag": tag} if mark else {}
    ecr = account.client("ecr")
    repository = {"registryId": registry.partition(".")[0], "repositoryName": name or rest}
    with aws_errors(image):
        said = ecr.batch_get_image(
            **repository,
            imageIds=[identity or {"imageTag": "latest"}],
            acceptedMediaTypes=_MANIFESTS,
        )
    if not said["images"]:
        raise AccountError(f"{image} is not there", "ImageNotFoundException")
    manifest = json.loads(said["images"][0]["imageManifest"])
    if any(word in str(manifest.get("mediaType", "")) for word in _SCHEMA_LIST):
        platforms = [each.get("platform", {}) for each in manifest.get("manifests", ())]
        return {str(each["architecture"]) for each in platforms if "architecture" in each}
    digest = manifest.get("config", {}).get("digest")
    if not digest:
        return set()
    with aws_errors(image):
        url = ecr.get_download_url_for_layer(**repository, layerDigest=digest)["downloadUrl"]
    try:
        with urlopen(url, timeout=20) as answer:  # noqa: S310 (as ECR says)
            architecture = json.load(answer).get("architecture")
    except (OSError, ValueError, AttributeError):
        return set()
    return {str(architecture)} if architecture else set()


def quota_lines(account: Account, instances: Mapping[str, int], memory_mb: int) -> list[str]:
    """Refuse more instances of a type, or serverless memory, than the account may have.

    What could not be checked is returned.
    """
    quotas: dict[str, float] = {}
    try:
        client = account.client("service-quotas")
        with aws_errors("quotas"):
            for page in client.get_paginator("list_service_quotas").paginate(
                ServiceCode="sagemaker"
            ):
                quotas |= {each["QuotaName"]: float(each["Value"]) for each in page["Quotas"]}
    except AccountError as error:
        return [f"quotas are not checked: {error}"]
    lines = []
    for instance_type, needed in instances.items():
        name = _INSTANCE_QUOTA.format(instance_type=instance_type)
        if quotas.get(name, math.inf) < needed:
            raise InputError(
                f"the quota '{name}' is {quotas[name]:g} in {account.region}, and {needed} are "
                "needed at once; ask AWS for more under Service Quotas"
            )
        if name not in quotas:
            lines.append(f"the quota '{name}' is not listed in {account.region}")
    for name, value in quotas.items():
        if memory_mb and _MEMORY_QUOTA.search(name) and value < memory_mb:
            raise InputError(
                f"the quota '{name}' is {value:g} in {account.region}, and {memory_mb} MB are "
                "needed; ask AWS for more under Service Quotas"
            )
    return lines
