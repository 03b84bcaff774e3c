"""`prumo network`, as a user calls it, and networks of the user's own from end to end."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from prumo import Results
from prumo_worker.networks import NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

NET = """\
layers:
  - {name: conv, operation: convolution, outputs: 4, kernel: 3, stride: 2}
  - {name: bn, operation: batch_normalization}
  - {name: flat, operation: flatten}
  - {name: scores, operation: dense, outputs: classes}
"""
STUDY = """\
name: own
workload: {kind: training}
factors:
  network: [rede1, net.yaml]
fixed: {images: 64, batch_size: 32, image_size: 16}
measure: {sample_seconds: 0.2}
"""


def test_every_network_is_listed_with_its_size(prumo_here: Prumo) -> None:
    listed = prumo_here("network", "list").stdout
    assert all(name in listed for name in NAMES)
    rows = json.loads(prumo_here("network", "list", "--json").stdout)
    assert [row["name"] for row in rows] == list(NAMES)
    (alexnet,) = [row for row in rows if row["name"] == "alexnet"]
    assert (alexnet["image_size"], alexnet["classes"]) == (227, 1000)
    assert alexnet["parameters"] == 60_965_224
    assert alexnet["summary"].startswith("AlexNet")


def test_a_network_is_shown_layer_by_layer(prumo_here: Prumo) -> None:
    shown = prumo_here("network", "show", "alexnet").stdout
    assert "96x55x55" in shown
    assert "convolution outputs 256 kernel 5 padding 2 groups 2" in shown
    assert "60,965,224 parameters" in shown


def test_large_whole_numbers_are_shown_with_all_their_digits(prumo_here: Prumo) -> None:
    shown = prumo_here("network", "show", "lenet5", "--classes", 1234567).stdout
    assert "dense outputs 1234567" in shown


def test_a_program_gets_the_network_as_json(prumo_here: Prumo) -> None:
    asked = ["--image-size", 64, "--classes", 5, "--channels", 1, "--json"]
    account = json.loads(prumo_here("network", "show", "mobilenet", *asked).stdout)
    assert [account[key] for key in ("name", "image_size", "classes", "channels")] == [
        "mobilenet",
        64,
        5,
        1,
    ]
    assert account["parameters"] > account["trained_parameters"]
    assert sum(layer["parameters"] for layer in account["layers"]) == account["parameters"]
    assert sum(layer["flops"] for layer in account["layers"]) == account["flops"]
    assert account["layers"][0]["output_shape"] == [1, 65, 65]
    assert account["layers"][-1]["output_shape"] == [5]


def test_auxiliary_heads_are_told(prumo_here: Prumo) -> None:
    assert (
        "head1_scores: its loss counts 0.3" in prumo_here("network", "show", "googlenet_aux").stdout
    )


def test_a_file_is_shown_as_well(prumo_here: Prumo, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NET)
    account = json.loads(
        prumo_here(
            "network", "show", "net.yaml", "--image-size", 9, "--classes", 10, "--json"
        ).stdout
    )
    assert account["parameters"] == (4 * 3 * 9 + 4) + 4 * 4 + (4 * 4 * 4 * 10 + 10)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["alexnt"], "no network is named 'alexnt'; did you mean 'alexnet'?"),
        (["alexnet", "--image-size", 40], "alexnet on 3x40x40: layer pool5"),
        (["missing.yaml"], "missing.yaml: no such file"),
        (["alexnet", "--image-size", 0], "--image-size"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    prumo_here: Prumo, arguments: list[object], reason: str
) -> None:
    done = prumo_here("network", "show", *arguments)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.torch
def test_a_framework_builds_it_for_real(prumo: Prumo, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NET)
    asked = ["--image-size", 9, "--classes", 10, "--framework", "pytorch", "--check"]
    done = prumo("network", "show", "net.yaml", *asked, "--json")
    assert done.returncode == 0, done.stderr
    account = json.loads(done.stdout)
    assert account["check"]["parameters"] == account["parameters"]
    assert account["check"]["version"].startswith("2.")
    assert account["check"]["loss_after"] <= account["check"]["loss"]


@pytest.mark.slow
@pytest.mark.torch
def test_what_a_framework_builds_is_shown_in_words(prumo: Prumo, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NET)
    asked = ["--image-size", 9, "--classes", 10, "--framework", "pytorch", "--check"]
    shown = prumo("network", "show", "net.yaml", *asked).stdout
    assert "builds it with 778 parameters" in shown
    assert re.search(r"after one step \S+ \(changed by -\S+\)", shown)


def test_a_check_needs_a_framework_that_exists(prumo_here: Prumo) -> None:
    assert "go together" in prumo_here("network", "show", "lenet5", "--check").stderr
    done = prumo_here("network", "show", "lenet5", "--check", "--framework", "pytorh")
    assert done.returncode == 2
    assert "did you mean 'pytorch'" in done.stderr


@pytest.mark.torch
def test_a_network_of_the_users_own_is_trained_and_reported(prumo: Prumo, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NET)
    (tmp_path / "study.yaml").write_text(STUDY)
    done = prumo("run", "study.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "results/own/runs/C02-r1/run.json").read_text())
    assert record["verdict"] == "finished"
    weights = (4 * 3 * 9 + 4) + 4 * 4 + (4 * 7 * 7 * 10 + 10)
    assert record["network"]["name"] == "net.yaml"
    assert record["network"]["parameters"] == weights

    (tmp_path / "net.yaml").unlink()
    assert Results(tmp_path / "results/own").study is not None
    told = prumo("report", "results/own")
    assert told.returncode == 0, told.stderr
    assert "net.yaml" in told.stdout
