"""What is told without any measurement: help, schema, plans, networks, prices, data sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.golden_file import keys, same_as_golden, same_json, same_output
from support.help_texts import help_texts

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

STUDIES = "inputs/studies"
T4 = "azure/Standard_NC4as_T4_v3"
TRAINING = ("--network", "vgg19", "--dataset", "cifar10", "--epochs", 200)
REAIS = ("--currency", "BRL", "--rate", "5.40", "--rate-date", "2026-11-14")

COMMANDS: dict[str, tuple[object, ...]] = {
    "schema": ("schema",),
    "plan-demo": ("plan", f"{STUDIES}/demo.yaml", "--json"),
    "plan-demo-csv": ("plan", f"{STUDIES}/demo.yaml", "--csv"),
    "plan-demo-text": ("plan", f"{STUDIES}/demo.yaml"),
    "plan-published": ("plan", f"{STUDIES}/ufrpe-2024.yaml", "--json"),
    "plan-published-small-csv": ("plan", f"{STUDIES}/ufrpe-2024.yaml", "--scale", "small", "--csv"),
    "plan-published-text": ("plan", f"{STUDIES}/ufrpe-2024.yaml", "--all", "--lang", "pt-BR"),
    "plan-fractional": ("plan", f"{STUDIES}/fractional.yaml", "--json"),
    "plan-fractional-text": ("plan", f"{STUDIES}/fractional.yaml"),
    "plan-wrong-text": ("plan", f"{STUDIES}/wrong.yaml", "--json"),
    "plan-missing-text": ("plan", f"{STUDIES}/missing.yaml", "--json"),
    "run-dry-text": ("run", f"{STUDIES}/demo.yaml", "--dry-run"),
    "network-list": ("network", "list", "--json"),
    "network-list-text": ("network", "list"),
    "network-lenet5": ("network", "show", "lenet5", "--json"),
    "network-alexnet": (
        *("network", "show", "alexnet", "--image-size", 227, "--classes", 1000),
        "--json",
    ),
    "network-own": ("network", "show", "inputs/my_net.yaml", "--json"),
    "network-own-text": ("network", "show", "inputs/my_net.yaml"),
    "network-unknown-text": ("network", "show", "lenet6", "--json"),
    "price-list": ("price", "list", "--provider", "sagemaker", "--limit", 20, "--json"),
    "price-find": ("price", "find", "--gpu", "T4", "--max", "1.0", "--json"),
    "price-find-spot": ("price", "find", "--gpu", "A100", "--spot", "--limit", 5, "--json"),
    "price-find-none": ("price", "find", "--gpu", "T4", "--max", "0.0001", "--json"),
    "price-show": ("price", "show", f"{T4}@eastus", "--json"),
    "price-show-unknown-text": ("price", "show", "azure/Standard_NC4as_T4_v4", "--json"),
    "price-lint": ("price", "lint", "inputs/prices.csv", "--json"),
    "price-lint-catalog": ("price", "lint", "--max-age", 100000, "--json"),
    "price-import": ("price", "import", "inputs/prices.csv", "--json"),
    "estimate": ("estimate", *TRAINING, "--machine", T4, *REAIS, "--json"),
    "estimate-spot": (
        *("estimate", *TRAINING, "--machine", T4, "--region", "eastus", "--purchase", "spot"),
        *("--precision", "fp16", "--json"),
    ),
    "estimate-unknown-text": ("estimate", *TRAINING, "--machine", "azure/none", "--json"),
    "data-list": ("data", "list", "--json"),
    "data-list-text": ("data", "list"),
    "data-check-images": ("data", "check", "inputs/images", "--json"),
    "data-check-mnist": ("data", "check", "inputs/mnist", "--dataset", "mnist", "--json"),
    "data-check-text": ("data", "check", "inputs/images"),
    "data-check-nothing-text": ("data", "check", "inputs/logs", "--json"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_what_it_told_before(
    name: str, prumo_here: Prumo, known: dict[str, str]
) -> None:
    same_output(f"definitions/{name}", prumo_here(*COMMANDS[name]), known)


@pytest.mark.parametrize("kind", ["command", "requests", "training"])
def test_a_starter_study_is_the_one_of_before(kind: str, prumo_here: Prumo, tmp_path: Path) -> None:
    assert prumo_here("new", "study.yaml", "--kind", kind).returncode == 0
    same_as_golden(f"definitions/new-{kind}.yaml", (tmp_path / "study.yaml").read_text("utf-8"))


def test_every_command_has_the_options_of_before() -> None:
    texts = [f"$ {command}\n{text}\n" for command, text in help_texts(100)]
    same_as_golden("definitions/help.txt", "\n".join(texts))


def test_a_machine_tells_the_same_things_about_itself(prumo_here: Prumo) -> None:
    same_json("definitions/inspect", keys(json.loads(prumo_here("inspect", "--json").stdout)))
