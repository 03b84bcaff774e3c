"""`prumo new`, `prumo plan` and `prumo schema`, as a user calls them."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Callable

    Prumo = Callable[..., subprocess.CompletedProcess[str]]

jsonschema = pytest.importorskip("jsonschema")

STUDIES = Path(__file__).parents[2] / "studies"
UFRPE = STUDIES / "ufrpe-2024.yaml"
MILLION = "name: million\nworkload: {kind: command, command: [echo]}\nfactors:\n" + "".join(
    f"  {name}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for name in "abcdef"
)


def test_plan_as_csv_has_one_row_per_scenario_and_one_column_per_factor(prumo_here: Prumo) -> None:
    done = prumo_here("plan", UFRPE, "--csv")
    rows = list(csv.reader(done.stdout.splitlines()))

    assert done.returncode == 0
    assert done.stdout.startswith("scenario,environment,framework,dataset,image_size,network\n")
    assert rows[1] == ["C1", "cpu", "mxnet", "mnist", "32", "rede1"]
    assert rows[48] == ["C48", "gpu", "tensorflow", "cifar10", "64", "rede2"]
    assert len(rows) == 49


def test_plan_as_json_counts_the_runs(prumo_here: Prumo) -> None:
    plan = json.loads(prumo_here("plan", UFRPE, "--json").stdout)

    assert (plan["study"], plan["runs"], plan["runs_minimum"]) == ("ufrpe-2024", 240, 240)
    assert plan["factors"]["framework"] == ["mxnet", "pytorch", "tensorflow"]
    assert plan["scenarios"][0] == {
        "scenario": "C1",
        "environment": "cpu",
        "framework": "mxnet",
        "dataset": "mnist",
        "image_size": 32,
        "network": "rede1",
    }


def test_plan_in_a_pipe_is_plain_text(prumo_here: Prumo) -> None:
    shown = prumo_here("plan", UFRPE).stdout.splitlines()

    assert shown[0] == "ufrpe-2024: 48 scenarios × 5 replications = 240 runs"  # noqa: RUF001
    assert shown[1].split() == [
        "scenario", "environment", "framework", "dataset", "image_size", "network",
    ]  # fmt: skip
    assert [line.split()[0] for line in shown[2:50]] == [f"C{number}" for number in range(1, 49)]


def test_a_long_plan_shows_its_ends_and_all_of_it_when_asked(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: long\nworkload: {kind: command, command: 'true {a} {b}'}\n"
        f"factors: {{a: {list(range(20))}, b: {list(range(20))}}}\n"
    )

    shown = prumo_here("plan", study).stdout.splitlines()
    assert shown[52].split() == ["…"] * 3
    assert shown[102].startswith("C400 ")
    assert shown[103] == "… 300 more scenarios; --all shows them"

    assert "C200 " in prumo_here("plan", study, "--all").stdout


def test_plan_on_a_terminal_is_a_table(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "prumo", "plan", str(UFRPE)],
        stdout=follower,
        env=os.environ | {"COLUMNS": "120", "TERM": "dumb"},
        cwd=tmp_path,
    ) as process:
        os.close(follower)
        shown = b"".join(_chunks(leader)).decode()
    os.close(leader)

    assert process.returncode == 0
    assert "240 runs" in shown
    assert "│ C48" in shown


def _chunks(descriptor: int) -> Any:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:
            # Linux reports the end of a terminal as an error.
            return
        if not chunk:
            return
        yield chunk


def test_plan_shows_an_adaptive_study_as_a_range(prumo_here: Prumo, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "name: s\n"
        "workload: {kind: training}\n"
        "factors: {network: [rede1, rede2]}\n"
        "replications: {metric: train_seconds, half_width_percent: 5, minimum: 3, maximum: 9}\n",
        encoding="utf-8",
    )

    assert "3..9 replications = 6..18 runs" in prumo_here("plan", "study.yaml").stdout
    assert json.loads(prumo_here("plan", "study.yaml", "--json").stdout)["runs_minimum"] == 6


def test_plan_tells_the_resolution_of_a_fraction(prumo_here: Prumo, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "name: s\n"
        "workload: {kind: command, command: [echo]}\n"
        "factors: {a: [1, 2], b: [1, 2], c: [1, 2]}\n"
        "design: fractional\n",
        encoding="utf-8",
    )

    assert prumo_here("plan", "study.yaml").stdout.endswith("resolution III\n")


def test_a_large_plan_starts_before_it_ends_and_may_be_cut_short(tmp_path: Path) -> None:
    (tmp_path / "million.yaml").write_text(MILLION, encoding="utf-8")

    with subprocess.Popen(
        [sys.executable, "-m", "prumo", "plan", "million.yaml", "--csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "scenario,a,b,c,d,e,f\n"
        assert process.stdout.readline() == "C1,0,0,0,0,0,0\n"
        process.stdout.close()
        assert process.stderr.read() == ""


def test_a_wrong_study_is_one_message_per_problem_and_exit_code_2(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    (tmp_path / "study.yaml").write_text(
        "name: s\nworkload: {kind: training}\nfactors: {netwrk: [rede1]}\nordr: listed\n",
        encoding="utf-8",
    )

    done = prumo_here("plan", "study.yaml")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "prumo: study.yaml:1: fixed.network: is required, here or as a factor",
        "study.yaml:3: factors.netwrk: training has no such parameter; did you mean 'network'?",
        "study.yaml:4: ordr: unknown key; did you mean 'order'?",
    ]


STARTERS = ("command", "requests", "training")


@pytest.mark.parametrize("kind", STARTERS)
def test_a_starter_plans_as_it_is(prumo_here: Prumo, kind: str) -> None:
    written = prumo_here("new", "My Study.yaml", "--kind", kind)
    planned = prumo_here("plan", "My Study.yaml", "--json")

    assert written.returncode == planned.returncode == 0
    assert json.loads(planned.stdout)["study"] == "my-study"
    assert json.loads(planned.stdout)["runs"] > 5


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("request", "no workload 'request': did you mean 'requests'?"),
        ("imported", "the workload 'imported' has no starter; command, requests, training have"),
    ],
)
def test_a_kind_without_a_starter_is_refused(prumo_here: Prumo, kind: str, hint: str) -> None:
    done = prumo_here("new", "--kind", kind)

    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr


def test_a_starter_replaces_nothing_unless_forced(prumo_here: Prumo, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("mine", encoding="utf-8")

    refused = prumo_here("new")
    assert refused.returncode == 2
    assert "already there; --force" in refused.stderr
    assert path.read_text(encoding="utf-8") == "mine"

    assert prumo_here("new", "--force").returncode == 0
    assert "workload" in path.read_text(encoding="utf-8")


def test_a_starter_needs_a_folder_that_exists(prumo_here: Prumo, tmp_path: Path) -> None:
    assert "there is no folder" in prumo_here("new", "nowhere/study.yaml").stderr
    assert prumo_here("new", tmp_path).returncode == 2


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "prumo", "schema"], capture_output=True, text=True, check=True
    )
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_the_schema_accepts_the_shipped_studies_and_starters(
    schema: dict[str, Any], prumo_here: Prumo, tmp_path: Path
) -> None:
    for kind in STARTERS:
        prumo_here("new", f"{kind}.yaml", "--kind", kind)

    for path in [*STUDIES.glob("*.yaml"), *tmp_path.glob("*.yaml")]:
        jsonschema.validate(YAML(typ="safe").load(path), schema)


@pytest.mark.parametrize(
    "section",
    [
        {"replicatons": 3},
        {"replications": "many"},
        {"design": "ful"},
        {"order": {"kind": "listd"}},
        {"name": "Bad Name"},
        {"factors": {"batch_size": 32}},
        {"measure": {"sample_seconds": 0}},
        {"workload": {"kind": "command"}},
        {"machines": {"a": {"price": "azure"}}},
        {"fixed": {"epoch": 3}},
        {"fixed": {"epochs": "three"}},
        {"factors": {"network": ["rede1"], "batch_size": [0]}},
        {"factors": {"network": ["rede1"], "optimizer": ["adm"]}},
        {"factors": {"batch_size": [32]}},
        {"scales": {"small": {"epochs": 0}}},
        {"workload": {"kind": "requests"}},
    ],
)
def test_the_schema_refuses_what_prumo_refuses(
    schema: dict[str, Any], section: dict[str, Any]
) -> None:
    study = YAML(typ="safe").load(UFRPE)

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(study | section, schema)


@pytest.mark.parametrize(
    ("parameters", "is_right"),
    [
        ({"experiment": "open-loop", "rate": 2.5, "machine": "m5"}, True),
        ({"experiment": "open-lop"}, False),
        ({"experiment": "open-loop", "rate": 0}, False),
        ({"experiment": "open-loop", "address": None}, False),
        ({"rate": 2.5}, False),
    ],
)
def test_the_schema_knows_the_parameters_of_another_package(
    schema: dict[str, Any], parameters: dict[str, Any], is_right: bool
) -> None:
    study = {"name": "s", "workload": {"kind": "requests"}, "factors": {"users": [1, 2]}}
    errors = jsonschema.Draft202012Validator(schema).iter_errors(study | {"fixed": parameters})

    assert (list(errors) == []) is is_right


def test_the_schema_explains_every_key(schema: dict[str, Any]) -> None:
    sections = [schema, *schema["$defs"].values()]
    keys = [item for section in sections for item in section.get("properties", {}).items()]

    assert len(keys) > 40
    assert [name for name, key in keys if not key.get("description")] == []
