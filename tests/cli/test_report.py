"""Languages and formats of `prumo report`; what the report says is tested in tests/report."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from prumo.cli.report import command
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    factory = ResultFactory(tmp_path / "demo", factors={"batch_size": [32, 64]}, samples=0)
    return factory.study_of(2).path


def test_the_page_and_the_terminal_speak_the_language_that_is_asked_for(folder: Path) -> None:
    said = _report(folder, "--lang", "pt-BR").stdout
    page = (folder / "report.html").read_text()

    assert "Execuções concluídas: 4 de 4." in said
    assert re.search(r"\d,\d+ s", said)
    assert '<html lang="pt-BR">' in page
    assert "Antes de confiar nestes resultados" in page
    # Axes too have the decimal comma.
    assert re.search(r"<text[^>]*>\d+,\d+</text>", page)
    assert "Before you rely on this" not in page


def test_programs_get_sentences_in_the_language_and_numbers_as_numbers(folder: Path) -> None:
    report = json.loads(_report(folder, "--lang", "pt-BR", "--json").stdout)

    assert report["sentences"][0] == "Execuções concluídas: 4 de 4."
    assert isinstance(report["summary"][0]["mean"], float)


def test_the_language_may_be_set_for_all_commands(folder: Path) -> None:
    said = CliRunner(env={"PRUMO_LANG": "pt-BR"}).invoke(command, [str(folder)])

    assert "Execuções concluídas: 4 de 4." in said.stdout


def test_formats_go_to_a_folder_beside_the_runs_or_where_they_are_wanted(
    folder: Path, tmp_path: Path
) -> None:
    beside = json.loads(_report(folder, "--format", "csv", "--format", "html", "--json").stdout)
    wanted = tmp_path / "paper"
    _report(folder, "--format", "csv", "--out", str(wanted))

    assert beside["page"] == str(folder / "report" / "report.html")
    assert str(folder / "report" / "runs.csv") in beside["files"]
    assert (wanted / "summary.csv").is_file()
    assert not (wanted / "report.html").exists()
    assert not (folder / "report.html").exists()


def test_a_page_that_is_asked_for_as_a_format_goes_to_a_folder_too(
    folder: Path, tmp_path: Path
) -> None:
    _report(folder, "--format", "html", "--out", str(tmp_path / "out-html"))

    assert (tmp_path / "out-html" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lang", "de"], "reports are not available in 'de': known: en, pt-BR"),
        (["--format", "docx"], "'docx' is not one of"),
        (["--out", "."], "is a folder"),
        (["--format", "csv", "--out", "{folder}/study.yaml"], "is a file"),
    ],
)
def test_what_cannot_be_written_is_refused_in_words(
    folder: Path, arguments: list[str], message: str
) -> None:
    refused = CliRunner().invoke(
        command, [str(folder), *(text.format(folder=folder) for text in arguments)]
    )

    assert refused.exit_code
    assert message in f"{refused.stderr} {refused.exception}"


def _report(folder: Path, *arguments: str) -> Result:
    done = CliRunner().invoke(command, [str(folder), *arguments])
    assert done.exit_code == 0, done.exception
    return done
