"""Results folders of before are read as before, and every command tells the same of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from support.golden_file import keys, normalised, same_as_golden, same_json, same_output

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

TRAINED = "results/trained"
OWN = "results/commands"
F4S = "azure/Standard_F4s_v2@eastus"
OF_SOME_MACHINES = ("steal", "pressure", "gpu", "energy")
REAIS = ("--currency", "BRL", "--rate", "5.40", "--rate-date", "2026-11-14")

COMMANDS: dict[str, tuple[object, ...]] = {
    "report": ("report", TRAINED, "--json"),
    "report-csv": ("report", TRAINED, "--csv", "-"),
    "report-text": ("report", TRAINED),
    "report-portuguese-text": ("report", TRAINED, "--lang", "pt-BR"),
    "report-metric": (
        *("report", TRAINED, "--metric", "images_per_second", "--confidence", "0.9"),
        "--json",
    ),
    "report-commands": ("report", OWN, "--json"),
    "report-commands-text": ("report", OWN),
    "compare-framework": ("compare", TRAINED, "--factor", "framework", "--json"),
    "compare-framework-csv": ("compare", TRAINED, "--factor", "framework", "--csv", "-"),
    "compare-framework-text": ("compare", TRAINED, "--factor", "framework"),
    "compare-batch-against": (
        *("compare", TRAINED, "--factor", "batch_size", "--against", 32),
        *("--metric", "cost_usd", "--json"),
    ),
    "compare-unknown-text": ("compare", TRAINED, "--factor", "batchsize", "--json"),
    "compare-commands": ("compare", OWN, "--factor", "size", "--json"),
    "cost": ("cost", TRAINED, "--json"),
    "cost-csv": ("cost", TRAINED, "--csv"),
    "cost-text": ("cost", TRAINED),
    "cost-otherwise": (
        *("cost", TRAINED, "--price", F4S, "--purchase", "spot", *REAIS, "--setup"),
        *("--idle", "10min", "--rental", "own", "--watts-per-core", 10, "--grid", 100, "--json"),
    ),
    "cost-commands": ("cost", OWN, "--json"),
    "advise": ("advise", TRAINED, "--deadline", "2h", "--budget", "5USD", "--json"),
    "advise-speed": (
        *("advise", TRAINED, "--strategy", "speed", "--epochs", 200, "--given", "framework"),
        "--json",
    ),
    "advise-balanced-text": ("advise", TRAINED, "--strategy", "balanced", "--lang", "pt-BR"),
    "advise-commands": ("advise", OWN, "--json"),
    "forecast": ("plan", f"{TRAINED}/study.yaml", "--forecast", "--results", TRAINED, "--json"),
    "forecast-text": ("plan", f"{TRAINED}/study.yaml", "--forecast", "--results", TRAINED),
    "estimate-from": (
        *("estimate", "--network", "rede1", "--dataset", "cifar10", "--epochs", 3),
        *("--machine", "aws/c5.xlarge", "--region", "us-east-1", "--from", TRAINED, "--json"),
    ),
    "reprice": ("reprice", TRAINED, "--machine", f"here={F4S}", *REAIS, "--json"),
    "run-finished-text": ("run", f"{TRAINED}/study.yaml", "--results", TRAINED, "--dry-run"),
    "report-missing-text": ("report", "results/none", "--json"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_of_old_results_what_it_told_before(
    name: str, prumo_here: Prumo, known: dict[str, str]
) -> None:
    same_output(f"results/{name}", prumo_here(*COMMANDS[name]), known)


def test_reports_in_other_formats_have_the_content_of_before(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    formats = ("--format", "markdown", "--format", "latex", "--format", "csv", "--format", "html")
    assert prumo_here("report", TRAINED, *formats, "--out", "out").returncode == 0
    files = sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())
    same_json("results/formats", [str(path.relative_to(tmp_path)) for path in files])
    for path in files:
        if path.suffix == ".html":
            text = path.read_text("utf-8")
            text = re.sub(r"(?s)<(style|script|svg)\b.*?</\1>", "", text)
            lines = (line.strip() for line in re.sub(r"<[^>]*>", "\n", text).splitlines())
            same_as_golden(
                "results/formats/page.txt", normalised("\n".join(line for line in lines if line))
            )
        elif path.suffix in {".md", ".tex", ".csv"}:
            same_as_golden(f"results/formats/{path.name}", normalised(path.read_text("utf-8")))


def test_runs_are_merged_as_before(prumo_here: Prumo, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (tmp_path / TRAINED).rename(other)
    part = tmp_path / TRAINED
    (part / "runs").mkdir(parents=True)
    for name in ("study.yaml", "plan.json"):
        (part / name).write_bytes((other / name).read_bytes())
    (other / "runs" / "C01-r1").rename(part / "runs" / "C01-r1")
    same_output("results/merge", prumo_here("merge", "other", TRAINED, "--json"))
    same_json("results/merge-runs", sorted(path.name for path in (part / "runs").iterdir()))


def test_runs_are_exported_as_before(prumo_here: Prumo) -> None:
    pytest.importorskip("mlflow")
    done = prumo_here("export", "mlflow", TRAINED, "--tracking-uri", "store", "--json")
    told = json.loads(done.stdout)
    same_json("results/export", {name: told[name] for name in ("experiment", "added", "kept")})


def test_a_fresh_run_leaves_the_files_and_keys_of_before(prumo_here: Prumo, tmp_path: Path) -> None:
    done = prumo_here("run", f"{OWN}/study.yaml", "--results", "fresh", "--scenario", "C1")
    assert done.returncode == 0, done.stderr
    files = sorted(path for path in (tmp_path / "fresh").rglob("*") if path.is_file())
    documents = {path.name: keys(json.loads(path.read_text())) for path in files if _is_json(path)}
    columns = (tmp_path / "fresh/runs/C01-r1/samples.csv").read_text().splitlines()[0].split(",")
    everywhere = [name for name in columns if not name.startswith(OF_SOME_MACHINES)]
    names = [str(path.relative_to(tmp_path)) for path in files]
    same_json("results/fresh-run", {"files": names, "keys": documents, "samples": everywhere})


def _is_json(path: Path) -> bool:
    return path.suffix == ".json"
