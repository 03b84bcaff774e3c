"""Each section is built from small tables, without a results folder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest
from rich.console import Console

from prumo.report.content import Report, RunCounts
from prumo.report.language import english, language
from prumo.report.sections import SECTIONS
from prumo.report.sections.money import ForecastSection, MoneySection
from prumo.report.sections.outcome import FailuresSection, WarningsSection
from prumo.report.sections.scaling import SizesSection
from prumo.report.sections.scenarios import (
    BarsSection,
    MetricsSection,
    RunsSection,
    ScenariosSection,
)
from prumo.report.sections.setting import EqualitySection, SettingSection
from prumo.report.sections.training import ProfilesSection
from prumo.report.sections.variation import EffectsSection, VariationSection
from prumo.report.warnings import WarningKind
from prumo.results.equality import Equality, FrameworkEquality, NetworkEquality, ProofState
from prumo.statistics.equality import TOLERANCES
from prumo.statistics.scaling import scaling_fits
from prumo.statistics.summary import summarise
from prumo.statistics.variation import variation

if TYPE_CHECKING:
    from prumo.report.sections.section import Section

SECONDS: dict[str, tuple[float, ...]] = {"C1": (10.0, 10.4), "C2": (20.0, 20.6), "C3": (39.0, 41.0)}
SIZES = {"C1": 32, "C2": 64, "C3": 128}


def report_of(seconds: dict[str, tuple[float, ...]] = SECONDS) -> Report:
    """Runs that take so many seconds, by scenario; one more crashed."""
    rows = [
        (f"{name}-r{number}", name, number, SIZES[name], "finished", value)
        for name, values in seconds.items()
        for number, value in enumerate(values, start=1)
    ]
    columns = ["run", "scenario", "replication", "batch_size", "verdict", "train_seconds"]
    runs = pl.DataFrame(rows, columns, orient="row")
    selected = ["train_seconds"] if rows else []
    return Report(
        study_name="small",
        confidence=0.95,
        factors=("batch_size",),
        selected=tuple(selected),
        runs=runs,
        summary=summarise(runs, ("batch_size",), selected, 0.95),
        failures=pl.DataFrame({"run": ["C3-r3"], "verdict": ["crashed"], "reason": ["no disk"]}),
        counts=RunCounts(planned=7),
    )


def printed(section: Section, tag: str = "en") -> str:
    console = Console(record=True, width=120)
    section.print(console, language(tag))
    return console.export_text()


def test_scenarios_are_rows_on_the_page_in_the_terminal_and_in_documents() -> None:
    section = ScenariosSection(report_of())
    page = section.page([], english())
    (table,) = section.tables(english())

    assert page is not None
    assert [row["levels"] for row in page.values["scenarios"]] == [["32"], ["64"], ["128"]]
    assert "Training time (train_seconds)" in printed(section)
    assert "Tempo de treinamento" in printed(section, "pt-BR")
    assert table.rows[0][:4] == ("C1", "32", "2", "10.20 s")
    assert [row["mean"] for row in section.document(english())["summary"]] == [10.2, 20.3, 40.0]
    assert set(section.frames()) == {"runs", "summary"}


def test_all_metrics_have_every_statistic() -> None:
    page = MetricsSection(report_of()).page([], english())

    assert page is not None
    ((_, name, rows),) = page.values["tables"]
    assert name == "train_seconds"
    assert rows[0][:2] == ("C1", "32")
    assert rows[0][2][-2:] == ["10", "10.40"]


def test_bars_start_at_zero_and_so_show_nothing_negative() -> None:
    assert [figure.name for figure in BarsSection(report_of()).figures(english())] == ["bars"]
    assert BarsSection(report_of({"C1": (-1.0, -2.0)})).figures(english()) == []


def test_a_section_of_figures_is_named_after_the_first() -> None:
    section = RunsSection(report_of())
    figures = section.figures(english())
    page = section.page(figures, english())

    assert page is not None
    assert (page.name, page.title) == ("runs", figures[0].title)
    assert section.page([], english()) is None


def test_one_factor_has_no_effects_to_compare() -> None:
    assert EffectsSection(report_of()).figures(english()) == []


def test_variation_has_a_sentence_a_table_and_plain_values() -> None:
    runs = report_of().runs
    section = VariationSection(report_of(), (variation(runs, ["batch_size"], "train_seconds"),))
    page = section.page([], english())
    (found,) = section.document(english())["variations"]

    assert page is not None
    assert "% batch_size" in str(page.values["tables"][0]["summary"])
    assert [row["source"] for row in found["rows"]] == ["factor", "error"]
    assert found["remarks"][0].startswith("Logarithms are analysed")
    assert section.frames()["variation"]["term"].to_list() == ["batch_size", "error"]
    assert VariationSection(report_of(), ()).page([], english()) is None


def test_sizes_have_a_law() -> None:
    report = report_of()
    fits = scaling_fits(report.runs, report.factors, "train_seconds", 0.95)
    section = SizesSection(report, fits)
    page = section.page([], english())

    assert page is not None
    assert page.title == "Training time by size"
    assert section.frames()["scaling"].height == len(fits) == 1
    assert SizesSection(report, []).page([], english()) is None


def test_failures_are_grouped_by_verdict_and_reason() -> None:
    failures = pl.DataFrame(
        {
            "run": ["C1-r1", "C1-r2", "C2-r1"],
            "verdict": ["timeout", "timeout", "crashed"],
            "reason": ["an hour is over", "an hour is over", None],
        },
    )
    section = FailuresSection(replace(report_of(), failures=failures))
    none = FailuresSection(replace(report_of(), failures=failures.clear()))

    assert [(str(verdict), len(runs)) for verdict, _, runs in section.groups()] == [
        ("crashed", 1),
        ("timeout", 2),
    ]
    assert "crashed (C2-r1): no reason was recorded" in printed(section)
    assert len(section.document(english())["failures"]) == 3
    assert none.page([], english()) is None
    assert printed(none) == ""


@pytest.mark.parametrize(("tag", "label"), [("en", "Warning: "), ("pt-BR", "Aviso: ")])
def test_a_warning_is_printed_above_its_advice(tag: str, label: str) -> None:
    message = WarningKind.FEW_SAMPLES.message(least=5, runs="2")
    section = WarningsSection(report_of(), {WarningKind.FEW_SAMPLES: message})
    first, second = printed(section, tag).strip().splitlines()[:2]

    assert first == label + language(tag).say(message)
    assert language(tag).say(WarningKind.FEW_SAMPLES.advice).startswith(second.strip()[:40])
    assert section.document(english())["warnings"][0]["name"] == "few_samples"
    assert WarningsSection(report_of(), {}).page([], english()) is None


def test_unequal_networks_are_said_even_without_figures() -> None:
    rows = tuple(
        FrameworkEquality(framework=name, state=ProofState.DIFFERENT) for name in ("jax", "pytorch")
    )
    network = NetworkEquality(
        network="rede1",
        image_size=28,
        channels=1,
        classes=10,
        parameters=7,
        frameworks=rows,
    )
    equality = Equality(tolerances=TOLERANCES, networks=(network,))

    section = EqualitySection(report_of({}), equality)

    assert section.report.main_metric is None
    assert "do not train the same networks" in printed(section)
    assert section.document(english())["equality"]["equal"] is False
    assert EqualitySection(report_of(), None).document(english()) == {"equality": None}


def test_a_profiler_that_gave_nothing_says_why() -> None:
    section = ProfilesSection(report_of(), [], {"no profiler for tpu": ["C1", "C2"]})

    assert "No profile of C1, C2: no profiler for tpu." in printed(section)
    assert section.document(english())["unprofiled"][0]["scenarios"] == ["C1", "C2"]


def test_prices_that_nobody_kept_are_named() -> None:
    page = MoneySection(report_of(), unpriced=("azure/x@eastus",)).page([], english())

    assert page is not None
    assert "(azure/x@eastus)" in str(page.values["sentences"][0])
    assert MoneySection(report_of()).page([], english()) is None
    assert MoneySection(report_of()).frames() == {}


def test_what_nobody_made_has_no_section() -> None:
    report = report_of()

    assert ForecastSection(report, None).figures(english()) == []
    assert ForecastSection(report, None).document(english()) == {"forecast": None}
    assert SettingSection(report, ()).page([], english()) is None


def test_every_section_has_a_name_of_its_own() -> None:
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)
