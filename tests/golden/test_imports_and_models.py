"""What is brought in from elsewhere: tables, logs, networks, photographs."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

from support.golden_file import same_as_golden, same_json, same_output

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

LOGS = "inputs/logs/train_alexnet"
PACKAGED = (
    *("model", "package", "inputs/network.onnx", "--out", "package", "--normalization", "inside"),
    *("--labels", "red,green,blue", "--json"),
)


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """The files of a folder: the content of JSON files, of others the name alone."""

    def read(folder: str) -> dict[str, Any]:
        files = sorted(path for path in (tmp_path / folder).rglob("*") if path.is_file())
        return {
            str(path.relative_to(tmp_path)): json.loads(path.read_text("utf-8"))
            if path.suffix == ".json"
            else "…"
            for path in files
        }

    return read


def test_logs_become_the_run_folders_of_before(
    prumo_here: Prumo, known: dict[str, str], written: Any
) -> None:
    into = ("--into", "old", "--json")
    caffe = (f"{LOGS}_CPU_064.log", f"{LOGS}_GPU_064.log")
    same_output("imports/caffe-log", prumo_here("import", "caffe-log", *caffe, *into), known)
    tensorflow = ("tensorflow-log", f"{LOGS}_CPU_128.log", "--images", 256)
    same_output("imports/tensorflow-log", prumo_here("import", *tensorflow, *into), known)
    same_json("imports/logs-written", written("old"), known)
    same_output("imports/logs-report", prumo_here("report", "old", "--json"), known)


def test_published_means_become_the_results_of_before(
    prumo_here: Prumo, known: dict[str, str], written: Any
) -> None:
    source = ("inputs/gpu_tpu/mapping.yaml", "inputs/gpu_tpu", "--into", "published", "--json")
    same_output("imports/means", prumo_here("import", "csv", *source), known)
    same_json("imports/means-written", written("published"), known)
    same_output("imports/means-report", prumo_here("report", "published", "--json"), known)
    asked = ("audit", "published", "inputs/gpu_tpu/claims.yaml")
    same_output("imports/means-audit", prumo_here(*asked, "--json"), known)
    same_output("imports/means-audit-text", prumo_here(*asked, "--lang", "pt-BR"), known)


def test_published_tables_are_audited_as_before(prumo_here: Prumo, known: dict[str, str]) -> None:
    source = ("inputs/serverless/mapping.yaml", "inputs/tables", "--into", "tables", "--json")
    same_output("imports/tables", prumo_here("import", "csv", *source), known)
    claims = ("audit", "tables", "inputs/serverless/claims.yaml", "--json")
    same_output("imports/tables-audit", prumo_here(*claims), known)
    same_output("imports/tables-cost", prumo_here("cost", "tables", "--json"), known)


def test_a_network_is_packaged_shown_and_checked_as_before(
    prumo_here: Prumo, known: dict[str, str]
) -> None:
    same_output("models/package", prumo_here(*PACKAGED), known)
    for package in ("package", "inputs/referral_package"):
        name = package.rpartition("/")[2]
        same_output(f"models/show-{name}", prumo_here("model", "show", package, "--json"), known)
        same_output(f"models/card-{name}-text", prumo_here("model", "show", package, "--card"))
        same_output(f"models/check-{name}", prumo_here("model", "check", package, "--json"), known)


def test_what_is_no_package_is_refused_as_before(prumo_here: Prumo, tmp_path: Path) -> None:
    same_output("models/no-package-text", prumo_here("model", "show", "inputs/logs", "--json"))
    network = tmp_path / "inputs/referral_package/network.onnx"
    network.write_bytes(network.read_bytes() + b" ")
    checked = prumo_here("model", "check", "inputs/referral_package", "--json")
    same_output("models/changed-package-text", checked)
    words = ("model", "package", "inputs/network.onnx", "--out", "package", "--json")
    same_output("models/package-untold-text", prumo_here(*words))


def test_a_model_is_evaluated_as_before(
    prumo_here: Prumo, tmp_path: Path, known: dict[str, str]
) -> None:
    model = "inputs/retina_model"
    same_output("retina/evaluate", prumo_here("retina", "evaluate", model, "--json"), known)
    folder = tmp_path / model / "evaluation"
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    same_json("retina/evaluate-files", files)


def test_photographs_are_prepared_and_split_as_before(
    prumo_here: Prumo, tmp_path: Path, known: dict[str, str]
) -> None:
    words = ("inputs/photographs", "prepared", "--size", 64, "--jobs", 1, "--json")
    prepared = json.loads(prumo_here("retina", "prepare", *words).stdout)
    same_json("retina/prepare", prepared | {"seconds": "…"}, known)
    with (tmp_path / "prepared/manifest.csv").open(encoding="utf-8", newline="") as file:
        same_json("retina/prepare-manifest", list(csv.DictReader(file)), known)
    converted = prumo_here("retina", "convert", "prepared", "--folds", 3, "--json")
    same_output("retina/convert", converted, known)
    text = (tmp_path / "prepared/split.csv").read_text("utf-8")
    same_as_golden("retina/split.csv", text)
