"""`prumo compare` on results folders, as a user calls it."""

from __future__ import annotations

import json
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from prumo.money.billing import Rate
from prumo.money.price import Kind, Purchase, Unit
from prumo.money.study_prices import Prices, write_prices
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo


@pytest.fixture
def compare(prumo_here: Prumo) -> Prumo:
    """The command as a user calls it, in this process."""
    return partial(prumo_here, "compare")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two frameworks, one taking 1.3 times as long, at two batch sizes, five runs each."""
    path = tmp_path / "results" / "demo"
    ResultFactory(path).study_of(5)
    return path


def test_a_factor_is_compared_in_a_sentence_and_a_table(compare: Prumo, results: Path) -> None:
    told = compare(results, "--factor", "framework")

    assert told.returncode == 0, told.stderr
    sentence, *table = told.stdout.splitlines()
    assert sentence.startswith("pytorch is 1.29")
    assert (
        "times as fast as tensorflow, on average over 2 combinations: clearly faster in 2"
        in sentence
    )
    assert any(line.split()[:1] == ["32"] and line.split()[-1] == "faster" for line in table)
    assert any("geometric mean   geometric mean   / tensorflow" in line for line in table)


def test_the_answer_is_there_for_programs(compare: Prumo, results: Path, tmp_path: Path) -> None:
    told = compare(results, "--factor", "batch_size", "--json", "--csv", "table.csv")
    answer = json.loads(told.stdout)
    table = pl.read_csv(tmp_path / "table.csv")

    (pair,) = answer["pairs"]
    assert (pair["level"], pair["against"], pair["verdict"]) == ("32", "64", "slower")
    assert pair["ci_low"] < pair["ratio"] < pair["ci_high"]
    assert [one["levels"] for one in pair["combinations"]] == [
        {"framework": "pytorch"},
        {"framework": "tensorflow"},
    ]
    assert table["ratio"].to_list() == pytest.approx([one["ratio"] for one in pair["combinations"]])
    assert table["framework"].to_list() == ["pytorch", "tensorflow"]


def test_money_is_compared_where_the_results_have_prices(compare: Prumo, results: Path) -> None:
    refused = compare(results, "--factor", "framework", "--metric", "cost_usd")
    assert refused.returncode == 2
    assert "prumo reprice" in refused.stderr

    write_prices(results, Prices(made=date(2026, 11, 15), rates={"": rate(0.526)}))
    told = compare(results, "--factor", "framework", "--metric", "cost_usd")
    assert told.stdout.startswith("tensorflow costs 1.2"), told.stderr
    assert "more expensive" in told.stdout
    document = compare(results, "--factor", "framework", "--metric", "cost_usd", "--json").stdout
    assert '"dearer"' in document or '"cheaper"' in document


def test_the_answer_is_told_in_portuguese_with_a_decimal_comma(
    compare: Prumo, results: Path
) -> None:
    told = compare(results, "--factor", "framework", "--lang", "pt-BR")

    assert "1,29" in told.stdout.splitlines()[0]


def test_frameworks_that_nobody_proved_to_train_the_same_network_are_told(
    compare: Prumo, tmp_path: Path
) -> None:
    factors: dict[str, list[Any]] = {"framework": ["pytorch", "mxnet"], "image_size": [28]}
    ResultFactory(tmp_path / "unproven", factors=factors).study_of(2)

    told = compare("unproven", "--factor", "framework").stdout
    assert "Nothing proves that frameworks train the same network" in told


def test_a_factor_named_like_a_figure_keeps_a_column_of_its_own(
    compare: Prumo, tmp_path: Path
) -> None:
    ResultFactory(
        tmp_path / "odd", factors={"framework": ["pytorch", "mxnet"], "level": ["[red]", "low"]}
    ).study_of(2)
    told = compare("odd", "--factor", "framework", "--csv", "-")
    shown = compare("odd", "--factor", "level")

    assert told.stdout.splitlines()[0].startswith("level,against,factor_level,scenario")
    assert "[red]" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--factor", "framwork"], "did you mean 'framework'"),
        (["--factor", "framework", "--metric", "train_second"], "did you mean 'train_seconds'"),
        (["--factor", "framework", "--against", "jax"], "to compare with"),
        (["--factor", "framework", "--confidence", "1.5"], "--confidence"),
        (["--factor", "framework", "--lang", "xx"], "xx"),
        (["--factor", "framework", "--json", "--csv", "-"], "standard output"),
        ([], "--factor"),
    ],
)
def test_a_wrong_question_is_refused_in_a_line(
    compare: Prumo, results: Path, arguments: list[str], words: str
) -> None:
    told = compare(results, *arguments)

    assert told.returncode == 2
    assert words in told.stderr
    assert "Traceback" not in told.stderr


def test_results_without_figures_say_so(compare: Prumo, tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "failed")
    factory.write_study(1)
    for number, levels in enumerate(factory.scenarios(), start=1):
        factory.run(number, 1, levels, verdict="crashed", reason="x", wall_seconds=None)
    told = compare("failed", "--factor", "framework")

    assert told.returncode == 2
    assert "no finished run" in told.stderr


def test_levels_that_never_meet_have_a_sentence_and_no_table(
    compare: Prumo, tmp_path: Path
) -> None:
    factory = ResultFactory(tmp_path / "apart")
    factory.write_study(1)
    for number, levels in enumerate(factory.scenarios(), start=1):
        if (levels["framework"] == "pytorch") == (levels["batch_size"] == 32):
            factory.run(number, 1, levels)
    refused = compare("apart", "--factor", "framework", "--csv", "-")

    assert "no common combination" in compare("apart", "--factor", "framework").stdout
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no table" in refused.stderr


def rate(usd_per_hour: float) -> Rate:
    fields: dict[str, Any] = {
        "price": "azure/Standard_NC4as_T4_v3@eastus",
        "kind": Kind.MACHINE,
        "purchase": Purchase.ON_DEMAND,
        "amount": usd_per_hour,
        "unit": Unit.HOUR,
        "currency": "USD",
        "billing": "per_second",
        "as_of": date(2026, 11, 1),
        "source": "test",
    }
    return Rate(**fields)
