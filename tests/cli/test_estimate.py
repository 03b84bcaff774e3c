"""`prumo estimate`, as a user calls it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from prumo.cli.estimate import command
from prumo.errors import PrumoError

if TYPE_CHECKING:
    from pathlib import Path

T4 = "azure/Standard_NC4as_T4_v3"


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))


def _said(*options: object, network: str = "vgg19", dataset: str = "cifar10") -> str:
    """What it prints, or the words in which it refuses."""
    words = ["--network", network, "--dataset", dataset, "--epochs", "200", *map(str, options)]
    done = CliRunner().invoke(command, words)
    if isinstance(done.exception, PrumoError):
        return str(done.exception)
    assert done.exit_code in {0, 2}
    return done.output


def test_one_training_is_estimated_with_what_it_rests_on() -> None:
    said = _said("--machine", T4)

    assert said.startswith(f"A rough estimate: to train vgg19 on {T4}@eastus takes between")
    assert "It costs $" in said
    assert "data sheet of T4" in said


def test_without_a_region_the_cheapest_is_taken() -> None:
    there = json.loads(_said("--machine", T4, "--region", "centralus", "--json"))
    cheapest = json.loads(_said("--machine", T4, "--json"))

    assert there["machine"] == f"{T4}@centralus"
    assert cheapest["rate"]["amount"] < there["rate"]["amount"]


def test_an_estimate_for_programs_holds_the_whole_interval() -> None:
    told = json.loads(_said("--machine", T4, "--json"))

    assert told["rough"] is True
    assert told["seconds"]["low"] < told["seconds"]["value"] < told["seconds"]["high"]
    assert told["cost"]["low"] < told["cost"]["value"] < told["cost"]["high"]
    assert told["rate"]["currency"] == "USD"


def test_fewer_images_take_less_time() -> None:
    whole = json.loads(_said("--machine", T4, "--json"))
    part = json.loads(_said("--machine", T4, "--images", 5000, "--json"))

    assert part["seconds"]["value"] < whole["seconds"]["value"]


def test_an_estimate_in_another_currency_names_the_rate() -> None:
    said = _said("--machine", T4, "--currency", "BRL", "--rate", 5.4, "--rate-date", "2026-11-14")

    assert "That is R$" in said
    assert "2026-11-14" in said


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--machine", "azure/Standard_NC4as_T4"), "did you mean"),
        (("--machine", T4, "--region", "mars"), "no price of"),
        (("--machine", "aws/inf1.xlarge"), "nothing is known of the speed of Inferentia"),
        (("--machine", T4, "--images", "64"), "a batch size of 128 is more than 64 images"),
        (("--machine", T4, "--currency", "BRL"), "needs all three"),
        (("--machine", T4, "--from", "nowhere"), "not a results folder"),
        (("--machine", T4, "--precision", "fp8"), "is not one of"),
    ],
)
def test_wrong_questions_are_refused(options: tuple[str, ...], hint: str) -> None:
    assert hint in _said(*options)


def test_an_unknown_network_or_data_set_names_the_nearest() -> None:
    assert "vgg1" in _said("--machine", T4, network="vgg18")
    assert "did you mean 'cifar10'?" in _said("--machine", T4, dataset="cifar")
