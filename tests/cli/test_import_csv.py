from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.serverless_tables import write_tables

if TYPE_CHECKING:
    from conftest import Prumo

STUDY = Path(__file__).parent.parent.parent / "studies" / "ufrgs-serverless"


def test_published_tables_become_a_study_that_can_be_reported(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    tables = write_tables(tmp_path / "tables")
    done = prumo_here("import", "csv", STUDY / "mapping.yaml", tables)
    assert done.returncode == 0, done.stderr
    assert "ufrgs-serverless: 120 runs in 12 scenarios" in done.stdout
    report = prumo_here("report", "results/ufrgs-serverless", "--json")
    assert report.returncode == 0, report.stderr
    told = json.loads(report.stdout)
    assert told["runs"] == {
        "planned": 120,
        "finished": 120,
        "failed": 0,
        "unreadable": 0,
        "unfinished": 0,
    }
    means = {
        (row["experiment"], row["model"], row["machine"]): row["mean"]
        for row in told["summary"]
        if row["metric"] == "full_latency_seconds"
    }
    assert means["warm-up", "VGG19", "2gb"] == pytest.approx(0.8623)


def test_a_published_mean_is_reported_with_the_interval_of_its_spread(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "means.csv").write_text("network,mean,sd\na,120,4\nb,300,10\n")
    seconds = {"column": "mean", "standard_deviation": "sd", "n": 5}
    mapping = {
        "name": "means",
        "rows": "summaries",
        "factors": {"network": "network"},
        "metrics": {"train_seconds": seconds},
    }
    (tmp_path / "mapping.yaml").write_text(json.dumps(mapping))
    prumo_here("import", "csv", "mapping.yaml", "tables")
    told = json.loads(prumo_here("report", "results/means", "--json").stdout)
    first = told["summary"][0]
    assert (first["n"], first["standard_deviation"], first["median"]) == (5, 4.0, None)
    # 2.776445 is Student's t for four degrees of freedom at 95 %.
    assert first["ci_low"] == pytest.approx(120 - 2.776445 * 4 / 5**0.5, abs=1e-5)
    assert told["warnings"] == []


def test_what_was_imported_is_told_to_programs(prumo_here: Prumo, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    done = prumo_here("import", "csv", STUDY / "mapping.yaml", tables, "--into", "here", "--json")
    assert json.loads(done.stdout) == {
        "study": "ufrgs-serverless",
        "results": "here",
        "scenarios": 12,
        "runs": 120,
        "left_out": [],
        "remarks": [],
    }


def test_a_file_that_is_called_otherwise_is_an_error_and_nothing_is_written(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    tables = write_tables(tmp_path / "tables")
    (tables / "notes.csv").write_text("a,b\n1,2\n")
    done = prumo_here("import", "csv", STUDY / "mapping.yaml", tables)
    assert done.returncode == 2
    assert "file_name: does not match 'notes.csv'" in done.stderr
    assert not (tmp_path / "results").exists()


def test_the_folder_that_one_is_in_is_refused(
    prumo_here: Prumo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = write_tables(tmp_path / "tables")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    done = prumo_here("import", "csv", STUDY / "mapping.yaml", tables, "--into", ".")
    assert done.returncode == 2
    assert "give a folder of its own with --into" in done.stderr
