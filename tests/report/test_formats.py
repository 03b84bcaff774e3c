"""Every format keeps one contract; then what is particular to each."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import pytest
from PIL import Image

from prumo.errors import StorageError
from prumo.money.study_prices import Prices, write_prices
from prumo.report.content import assemble
from prumo.report.formats import FORMATS, write_formats
from prumo.report.formats.documents import escaped
from prumo.report.language import english, language
from prumo.report.render import LocalizedReport
from prumo.results.tables import Results
from support.priced_runs import rate
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "a|b_c %$&#{x}~^\\ <i>*é*</i> [1]"


class Kept(NamedTuple):
    """What a format left where."""

    folder: Path
    written: list[Path]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> LocalizedReport:
    factory = ResultFactory(tmp_path_factory.mktemp("formats") / "demo", samples=0)
    factory.study_of(2)
    factory.run(5, 1, {"framework": "mxnet", "batch_size": 64}, verdict="crashed", reason=HOSTILE)
    return _localized(factory.path)


@pytest.fixture(scope="module")
def kept(report: LocalizedReport, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kept]:
    """Every format in a folder of its own."""
    above = tmp_path_factory.mktemp("kept")
    return {
        name: Kept(above / name / "deep", FORMATS[name](report, above / name / "deep"))
        for name in FORMATS
    }


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_makes_its_folder_and_tells_every_file_it_wrote(
    name: str, kept: dict[str, Kept]
) -> None:
    folder, written = kept[name]

    assert written
    assert sorted(written) == sorted(path for path in folder.rglob("*") if path.is_file())
    assert all(path.stat().st_size for path in written)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_keeps_a_report_without_a_finished_run(name: str, tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.run(1, 1, {"batch_size": 32}, verdict="crashed", reason="no reason")

    written = FORMATS[name](_localized(factory.path), tmp_path / "out")

    assert all(path.is_file() for path in written)


@pytest.mark.parametrize("name", FORMATS)
def test_a_place_that_cannot_be_written_is_an_error_for_people(
    name: str, report: LocalizedReport, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="cannot write"):
        FORMATS[name](report, tmp_path / "file")


def test_no_two_formats_write_the_same_file(kept: dict[str, Kept]) -> None:
    places = [path.relative_to(one.folder) for one in kept.values() for path in one.written]

    assert len(places) == len(set(places))


def test_a_format_asked_for_twice_is_written_once(report: LocalizedReport, tmp_path: Path) -> None:
    written = write_formats(report, ["csv", "csv"], tmp_path)

    assert len(written) == len(set(written))


def test_tables_for_programs_keep_numbers_as_they_are_in_any_language(
    report: LocalizedReport, tmp_path: Path
) -> None:
    portuguese = replace(report, language=language("pt-BR"))
    write_formats(portuguese, ["csv", "parquet"], tmp_path)

    for table in ("runs", "summary", "variation"):
        kept = pl.read_parquet(tmp_path / f"{table}.parquet")
        assert kept.equals(report.frames[table])
        assert pl.read_csv(tmp_path / f"{table}.csv", infer_schema_length=None).shape == kept.shape
    shares = pl.read_csv(tmp_path / "variation.csv").filter(metric="train_seconds")["share"]
    assert shares.sum() == pytest.approx(1)


def test_what_runs_cost_is_a_table_of_its_own_where_they_have_prices(
    report: LocalizedReport, tmp_path: Path
) -> None:
    factory = ResultFactory(tmp_path / "demo", samples=0).study_of(2)
    kept = Prices(made=date(2026, 11, 14), rates={"": rate(3.6)})
    write_prices(factory.path, kept)
    frames = _localized(factory.path).frames

    assert "cost" not in report.frames
    seconds = frames["runs"]["train_seconds"].to_list()
    assert frames["cost"]["cost_usd"].to_list() == pytest.approx([time / 1000 for time in seconds])
    assert set(frames["variation"]["metric"]) == {"train_seconds", "cost_usd"}


def test_images_are_made_for_print(kept: dict[str, Kept]) -> None:
    for path in kept["png"].written:
        image = Image.open(BytesIO(path.read_bytes()))
        assert image.width >= 1500
        assert image.info["dpi"] == pytest.approx((300, 300), abs=1)


def test_markdown_links_figures_that_are_there_and_escapes_marks(kept: dict[str, Kept]) -> None:
    folder = kept["markdown"].folder
    text = (folder / "report.md").read_text()
    links = re.findall(r"!\[.*\]\((.+)\)", text)

    assert links
    assert all((folder / link).is_file() for link in links)
    assert r"a\|b\_c %\$&\#{x}\~^\\ \<i\>\*é\*\</i\> \[1\]" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert "| C1 | pytorch | 32 | 2 |" in text
    assert all(line.endswith("|") for line in tables)


def test_latex_tables_have_as_many_cells_as_columns_and_escape_commands(
    kept: dict[str, Kept],
) -> None:
    folder, written = kept["latex"]
    document = (folder / "report.tex").read_text()

    for path in (path for path in written if path.parent.name == "tables"):
        text = path.read_text()
        columns = re.findall(r"\\begin\{tabular\}\{(\w+)\}", text)[0]
        rows = [line for line in text.splitlines() if line.endswith(r" \\")]
        assert len(rows) >= 2
        assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(columns)}
        assert _balanced(text)
    for part in re.findall(r"\\(?:input|includegraphics)[^{]*\{([^}]+)\}", document):
        assert (folder / part).exists() or (folder / f"{part}.tex").exists()
    assert _balanced(document)
    assert document.count(r"\begin{") == document.count(r"\end{")
    assert all(path.read_bytes()[:4] == b"%PDF" for path in written if path.suffix == ".pdf")


def test_nothing_in_escaped_latex_is_a_command() -> None:
    assert escaped(r"50 % of C_1 & {x} \end[1]") == (
        r"50 \% of C\_1 \& \{x\} \textbackslash{}end{[}1{]}"
    )


def test_metrics_of_like_names_have_tables_of_their_own(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    for replication in (1, 2):
        metrics = {"a b": 1.0, "a-b": 2.0, "größe": 3.0, "?": 4.0}
        factory.run(1, replication, {"batch_size": 32}, metrics=metrics)
    results = Results(factory.path)
    report = LocalizedReport(
        results, assemble(results, ["a b", "a-b", "größe", "?"], 0.95), english()
    )

    written = FORMATS["latex"](report, tmp_path / "out")

    assert len([path for path in written if path.parent.name == "tables"]) == 4


def test_texts_and_numbers_follow_the_language(report: LocalizedReport, tmp_path: Path) -> None:
    FORMATS["latex"](replace(report, language=language("pt-BR")), tmp_path)
    table = (tmp_path / "tables" / "train-seconds.tex").read_text()

    assert r"\usepackage[brazilian]{babel}" in (tmp_path / "report.tex").read_text()
    assert r"\caption{Tempo de treinamento}" in table
    assert re.search(r"C1 & pytorch & 32 & 2 & \d+,\d+ s & ", table)


def _localized(path: Path) -> LocalizedReport:
    results = Results(path)
    return LocalizedReport(results, assemble(results, [], 0.95), english())


def _balanced(text: str) -> bool:
    braces = re.sub(r"\\[{}]", "", text)
    return braces.count("{") == braces.count("}")
