from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo.foreign.table_import import import_tables
from prumo.foreign.table_mapping import load_mapping
from support.result_factory import ResultFactory
from support.serverless_tables import write_tables

if TYPE_CHECKING:
    from conftest import Prumo

STUDIES = Path(__file__).parent.parent.parent / "studies"
SERVERLESS = STUDIES / "ufrgs-serverless"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serverless")
    mapping = load_mapping(SERVERLESS / "mapping.yaml")
    import_tables(mapping, write_tables(folder / "tables"), folder / "results")
    return folder / "results"


def claims(tmp_path: Path, *stated: dict[str, Any]) -> Path:
    file = tmp_path / "claims.yaml"
    file.write_text(json.dumps({"claims": [{"says": "it is so", **claim} for claim in stated]}))
    return file


VGG19 = {"experiment": "warm-up", "model": "VGG19", "machine": "2gb"}
RIGHT = {
    "metric": "cost_per_inference_usd",
    "of": VGG19,
    "than": {"machine": "1gb"},
    "percent_less": "8.46",
}
MEAN = {"metric": "cost_per_inference_usd", "of": VGG19, "mean": "0.00003449"}


def test_claims_that_the_data_bear_out_exit_with_0(
    prumo_here: Prumo, tmp_path: Path, results: Path
) -> None:
    done = prumo_here("audit", results, claims(tmp_path, RIGHT, MEAN))
    assert done.returncode == 0, done.stderr
    assert "2 of 2 claims agree with the data" in done.stdout


def test_an_ordering_that_holds_only_on_average_does_not_agree(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    factory = ResultFactory(tmp_path / "mixed")
    factory.write_study(3)
    for number, levels in enumerate(factory.scenarios(), start=1):
        is_slow = levels == {"framework": "pytorch", "batch_size": 64}
        seconds = 15.0 if is_slow else 1.0 if levels["framework"] == "pytorch" else 10.0
        for replication in (1, 2, 3):
            metrics = {"train_seconds": seconds * (1 + replication / 100)}
            factory.run(number, replication, levels, metrics=metrics)
    sides = {"of": {"framework": "pytorch"}, "than": {"framework": "tensorflow"}}
    file = claims(tmp_path, {"metric": "train_seconds", **sides, "ordering": "less"})
    done = prumo_here("audit", tmp_path / "mixed", file)
    assert done.returncode == 1, done.stderr
    assert "0 of 1 claims agree with the data; 1 agree in part" in done.stdout
    assert "concorda em parte" in prumo_here("audit", "mixed", file, "--lang", "pt-BR").stdout


def test_an_audit_is_told_in_portuguese(prumo_here: Prumo, tmp_path: Path, results: Path) -> None:
    done = prumo_here("audit", results, claims(tmp_path, RIGHT), "--lang", "pt-BR")
    assert "8,46 % ±0,005" in done.stdout
    assert "concordam com os dados" in done.stdout


def test_the_audit_finds_the_wrong_sentences_of_the_published_serverless_study(
    prumo_here: Prumo, results: Path
) -> None:
    done = prumo_here("audit", results, SERVERLESS / "claims.yaml", "--json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    wrong = {claim["stated"]: claim for claim in told if claim["verdict"] != "agrees"}
    assert len(told) - len(wrong) == 17
    assert {stated: claim["verdict"] for stated, claim in wrong.items()} == dict.fromkeys(
        ("9.4", "2.7413", "2.35", "1.3807", "1.6529", "1.54019", "57.42", "19.82"), "differs"
    )
    assert wrong["2.7413"]["found"] == pytest.approx(2.7299, abs=1e-4)
    assert wrong["2.35"]["found"] == pytest.approx(1.9045, abs=1e-4)
    assert wrong["57.42"]["found"] == pytest.approx(34.53, abs=0.01)
    assert wrong["19.82"]["found"] == pytest.approx(12.83, abs=0.01)
    assert wrong["2.35"]["words"].endswith("is machine 3gb against machine 1gb")
    assert wrong["2.35"]["true_of"]["of"]["machine"] == "3gb"


def test_the_claims_of_the_published_training_study_are_checked_on_its_own_results(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    study = STUDIES / "ufrpe-2024.yaml"
    folder = tmp_path / "results" / "ufrpe-2024"
    factors = {"environment": ["cpu", "gpu"], "framework": ["mxnet", "pytorch", "tensorflow"]}
    factory = ResultFactory(folder, study="ufrpe-2024", factors=factors, samples=1)
    for replication in (1, 2):
        for number, levels in enumerate(factory.scenarios(), start=1):
            seconds = (7200.0 if levels["environment"] == "cpu" else 600.0) + replication
            factory.run(number, replication, levels, metrics={"train_seconds": seconds})
    (folder / "study.yaml").write_text(study.read_text())
    assert prumo_here("reprice", folder).returncode == 0
    done = prumo_here("audit", study, STUDIES / "ufrpe-2024" / "claims.yaml", "--json")
    assert done.returncode == 1, done.stderr
    found = {claim["says"]: claim for claim in json.loads(done.stdout)}
    faster = found["The GPU environment is at least 10 times faster than the CPU environment."]
    cheaper = found["The CPU environment cost 4 to 6 times less than the GPU environment."]
    assert faster["verdict"] == "agrees"
    assert cheaper["verdict"] == "contradicted"
    assert cheaper["found"] < 1


def test_a_results_folder_needs_no_second_one(
    prumo_here: Prumo, tmp_path: Path, results: Path
) -> None:
    done = prumo_here("audit", results, claims(tmp_path, RIGHT), results)
    assert done.returncode == 2
    assert "FOLDER goes with a study's file" in done.stderr


def test_wrong_claims_are_told_with_file_line_and_key(
    prumo_here: Prumo, tmp_path: Path, results: Path
) -> None:
    file = tmp_path / "claims.yaml"
    file.write_text("claims:\n  - says: so\n    metric: full_latency\n    mean: 1\n")
    done = prumo_here("audit", results, file)
    assert done.returncode == 2
    assert "claims.yaml:3: claims[0].metric: no run has a metric 'full_latency'" in done.stderr
