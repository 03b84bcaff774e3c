"""`prumo price plan`: the price of a Terraform plan, and what is said where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from prumo.cli.price import command
from prumo.errors import InputError
from prumo.money.catalog import load_catalog
from prumo.money.terraform_plan import Plan, PlanPrice, Usage, price_plan, read_plan

ENDPOINT = "module.endpoint[0].aws_sagemaker_endpoint.this"


def resource(address: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    actions = ["delete"] * (before is not None) + ["create"] * (after is not None)
    if before == after:
        actions = ["no-op"]
    kind = address.split(".")[-2]
    change = {"actions": actions, "before": before, "after": after}
    return {"address": address, "mode": "managed", "type": kind, "change": change}


def instances(kind: str, count: int = 1, name: str = "c") -> dict[str, Any]:
    variant = {"variant_name": "v", "instance_type": kind, "initial_instance_count": count}
    return {"name": name, "production_variants": [{**variant, "serverless_config": []}]}


def serverless(memory_mb: int, provisioned: int | None = None, name: str = "c") -> dict[str, Any]:
    settings = {"memory_size_in_mb": memory_mb, "provisioned_concurrency": provisioned}
    return {"name": name, "production_variants": [{"serverless_config": [settings]}]}


def endpoint(before: Any = None, after: Any = None) -> list[dict[str, Any]]:
    """An endpoint with its configuration, which may be replaced."""
    uses = [
        {"name": "e", "endpoint_config_name": c["name"]} if c else None for c in (before, after)
    ]
    configuration = ENDPOINT.replace("endpoint.this", "endpoint_configuration.this")
    return [resource(ENDPOINT, *uses), resource(configuration, before, after)]


def plan(
    *resources: dict[str, Any], region: str | None = "us-east-1", **more: Any
) -> dict[str, Any]:
    said = {"expressions": {"region": {"constant_value": region}}} if region else {}
    return {
        "format_version": "1.2",
        "planned_values": {},
        "resource_changes": list(resources),
        "configuration": {"provider_config": {"aws": said}},
        **more,
    }


def priced(document: dict[str, Any], **usage: Any) -> PlanPrice:
    return price_plan(Plan.model_validate(document), load_catalog(), Usage(**usage))


def shown(tmp_path: Path, document: object, *words: str, code: int = 0) -> str:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(document))
    done = CliRunner().invoke(command, ["plan", str(file), *words], catch_exceptions=False)
    assert done.exit_code == code
    return done.stdout


def test_instances_cost_by_the_hour_as_long_as_they_exist(tmp_path: Path) -> None:
    text = shown(tmp_path, plan(*endpoint(after=instances("ml.m5.xlarge"))))
    assert text.startswith("$0.23 an hour, $167.90 a month as long as it exists\n")
    assert "1 x ml.m5.xlarge" in text
    assert "price: sagemaker/ml.m5.xlarge@us-east-1 of 2026-08-22" in text
    assert max(map(len, text.splitlines())) <= 80


def test_autoscaling_may_start_more_of_them(tmp_path: Path) -> None:
    target = {"resource_id": "endpoint/e/variant/v", "max_capacity": 3}
    scaling = resource("aws_appautoscaling_target.instances", after=target)
    document = plan(*endpoint(after=instances("ml.m5.large", 2)), scaling)
    text = shown(tmp_path, document)
    assert text.startswith("$0.23 an hour")
    assert "at most $0.345 an hour with all instances" in text
    assert priced(document).items[0].what == "2 x ml.m5.large, at most 3"


def test_serverless_costs_by_the_answer_of_a_stated_time(tmp_path: Path) -> None:
    text = shown(tmp_path, plan(*endpoint(after=serverless(2048))), "--answer-seconds", "0.5")
    assert text.startswith("$0.02 per 1,000 answers of 500 ms; data in and out comes on top\n")


def test_provisioned_concurrency_has_no_price_until_it_is_given() -> None:
    document = plan(*endpoint(after=serverless(3072, provisioned=2)))
    (reason,) = priced(document).not_priced
    assert "give --provisioned-price" in reason
    known = priced(document, provisioned_usd_per_second=0.00001)
    assert known.after.usd_per_hour == pytest.approx(0.072)
    assert known.not_priced == []


def test_provisioned_concurrency_is_priced_from_the_catalog() -> None:
    found = priced(plan(*endpoint(after=serverless(2048, provisioned=2))))
    assert found.after.usd_per_hour == pytest.approx(0.072)
    assert found.not_priced == []
    assert any("serverless-2gb-provisioned@us-east-1" in name for name in found.prices)


def test_a_change_and_a_removal_are_differences(tmp_path: Path) -> None:
    before, after = instances("ml.m5.xlarge", name="a"), instances("ml.m5.large", name="b")
    text = shown(tmp_path, plan(*endpoint(before, after)))
    assert text.startswith("$0.115 an hour")
    assert "against now: $0.115 less an hour" in text
    assert "changed" in text

    gone = shown(tmp_path, plan(*endpoint(before)))
    assert gone.startswith("$0.00 an hour")
    assert "against now: $0.23 less an hour" in gone
    assert "removed" in gone

    kept = shown(tmp_path, plan(*endpoint(before, before)))
    assert "against now: the same" in kept


def test_a_name_that_only_apply_knows_is_found_beside_the_endpoint() -> None:
    first, second = endpoint(after=instances("ml.c5.large"))
    first["change"]["after"] = {"name": "e"}
    del second["change"]["after"]["name"]
    assert priced(plan(first, second)).after.usd_per_hour == pytest.approx(0.102)


def test_an_endpoint_without_its_configuration_is_reported() -> None:
    first, _ = endpoint(after=instances("ml.c5.large"))
    assert "configuration is not in the plan" in priced(plan(first)).not_priced[0]


def test_what_is_not_priced_is_listed(tmp_path: Path) -> None:
    document = plan(
        *endpoint(after=instances("ml.p9.huge")),
        resource("aws_s3_bucket.models", after={}),
        resource("aws_s3_bucket.models", after={"bucket": "b"}),
        resource("aws_db_instance.records", after={"size": "db.m5.large"}),
        resource("aws_iam_role.endpoint", after={"name": "r"}),
        resource("aws_instance.machine", after={"instance_type": "c5.xlarge"}),
    )
    text = " ".join(shown(tmp_path, document).split())
    assert text.startswith("at least $")
    assert "no price is known of 'sagemaker/ml.p9.huge'" in text
    assert "Prumo does not know what aws_db_instance costs" in text
    assert "small, not priced: 1 (objects, by the GB)" in text
    assert json.loads(shown(tmp_path, document, "--json"))["free"] == 2


def test_where_nothing_is_priced_that_is_said_first_and_what_to_do(tmp_path: Path) -> None:
    document = plan(*endpoint(after=instances("ml.m5.large")), region="sa-east-1")
    text = shown(tmp_path, document, code=1)
    assert text.startswith("no price of sagemaker/ml.m5.large is known in 'sa-east-1'; so nothing")
    assert text.splitlines()[-1].endswith("update --provider sagemaker --region sa-east-1")
    assert "at least $0.00" not in text
    assert "did you mean" not in text
    assert json.loads(shown(tmp_path, document, "--json", code=1))["remedies"]


def test_a_plan_without_endpoints_costs_nothing(tmp_path: Path) -> None:
    assert shown(tmp_path, plan()).startswith("nothing: $0.00")


def test_each_endpoint_is_priced_where_it_is() -> None:
    """By its own ARN, by the alias of its provider, by a variable, or by what the user says."""
    brazil = endpoint(after=instances("ml.m5.large"))
    brazil[0]["change"]["after"]["arn"] = "arn:aws:sagemaker:sa-east-1:1:endpoint/e"
    found = priced(plan(*brazil))
    (reason,) = found.not_priced
    assert reason.endswith("no price of sagemaker/ml.m5.large is known in 'sa-east-1'")
    assert found.remedies == ["prumo price update --provider sagemaker --region sa-east-1"]

    here = endpoint(after=instances("ml.m5.large"))
    aliased = plan(*here, region="eu-west-1")
    aliased["configuration"] = {
        "provider_config": {
            "aws": {"expressions": {"region": {"constant_value": "eu-west-1"}}},
            "aws.other": {"expressions": {"region": {"references": ["var.region"]}}},
        },
        "root_module": {"module_calls": {"endpoint": {"module": {"resources": [
            {"address": "aws_sagemaker_endpoint.this", "provider_config_key": "aws.other"}
        ]}}}},
    }  # fmt: skip
    aliased["variables"] = {"region": {"value": "us-east-1"}}
    assert priced(aliased).after.usd_per_hour == pytest.approx(0.115)

    nowhere = plan(*here, region=None)
    assert "give --region" in priced(nowhere).not_priced[0]
    assert priced(nowhere, region="us-east-1").after.usd_per_hour == pytest.approx(0.115)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is no Terraform plan: it is not JSON\nPrumo reads the plan that this writes"),
        ("[1, 2]", "is no Terraform plan: its JSON is no object"),
        ('{"version": 4, "terraform_version": "1.11.4", "resources": []}', "is no Terraform plan"),
        ('{"format_version": "1.0", "values": {}}', "writes a plan, at planned_values\n"),
        (json.dumps({**plan(), "format_version": "2.0"}), "Prumo reads format 1"),
        (json.dumps({**plan(), "errored": True}), "plan again"),
        (json.dumps({**plan(), "resource_changes": [{"type": 5}]}), "resource_changes.0"),
        ("[" * 100_000, "is no Terraform plan"),
    ],
)
def test_what_is_no_plan_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(InputError, match=reason):
        read_plan(tmp_path / "plan.json")


def test_a_missing_file_and_odd_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_plan(tmp_path / "none")
    odd = endpoint(after={"name": "c", "production_variants": "many"})
    with pytest.raises(InputError, match="values that Terraform does not write"):
        priced(plan(*odd))


def test_a_binary_plan_needs_terraform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan").write_bytes(b"PK\x03\x04")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="neither terraform nor tofu is installed"):
        read_plan(tmp_path / "plan")
    (tmp_path / "terraform").write_text("#!/bin/sh\necho 'no such provider' >&2; exit 1\n")
    (tmp_path / "terraform").chmod(0o755)
    with pytest.raises(InputError, match=r"`terraform show` fails in .*: no such provider"):
        read_plan(tmp_path / "plan")
