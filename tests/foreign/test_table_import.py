from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import InputError, StudyError
from prumo.foreign.table_import import TableImport, import_tables
from prumo.foreign.table_mapping import load_mapping
from prumo.money.study_prices import read_prices
from prumo.results.tables import Results
from prumo.run.execution import missing_runs
from prumo.study import Study

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "network,batch,time (ms)\nalexnet,32,120\nalexnet,64,200\nalexnet,32,130\n"
MAPPING: dict[str, Any] = {
    "name": "published",
    "factors": {"network": "network", "batch_size": "batch"},
    "metrics": {"step_seconds": {"column": "time (ms)", "unit": "ms"}},
}


def imported(tmp_path: Path, tables: dict[str, str], **sections: Any) -> TableImport:
    folder = tmp_path / "tables"
    for name, text in tables.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(json.dumps({**MAPPING, **sections}, indent=1))
    return import_tables(load_mapping(mapping), folder, tmp_path / "results")


def refusal(tmp_path: Path, tables: dict[str, str], **sections: Any) -> str:
    with pytest.raises(InputError) as error:
        imported(tmp_path, tables, **sections)
    assert not (tmp_path / "results").exists()
    assert not list(tmp_path.glob(".results*"))
    return str(error.value)


def test_every_row_becomes_a_run_of_its_scenario(tmp_path: Path) -> None:
    imported(tmp_path, {"times.csv": TABLE})
    results = Results(tmp_path / "results")
    assert results.factors == ("network", "batch_size")
    table = results.runs().select("run", "batch_size", "step_seconds", "verdict").rows()
    assert table == [
        ("C01-r1", 32, pytest.approx(0.12), "finished"),
        ("C01-r2", 32, pytest.approx(0.13), "finished"),
        ("C02-r1", 64, pytest.approx(0.2), "finished"),
    ]


def test_a_run_says_where_it_came_from_and_nothing_that_nobody_told(tmp_path: Path) -> None:
    imported(tmp_path, {"times.csv": TABLE})
    record = Results(tmp_path / "results").records[1]
    assert record.imported == "csv times.csv:4"
    assert len(record.log_sha256) == 64
    assert (record.wall_seconds, record.started, record.machine, record.versions) == (
        None,
        "",
        {},
        {},
    )


def test_the_study_of_the_results_can_be_read_and_not_be_run(tmp_path: Path) -> None:
    told = imported(tmp_path, {"times.csv": TABLE}, description="From a paper", source="A paper")
    study = Study.load(tmp_path / "results" / "study.yaml")
    assert study.workload.model_dump() == {"kind": "imported", "source": "A paper"}
    assert (study.description, study.factors) == ("From a paper", told.study.factors)
    with pytest.raises(InputError, match="imported from elsewhere: there is nothing to start"):
        missing_runs(study, tmp_path / "results")


def test_names_of_files_and_folders_give_levels(tmp_path: Path) -> None:
    imported(
        tmp_path,
        {"cpu/alexnet-8.csv": "seconds\n1\n2\n", "gpu/alexnet-16.csv": "seconds\n3\n"},
        files="**/*.csv",
        file_name=r"(?P<device>\w+)/(?P<network>\w+)-(?P<batch>\d+)\.csv",
        factors={"network": None, "device": {"rename": {"gpu": "cuda"}}, "batch": None},
        metrics={"step_seconds": "seconds"},
    )
    results = Results(tmp_path / "results")
    assert results.study is not None
    assert results.study.factors == {
        "network": ("alexnet",),
        "device": ("cpu", "cuda"),
        "batch": (8, 16),
    }
    assert [record.scenario for record in results.records] == ["C1", "C1", "C4"]


def test_levels_can_be_ordered_and_their_types_are_those_of_the_mapping(tmp_path: Path) -> None:
    told = imported(
        tmp_path,
        {"times.csv": TABLE},
        factors={"network": "network", "batch_size": {"column": "batch", "levels": [64, 32]}},
    )
    assert told.study.factors["batch_size"] == (64, 32)
    assert [record.scenario for record in told.records] == ["C2", "C1", "C2"]


@pytest.mark.parametrize(
    ("texts", "levels"),
    [
        (["1", "16"], (1, 16)),
        (["0.5", "1.5"], (0.5, 1.5)),
        (["0.5", "1"], (0.5, 1)),
        (["1", "08"], ("1", "08")),
        (["1", "nan"], ("1", "nan")),
    ],
)
def test_levels_are_numbers_where_they_are_written_as_such(
    tmp_path: Path, texts: list[str], levels: tuple[object, ...]
) -> None:
    rows = "".join(f"{text},1\n" for text in texts)
    told = imported(
        tmp_path,
        {"times.csv": "size,seconds\n" + rows},
        factors={"size": "size"},
        metrics={"step_seconds": "seconds"},
    )
    assert told.study.factors["size"] == levels


def test_decimal_commas_other_delimiters_and_lines_above_the_header_are_read(
    tmp_path: Path,
) -> None:
    told = imported(
        tmp_path,
        {"times.csv": "Tabela 1\n\nnetwork;batch;time (ms)\nalexnet;32;1,5\nalexnet;32;-\n"},
        table={"delimiter": ";", "decimal": ",", "skip_lines": 2, "missing": ["-"]},
    )
    assert told.records[0].metrics == {"step_seconds": pytest.approx(0.0015)}
    assert told.left_out == ("times.csv:5",)


def test_a_figure_that_its_unit_takes_beyond_all_numbers_is_refused(tmp_path: Path) -> None:
    metrics = {"step_seconds": {"column": "time (ms)", "unit": "h"}}
    told = refusal(tmp_path, {"times.csv": TABLE + "vgg,1,1e308\n"}, metrics=metrics)
    assert "times.csv:5: time (ms): 1e+308 h is beyond all figures" in told


def test_an_empty_level_can_be_given_a_name(tmp_path: Path) -> None:
    network = {"column": "network", "rename": {"": "none"}}
    told = imported(
        tmp_path,
        {"times.csv": TABLE + ",32,2\n"},
        factors={"network": network, "batch_size": "batch"},
    )
    assert told.study.factors["network"] == ("alexnet", "none")


def test_a_cell_may_hold_characters_at_which_only_python_breaks_lines(tmp_path: Path) -> None:
    table = "note,network,batch,time (ms)\na\x0bb\x85c,alexnet,32,1\n,alexnet,32,2\n"
    told = imported(tmp_path, {"times.csv": table})
    assert [record.imported for record in told.records] == ["csv times.csv:2", "csv times.csv:3"]


def test_summaries_keep_what_they_tell_of_the_spread(tmp_path: Path) -> None:
    told = imported(
        tmp_path,
        {"times.csv": "network,mean,sd\nalexnet,120,4\nvgg19,300,\n"},
        rows="summaries",
        table={"missing": [""]},
        factors={"network": "network"},
        metrics={
            "step_seconds": {"column": "mean", "unit": "ms", "standard_deviation": "sd", "n": 5}
        },
    )
    first, second = (record.spreads["step_seconds"] for record in told.records)
    assert [first.n, first.standard_deviation] == pytest.approx([5, 0.004])
    assert (second.n, second.standard_deviation) == (5, None)


def test_machines_and_their_prices_become_the_study_s(tmp_path: Path) -> None:
    told = imported(
        tmp_path,
        {"times.csv": "machine,seconds\nsmall,10\nunknown,10\n"},
        factors={"machine": "machine"},
        metrics={"train_seconds": "seconds"},
        machines={
            "small": {"price": "azure/Standard_F4s_v2@eastus"},
            "unknown": {"price": "azure/Standard_F4s_v9@eastus"},
        },
    )
    prices = read_prices(tmp_path / "results")
    assert prices is not None
    assert list(prices.rates) == ["small"]
    assert "no price for unknown" in told.remarks[0]


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    imported(tmp_path, {"times.csv": TABLE})
    with pytest.raises(InputError, match="is there already: a study is imported whole"):
        imported(tmp_path, {"times.csv": TABLE})
    assert len(Results(tmp_path / "results").records) == 3


def test_the_same_file_under_two_names_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, {"a.csv": TABLE, "b.csv": TABLE})
    assert "b.csv and " in told
    assert "are the same file, so its rows would count twice" in told


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", "times.csv: the file is empty"),
        ("network,batch,time (ms)\n", "times.csv: has no rows below the names of its columns"),
        ("network,batch,time\na,1,2\n", "times.csv:1: has no column 'time (ms)'; did you mean"),
        ("network,batch,time (ms)\na,1\n", "times.csv:2: has 2 cells, and 3 columns have names"),
        (TABLE + "vgg,1,fast\n", "times.csv:5: time (ms): 'fast' is not a number"),
        (TABLE + "vgg,1,nan\n", "times.csv:5: time (ms): 'nan' is not a number"),
        (TABLE + 'vgg,1,"1,5"\n', "is not a number; with `decimal: ','` it would be"),
        (TABLE + "vgg,1,\n", "times.csv:5: time (ms): '' is not a number"),
        (TABLE + ",1,2\n", "times.csv:5: has no level of network; `rename` can say what an empty"),
        ("network,batch,time (ms),batch\na,1,2,3\n", "times.csv:1: has several columns 'batch'"),
        ('network,batch,time (ms)\n"a,1,2\n', "is not a table"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, table: str, told: str
) -> None:
    assert told in refusal(tmp_path, {"times.csv": table})


def test_a_table_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "latin.csv").write_bytes(b"network,batch,time (ms)\n\xe9,1,2\n")
    assert "latin.csv: is not a text file in UTF-8" in refusal(tmp_path, {})


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"files": "*.tsv"}, "files: no file in "),
        ({"file_name": r"\d+\.csv"}, "file_name: does not match 'times.csv'"),
        ({"file_name": r"(?P<nework>\w+)\.csv"}, "a group 'nework', which is no factor; did you"),
        ({"file_name": "("}, "file_name: is not a regular expression"),
        ({"factors": {"network": None}}, "factors.network: needs one source"),
        ({"factors": {}}, "factors: should not be empty"),
        ({"metric": {}}, "metric: unknown key; did you mean 'metrics'?"),
        ({"metrics": {"network": "batch"}}, "metrics.network: is also a factor"),
        (
            {"metrics": {"step_seconds": {"column": "time (ms)", "unit": "msec"}}},
            "metrics.step_seconds.unit: 'msec' is not known; did you mean 'ms'?",
        ),
        (
            {"metrics": {"loss": {"column": "time (ms)", "unit": "ms"}}},
            "metrics.loss.unit: only metrics whose name ends in _seconds or _bytes have one",
        ),
        (
            {"metrics": {"step_seconds": {"column": "time (ms)", "n": 5}}},
            "metrics.step_seconds: has a spread, so `rows` should be summaries",
        ),
        (
            {"factors": {"network": {"column": "network", "levels": ["alexnt"]}}},
            "times.csv:2: 'alexnet' is not a level of network; did you mean 'alexnt'?",
        ),
        ({"rows": "summaries"}, "times.csv:4: a second summary of network alexnet, batch_size 32"),
        ({"name": "Not A Name"}, "name: 'Not A Name' should be lower-case letters"),
        ({"machines": {"a": {"prise": 1}}}, "machines.a.prise: unknown key; did you mean 'price'?"),
        ({"cost": {"off": "inference"}}, "cost.off: unknown key; did you mean 'of'?"),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_place(
    tmp_path: Path, sections: dict[str, Any], told: str
) -> None:
    assert told in refusal(tmp_path, {"times.csv": TABLE}, **sections)


def test_errors_of_a_mapping_name_its_file_and_line(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("name: x\nfactors: {a: a}\nmetrics:\n  seconds: a\n  b: {colum: b}\n")
    with pytest.raises(StudyError, match=r"mapping\.yaml:5: metrics\.b\.colum: unknown key"):
        load_mapping(mapping)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "is not a folder" in refusal(tmp_path, {})
