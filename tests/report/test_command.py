from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner

from prumo.cli.report import command
from prumo.results.equality import (
    Equality,
    FrameworkEquality,
    NetworkEquality,
    ProofState,
    Tolerances,
    write_equality,
)
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return ResultFactory(tmp_path / "demo").study_of(2).path


def test_the_command_prints_tables_and_ends_with_the_path_of_the_page(
    folder: Path, prumo: Prumo
) -> None:
    done = prumo("report", folder)

    assert done.returncode == 0
    assert "8 of 8 runs finished." in done.stdout
    assert "Training time (train_seconds)" in done.stdout
    assert done.stdout.rstrip().endswith(f"Report: {folder / 'report.html'}")
    assert "\x1b[" not in done.stdout
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_the_page_goes_where_it_is_wanted(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "shown" / "page.html"
    _output(folder, "--out", page)

    assert page.is_file()
    assert not (folder / "report.html").exists()


def test_the_summary_as_csv_can_be_piped(folder: Path) -> None:
    table = pl.read_csv(io.StringIO(_output(folder, "--csv", "-")))

    assert table.columns == [
        *("scenario", "framework", "batch_size", "metric", "unit", "n", "mean"),
        *("standard_deviation", "ci_low", "ci_high", "median", "minimum", "maximum"),
        *("bootstrap_low", "bootstrap_high"),
    ]
    assert table.filter(metric="train_seconds")["n"].to_list() == [2, 2, 2, 2]


def test_the_summary_as_csv_can_be_a_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "summary.csv"
    _output(folder, "--csv", file)

    assert pl.read_csv(file).filter(metric="loss").height == 4


def test_programs_get_json(folder: Path) -> None:
    report = json.loads(_output(folder, "--json", "--metric", "loss"))

    assert report["main_metric"] == "loss"
    assert report["runs"]["finished"] == 8
    assert report["page"] == str(folder / "report.html")
    assert {row["metric"] for row in report["summary"]} > {"loss", "train_seconds"}


def test_a_broken_record_is_warned_about_and_nothing_crashes(folder: Path) -> None:
    (folder / "runs" / "C02-r1" / "run.json").write_bytes(b"\x00\xff")
    output = _output(folder)

    assert "7 of 8 runs finished; 1 unreadable." in output
    assert "could not be read" in output
    assert "C02-r1/run.json is not a run record" in "".join(output.splitlines())


def test_formats_that_only_draw_say_when_there_is_nothing_to_draw(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.run(1, 1, {"batch_size": 32}, verdict="crashed", reason="no reason")
    output = _output(factory.path, "--format", "png", "--format", "svg")

    assert output.rstrip().endswith("Report: no file, since there is nothing to draw")


@pytest.mark.parametrize(("verdict", "shown"), [("finished", True), ("crashed", False)])
def test_equal_networks_are_told_only_where_there_are_figures_of_them(
    tmp_path: Path, verdict: str, shown: bool
) -> None:
    results = ResultFactory(tmp_path / "demo")
    results.run(1, 1, {"framework": "pytorch"}, verdict=verdict)
    rows = [FrameworkEquality(framework=name, state=ProofState.EQUAL) for name in ("jax", "caffe")]
    network = NetworkEquality(
        network="rede1",
        image_size=28,
        channels=1,
        classes=10,
        parameters=431_080,
        reference="jax",
        frameworks=tuple(rows),
    )
    tolerances = Tolerances(score=1e-4, loss=1e-3, step=0.05)
    write_equality(results.path, Equality(tolerances=tolerances, networks=(network,)))

    assert ("proven equal (in fp32)" in _output(results.path)) == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "train_second"], "did you mean 'train_seconds'?"),
        (["--confidence", "95"], "is not in the range 0<x<1"),
        (["--json", "--csv", "-"], "both want standard output"),
        (["--out", "/proc/none/page.html"], "cannot write"),
        (["--csv", "/proc"], "cannot write"),
    ],
)
def test_wrong_options_are_refused_in_words(
    folder: Path, arguments: list[str], message: str, prumo_here: Prumo
) -> None:
    done = prumo_here("report", folder, *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_path_without_results_is_refused_in_words(tmp_path: Path, prumo_here: Prumo) -> None:
    done = prumo_here("report", tmp_path / "nowhere")

    assert done.returncode == 2
    assert "is not a results folder" in done.stderr
    assert "Traceback" not in done.stderr


def _output(folder: Path, *arguments: object) -> str:
    result = CliRunner().invoke(
        command, [str(folder), *map(str, arguments)], catch_exceptions=False
    )
    assert result.exit_code == 0
    return result.stdout
