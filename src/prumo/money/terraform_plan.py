"""What a Terraform plan costs: its endpoints and machines, priced from the catalog."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from prumo.errors import InputError
from prumo.money.billing import rate_of
from prumo.money.catalog import NoPriceError
from prumo.money.price import Purchase

if TYPE_CHECKING:
    from prumo.money.catalog import Catalog

ENDPOINT = "aws_sagemaker_endpoint"
CONFIGURATION = "aws_sagemaker_endpoint_configuration"
SCALING = "aws_appautoscaling_target"
MACHINE = "aws_instance"
# Paid by what is stored, logged or counted, which a plan does not say.
SMALL = {
    "aws_cloudwatch_log_group": "log, by the GB",
    "aws_cloudwatch_metric_alarm": "alarm, by the month",
    "aws_ecr_repository": "images, by the GB",
    "aws_ecrpublic_repository": "images, by the GB",
    "aws_s3_bucket": "objects, by the GB",
}
FREE = re.compile(
    f"aws_(appautoscaling|budgets|iam|scheduler)_|{CONFIGURATION}$|aws_sagemaker_model$"
    "|aws_s3_bucket_|aws_ecr_lifecycle_policy$"
)
HOW_TO_PLAN = "terraform plan -out=plan && terraform show -json plan > plan.json"

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Usage:
    """What a plan leaves open and a price needs."""

    region: str = ""
    """Where the plan does not say it."""
    answer_seconds: float = 1.0
    """How long a serverless endpoint computes for one answer."""
    provisioned_usd_per_second: float | None = None
    """Of one provisioned instance, in place of the catalog's price."""


@dataclass(frozen=True)
class Cost:
    """What something costs while it exists, and for what it does."""

    usd_per_hour: float = 0.0
    most_usd_per_hour: float = 0.0
    """With as many instances as autoscaling may start."""
    usd_per_1000_answers: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.usd_per_hour + other.usd_per_hour,
            self.most_usd_per_hour + other.most_usd_per_hour,
            self.usd_per_1000_answers + other.usd_per_1000_answers,
        )


@dataclass(frozen=True)
class Item:
    """A resource that is paid for, before and after the plan."""

    address: str
    change: str
    """`added`, `removed`, `changed` or `kept`."""
    what: str
    """As `2 x ml.m5.xlarge`."""
    before: Cost
    after: Cost


@dataclass
class PlanPrice:
    """A whole plan: what is priced, and what is not and why."""

    items: list[Item] = field(default_factory=list)
    not_priced: list[str] = field(default_factory=list)
    """Why something that may cost money has no price here."""
    remedies: list[str] = field(default_factory=list)
    """The commands that fetch what is missing."""
    small: dict[str, str] = field(default_factory=dict)
    """Address → what is paid there."""
    free: int = 0
    prices: set[str] = field(default_factory=set)
    """The prices used, with their dates."""

    @property
    def is_unpriced(self) -> bool:
        """Whether there are endpoints or machines, and none of them has a price."""
        return bool(self.items and self.not_priced and not self.prices)

    @property
    def before(self) -> Cost:
        """The sum before the plan."""
        return sum((item.before for item in self.items), Cost())

    @property
    def after(self) -> Cost:
        """The sum after the plan."""
        return sum((item.after for item in self.items), Cost())


class Planned(BaseModel):
    """What a plan does with one resource."""

    actions: list[str]
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


class Resource(BaseModel):
    """A resource of the plan."""

    address: str
    mode: str = "managed"
    type: str
    change: Planned


class Plan(BaseModel):
    """What `terraform show -json` writes of a plan, as far as it matters for money."""

    format_version: Annotated[str, Field(pattern=r"^\d+\.\d+$")]
    planned_values: dict[str, Any]
    resource_changes: list[Resource] = []
    variables: dict[str, dict[str, Any]] = {}
    configuration: dict[str, Any] = {}
    errored: bool = False


def read_plan(file: Path) -> Plan:
    """A plan as JSON, or as `terraform plan -out` writes it where Terraform is installed."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        plan = Plan.model_validate(
            json.loads(_shown(file) if content.startswith(b"PK") else content)
        )
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise _no_plan(
            file,
            f"its JSON is not as `terraform show -json` writes a plan, at {place}"
            if place
            else "its JSON is no object",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _no_plan(file, "it is not JSON") from error
    if not plan.format_version.startswith("1."):
        raise InputError(
            f"{file}: is a plan of format {plan.format_version}; Prumo reads format 1, "
            "which Terraform 1 and OpenTofu 1 write"
        )
    if plan.errored:
        raise InputError(f"{file}: the plan ended with an error and is not whole; plan again")
    return plan


def _no_plan(file: Path, reason: str) -> InputError:
    return InputError(
        f"{file}: is no Terraform plan: {reason}\n"
        f"Prumo reads the plan that this writes:  {HOW_TO_PLAN}"
    )


def price_plan(plan: Plan, catalog: Catalog, usage: Usage) -> PlanPrice:
    """The price of everything in the plan that is paid for."""
    try:
        return _Pricing(plan, catalog, usage).priced()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"the plan has values that Terraform does not write: {error}") from error


def _shown(file: Path) -> bytes:
    program = shutil.which("terraform") or shutil.which("tofu")
    if program is None:
        raise InputError(
            f"{file}: is a binary plan, and neither terraform nor tofu is installed here\n"
            f"Where one is:  terraform show -json {file.name} > plan.json"
        )
    # Terraform reads a plan where its providers are installed.
    folder = file.parent if (file.parent / ".terraform").is_dir() else Path.cwd()
    command = [program, "show", "-json", "-no-color", str(file.resolve())]
    shown = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if shown.returncode:
        reason = " ".join(shown.stderr.decode(errors="replace").split())
        raise InputError(f"{file}: `terraform show` fails in {folder}: {reason}")
    return shown.stdout


class _Pricing:
    """One plan on its way to a price."""

    def __init__(self, plan: Plan, catalog: Catalog, usage: Usage) -> None:
        self._plan, self._catalog, self._usage = plan, catalog, usage
        self._resources = [found for found in plan.resource_changes if found.mode == "managed"]
        self._provider_keys = dict(_provider_keys(plan.configuration.get("root_module", {}), ""))
        self._result = PlanPrice()

    def priced(self) -> PlanPrice:
        for resource in self._resources:
            if resource.type in {ENDPOINT, MACHINE}:
                self._price(resource)
            elif resource.type in SMALL:
                if resource.change.after:
                    self._result.small[resource.address] = SMALL[resource.type]
            elif FREE.match(resource.type):
                self._result.free += 1
            else:
                self._leave_out(resource, f"Prumo does not know what {resource.type} costs")
        return self._result

    def _price(self, resource: Resource) -> None:
        cost_of = self._machine if resource.type == MACHINE else self._endpoint
        values = resource.change
        before, was = cost_of(resource, values.before, "before") if values.before else (Cost(), "")
        after, becomes = cost_of(resource, values.after, "after") if values.after else (Cost(), "")
        if not (was and becomes):
            change = "added" if becomes else "removed"
        else:
            change = "kept" if was == becomes else "changed"
        what = f"{was} → {becomes}" if change == "changed" else becomes or was
        self._result.items.append(Item(resource.address, change, what, before, after))

    def _machine(self, resource: Resource, values: Values, _side: str) -> tuple[Cost, str]:
        sku = str(values.get("instance_type"))
        amount = self._amount(f"aws/{sku}", resource, values)
        return Cost(amount, amount), sku

    def _endpoint(self, resource: Resource, values: Values, side: str) -> tuple[Cost, str]:
        configuration = self._configuration_of(resource, values, side)
        if configuration is None:
            self._leave_out(resource, "its endpoint configuration is not in the plan")
            return Cost(), "endpoint"
        cost = Cost()
        words: list[str] = []
        for variant in configuration.get("production_variants") or ():
            kind = self._serverless if variant.get("serverless_config") else self._instances
            part, what = kind(variant, resource, values, side)
            cost, words = cost + part, [*words, what]
        return cost, ", ".join(words)

    def _configuration_of(self, resource: Resource, values: Values, side: str) -> Values | None:
        """By its name, or the one beside the endpoint where the name is not known yet."""
        name = values.get("endpoint_config_name")
        beside = f"{resource.address.rpartition(f'{ENDPOINT}.')[0]}{CONFIGURATION}."
        found: list[Values] = [
            content
            for other in self._resources
            if other.type == CONFIGURATION and (content := getattr(other.change, side))
            if (content.get("name") == name if name else other.address.startswith(beside))
        ]
        return found[0] if len(found) == 1 else None

    def _instances(
        self, variant: Values, resource: Resource, values: Values, side: str
    ) -> tuple[Cost, str]:
        sku, count = variant.get("instance_type"), int(variant.get("initial_instance_count") or 1)
        scaled = f"endpoint/{values.get('name')}/variant/{variant.get('variant_name')}"
        most = max(
            int(target["max_capacity"])
            for target in (
                {"resource_id": scaled, "max_capacity": count},
                *(
                    getattr(other.change, side)
                    for other in self._resources
                    if other.type == SCALING
                ),
            )
            if target and target.get("resource_id") == scaled
        )
        amount = self._amount(f"sagemaker/{sku}", resource, values)
        what = f"{count} x {sku}" + (f", at most {most}" if most > count else "")
        return Cost(count * amount, most * amount), what

    def _serverless(
        self, variant: Values, resource: Resource, values: Values, _side: str
    ) -> tuple[Cost, str]:
        settings = variant["serverless_config"][0]
        gigabytes = int(settings["memory_size_in_mb"]) // 1024
        warm = int(settings.get("provisioned_concurrency") or 0)
        sku = f"sagemaker/serverless-{gigabytes}gb"
        per_second = self._amount(sku, resource, values)
        warm_per_second = self._usage.provisioned_usd_per_second
        if warm and warm_per_second is None:
            missing = (
                f"no price of {sku}-provisioned is known; give --provisioned-price 0.00001, "
                "in USD per second and instance"
            )
            warm_per_second = self._amount(f"{sku}-provisioned", resource, values, missing)
        per_hour = 3600 * warm * (warm_per_second or 0.0)
        what = f"serverless, {gigabytes} GB" + (f", {warm} provisioned" if warm else "")
        return Cost(per_hour, per_hour, 1000 * per_second * self._usage.answer_seconds), what

    def _amount(self, sku: str, resource: Resource, values: Values, missing: str = "") -> float:
        region = self._region(resource, values)
        if not region:
            self._leave_out(resource, "the plan does not say its region; give --region")
            return 0.0
        try:
            rate = rate_of(self._catalog.named(f"{sku}@{region}"), Purchase.ON_DEMAND)
        except InputError as error:
            if isinstance(error, NoPriceError) and not missing:
                missing = error.missing
                self._result.remedies.append(error.remedy)
            self._leave_out(resource, missing or str(error))
            return 0.0
        if rate.currency != "USD":
            self._leave_out(resource, f"{rate.price} is in {rate.currency}, not in USD")
            return 0.0
        self._result.prices.add(f"{rate.price} of {rate.as_of or 'an unknown day'}")
        return rate.amount

    def _region(self, resource: Resource, values: Values) -> str:
        """Of the resource itself, or of the provider that makes it."""
        if found := re.match("arn:[^:]*:[^:]*:([^:]+):", str(values.get("arn"))):
            return found[1]
        key = self._provider_keys.get(re.sub(r"\[[^]]*\]", "", resource.address), "aws")
        provider = self._plan.configuration.get("provider_config", {}).get(key, {})
        said = provider.get("expressions", {}).get("region", {})
        variable = "".join(said.get("references", ())).removeprefix("var.")
        given = self._plan.variables.get(variable, {}).get("value", said.get("constant_value"))
        return str(values.get("region") or given or self._usage.region)

    def _leave_out(self, resource: Resource, reason: str) -> None:
        self._result.not_priced.append(f"{resource.address}: {reason}")


def _provider_keys(module: Values, place: str) -> Iterator[tuple[str, str]]:
    """The address of each configured resource, without indices, and the key of its provider."""
    for resource in module.get("resources", ()):
        yield f"{place}{resource['address']}", resource.get("provider_config_key", "aws")
    for name, call in module.get("module_calls", {}).items():
        yield from _provider_keys(call.get("module", {}), f"{place}module.{name}.")
