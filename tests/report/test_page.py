from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from prumo.forecast.document import Basis, Forecast, ScenarioForecast, Span, write_forecast
from prumo.report.content import assemble
from prumo.report.figures.batch import batch_figures
from prumo.report.figures.curves import usage_figures
from prumo.report.figures.scenarios import bars_figures, scenarios_figures
from prumo.report.language import english, language
from prumo.report.render import LocalizedReport
from prumo.report.sections import SECTIONS
from prumo.report.sections.training import ProfilesSection
from prumo.report.sentence import outcome
from prumo.results.tables import Results
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.report.content import Report
    from prumo.report.language import Language
    from prumo.report.sections.section import PageSection

HOSTILE = '<script>alert("x")</script>&<img src=x onerror=alert(1)>'


class Outline(HTMLParser):
    """The tags, links and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [
            value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}
        ]

    def handle_data(self, data: str) -> None:
        self.text += data


class Read(NamedTuple):
    """Results with their report and its page, drawn once for all tests that only read it."""

    results: Results
    report: Report
    text: str

    @property
    def shown(self) -> str:
        """What a reader sees."""
        return re.sub(r"\s+", " ", _outline(self.text).text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """A study whose runs all finished, with a profile of each scenario."""
    factory = ResultFactory(tmp_path_factory.mktemp("whole") / "demo").study_of(3)
    rows = [
        {"operation": "Conv2D", "calls": 5, "seconds": 0.6, "share": 0.6},
        {"operation": "MatMul", "calls": 5, "seconds": 0.3, "share": 0.3},
        {"operation": "Relu", "calls": 5, "seconds": 0.1, "share": 0.1},
    ]
    functions = [{"function": "sgemm (libblas.so)", "seconds": 1.0, "share": 1.0}]
    event = {"event": "profile", "steps": 5, "rows": rows, "functions": functions}
    for number in (1, 2, 3, 4):
        _append_event(factory.path / "runs" / f"C{number:02d}-r1", event)
    return _read(factory.path)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """A study of which a single run finished."""
    factory = ResultFactory(tmp_path_factory.mktemp("broken") / "demo")
    run = factory.run(1, 1, {"batch_size": 32}, device="cpu", threads=6)
    _append_event(run, {"event": "profile", "rows": [], "reason": "no profiler for tpu"})
    run = factory.run(2, 1, {"batch_size": 64}, verdict="out_of_memory", reason="4 GiB asked")
    row = {"operation": "Conv2D", "calls": 5, "seconds": 0.6, "share": 1.0}
    _append_event(run, {"event": "profile", "steps": 5, "rows": [row]})
    factory.run(2, 2, {"batch_size": 64}, verdict="out_of_memory", reason="4 GiB asked")
    factory.run(3, 1, {"batch_size": 99}, verdict="not_tried", reason="batch 64 did not fit")
    return _read(factory.path)


@pytest.fixture(scope="module")
def peculiar(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Many runs of one epoch, forecast beforehand, and a copy of one of them."""
    path = tmp_path_factory.mktemp("peculiar") / "demo"
    factory = ResultFactory(path, samples=0, epochs=1, steps_per_epoch=30).study_of(8)
    spans = [Span(value=30.0, low=20.0, high=40.0), Span(value=300.0, low=200.0, high=400.0)]
    forecast = Forecast(
        study="demo",
        made=datetime(2026, 11, 14, tzinfo=UTC),
        prumo="0",
        scenarios=tuple(
            ScenarioForecast(
                scenario=f"C{number}",
                factors={},
                basis=Basis.SCALED,
                replications=2,
                run_seconds=span,
            )
            for number, span in enumerate(spans, start=1)
        ),
    )
    write_forecast(factory.path, forecast)
    first = factory.path / "runs" / "C01-r1"
    shutil.copytree(first, first.with_name("C01-r1.bak"))
    return _read(factory.path)


def test_a_study_becomes_a_page_that_needs_nothing_else(whole: Read) -> None:
    outline = _outline(whole.text)

    assert '<html lang="en">' in whole.text
    assert "script" not in outline.tags
    assert "link" not in outline.tags
    assert all(link.startswith("#") for link in outline.links)
    assert "12 of 12 runs finished." in outline.text
    assert "bench-1: Xeon E5-2690 v4, 8 cores, 32 GiB" in outline.text
    assert "mnist: real, from /data/mnist" in outline.text


def test_figures_are_well_formed_titled_and_share_no_names(whole: Read) -> None:
    drawings = [ET.fromstring(svg) for svg in re.findall(r"<svg .*?</svg>", whole.text, re.DOTALL)]  # noqa: S314 (our own)
    names = re.findall(r'\bid="([^"]+)"', whole.text)

    assert len(drawings) == 8
    assert all(drawing[0].tag.endswith("title") and drawing[0].text for drawing in drawings)
    assert len(names) == len(set(names))


def test_profiles_are_drawn_by_kind_of_operation(whole: Read) -> None:
    (drawing,) = re.findall(
        r'<svg role="img" aria-labelledby="profiles-title".*?</svg>', whole.text, re.DOTALL
    )
    shown = "".join(ET.fromstring(drawing).itertext())  # noqa: S314 (our own)
    assert all(kind in shown for kind in ("convolution", "matrix product", "other"))
    assert whole.text.count("60.0 %") >= 4
    assert whole.text.count("sgemm (libblas.so)") == 4
    assert whole.text.count("100.0 %") >= 4


def test_words_of_machine_and_profile_are_in_the_language(whole: Read) -> None:
    portuguese = language("pt-BR")
    sections = {
        section.name: section.values
        for section in _page_sections(whole.results, whole.report, portuguese)
    }
    title, (machine,) = sections["setting"]["setting"][0]

    assert portuguese.say(title) == "Máquina"
    assert portuguese.told(machine) == "bench-1: Xeon E5-2690 v4, 8 núcleos, 32 GiB"
    profile, _ = sections["profiles"]["profiles"][0]
    assert [portuguese.say(kind.value) for kind in profile.shares] == [
        *("convolução", "produto de matrizes", "outras")
    ]


def test_a_profiler_that_gave_nothing_says_why_and_failed_runs_are_not_profiled(
    broken: Read,
) -> None:
    assert ProfilesSection.of(broken.results, broken.report).profiles == []
    assert "No profile of C1: no profiler for tpu." in broken.text
    console = Console(record=True)
    LocalizedReport(broken.results, broken.report, english()).print(console)
    assert "No profile of C1: no profiler for tpu." in console.export_text()


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo", study=HOSTILE, factors={"framework": [HOSTILE, "b"]})
    for number, levels in enumerate(factory.scenarios(), start=1):
        factory.run(number, 1, levels, versions={HOSTILE: HOSTILE})
        factory.run(number, 2, levels, verdict="crashed", reason=HOSTILE)
    text = _page(factory.path)
    outline = _outline(text)

    assert "script" not in outline.tags
    assert "img" not in outline.tags
    assert HOSTILE in outline.text


def test_failed_runs_are_all_on_the_page_with_their_reasons(broken: Read) -> None:
    assert "1 of 4 runs finished; 2 out of memory; 1 not tried." in broken.shown
    for words in ("C02-r1, C02-r2", "4 GiB asked", "C03-r1", "batch 64 did not fit"):
        assert words in broken.shown


def test_without_a_finished_run_there_is_a_page_that_says_why(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.run(1, 1, {"batch_size": 32}, verdict="unavailable", reason="no GPU here")
    outline = _outline(_page(factory.path))

    assert "no run has finished" in outline.text
    assert "no GPU here" in outline.text
    assert "svg" not in outline.tags


def test_an_empty_results_folder_has_a_page(tmp_path: Path) -> None:
    text = _outline(_page(ResultFactory(tmp_path / "demo").path)).text

    assert "0 of 0 runs finished." in text
    assert "start the study with prumo run" in text


def test_a_single_replication_shows_no_interval_and_says_so(broken: Read) -> None:
    assert "1 run, no interval" in broken.shown
    assert "so no interval can be given" in broken.shown


def test_device_and_threads_stand_beside_machine_and_versions(broken: Read) -> None:
    assert "Device cpu" in broken.shown
    assert "Threads 6" in broken.shown


def test_a_study_still_running_says_what_is_missing(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.write_study(replications=2)
    factory.run(1, 1, factory.scenarios()[0])
    (factory.path / "runs" / "C02-r1").mkdir()

    said = str(outcome(_report(factory.path)))

    assert said == "1 of 8 runs finished; 1 without an end; 6 not begun."


def test_runs_too_short_for_the_sampler_have_no_usage_figure(
    tmp_path: Path, whole: Read, peculiar: Read
) -> None:
    results = Results(ResultFactory(tmp_path / "demo", samples=1).study_of(2).path)
    runs = assemble(results, [], 0.95).finished

    assert usage_figures(results.usage_over_time(), runs, ["framework"], english()) == []
    assert "Use of the machine over time" not in peculiar.text
    assert "Use of the machine over time" in whole.text


def test_loss_is_shown_by_step_when_there_is_one_epoch(whole: Read, peculiar: Read) -> None:
    assert "Mean loss of the finished runs of each scenario, by step." in peculiar.text
    assert "Mean loss of the finished runs of each scenario, by epoch." in whole.text


def test_figures_of_many_rows_go_on_in_further_ones(tmp_path: Path) -> None:
    factors = {"threads": list(range(1, 61))}
    factory = ResultFactory(tmp_path / "large", factors=factors, samples=0).study_of(2)
    report = _report(factory.path)
    figures = bars_figures(report.summary, report.varying, ["train_seconds"], 0.95, english())
    rows = [re.findall(r">(C\d+): ", figure.svg) for figure in figures]

    assert [len(part) for part in rows] == [48, 12]
    assert rows[0] + rows[1] == [f"C{number}" for number in range(1, 61)]


def test_priced_runs_have_amounts_in_every_part_of_the_page(tmp_path: Path) -> None:
    factors = {"machine": ["cpu", "gpu"], "framework": ["pytorch", "tensorflow"]}
    factory = ResultFactory(tmp_path / "demo", factors=factors).study_of(3)
    factory.price({"cpu": 0.169, "gpu": 0.526})
    results = Results(factory.path)
    report = assemble(results, [], 0.95)
    text = _outline(LocalizedReport(results, report, english()).page()).text

    assert report.selected[:2] == ("train_seconds", "cost_usd")
    assert "Time and cost of every scenario" in text
    assert "gpu costs 4.6 times less than cpu" in text
    assert "Time against money" in text
    assert "azure/gpu@eastus, on demand, $0.526/h as of 2026-11-01" in text
    assert "Analysis of variance: Cost of a run" in text
    said = json.loads(json.dumps(LocalizedReport(results, report, english()).document()))
    assert said["cost"]["rates"]["C3"]["amount"] == 0.526
    assert [found["metric"] for found in said["variations"]] == ["train_seconds", "cost_usd"]


def test_prices_that_a_study_names_and_nobody_kept_are_told(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo", factors={"machine": ["cpu"]}).study_of(2)
    study = json.loads((factory.path / "study.yaml").read_text())
    study["machines"] = {"cpu": {"price": "azure/Standard_F4s_v2@eastus"}}
    (factory.path / "study.yaml").write_text(json.dumps(study))
    results = Results(factory.path)
    sections = _page_sections(results, assemble(results, [], 0.95), english())
    (money,) = (section for section in sections if section.name == "money")

    assert "(azure/Standard_F4s_v2@eastus)" in str(money.values["sentences"][0])


def test_imported_runs_are_not_to_be_repeated_by_running(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo").study_of(1)
    study = json.loads((factory.path / "study.yaml").read_text())
    measured = _section_names(factory.path)
    study["workload"] = {"kind": "imported"}
    (factory.path / "study.yaml").write_text(json.dumps(study))

    assert measured - _section_names(factory.path) == {"repeat"}


def test_many_runs_of_a_scenario_are_drawn_as_boxes(whole: Read, peculiar: Read) -> None:
    assert "Spread of the runs: Training time" in peculiar.text
    assert "Every run: Training time" not in peculiar.text
    assert "Every run: Training time" in whole.text


def test_batch_sizes_have_curves_and_devices_an_acceleration(tmp_path: Path) -> None:
    factors: dict[str, list[Any]] = {"device": ["cpu", "gpu"], "batch_size": [16, 32, 64]}
    factory = ResultFactory(tmp_path / "demo", factors=factors, gpu=True).study_of(2)
    report = _report(factory.path)
    (figure,) = batch_figures(report.finished, report.varying, 0.95, english())

    assert figure.title == "Time per image and acceleration by batch size"
    assert "Acceleration against the CPU" in figure.svg


def test_a_forecast_stands_against_what_came_true(peculiar: Read) -> None:
    said = "In 1 of 2 scenarios the mean time of a run came to lie in its interval."

    assert said in peculiar.shown
    assert "fact, outside of it" in peculiar.shown


def test_values_of_several_sizes_stand_on_a_logarithmic_axis(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    for number, seconds in enumerate([0.5, 80.0], start=1):
        for replication in (1, 2):
            metrics = {"train_seconds": seconds + replication / 100}
            factory.run(number, replication, {"device": f"d{number}"}, metrics=metrics)
    report = _report(factory.path)
    means = report.metric_summary("train_seconds")
    (figure,) = scenarios_figures(
        report.finished, means, report.varying, "train_seconds", 0.95, english()
    )

    assert figure.caption.endswith("The axis is logarithmic.")


def test_a_copy_of_a_run_is_named_and_counted_nowhere(peculiar: Read) -> None:
    assert "32 of 32 runs finished." in peculiar.shown
    assert "C01-r1.bak" in peculiar.shown


def test_a_study_of_a_program_is_reported_by_its_time(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    for replication in (1, 2):
        factory.run(1, replication, {"count": 10}, metrics={"total": 45.0}, data={}, network={})
    report = assemble(Results(factory.path), [], 0.95)

    assert report.selected[:2] == ("wall_seconds", "total")


def _append_event(run: Path, event: dict[str, Any]) -> None:
    with (run / "events.jsonl").open("a") as journal:
        journal.write(json.dumps(event) + "\n")


def _section_names(path: Path) -> set[str]:
    results = Results(path)
    sections = _page_sections(results, assemble(results, [], 0.95), english())
    return {section.name for section in sections}


def _page_sections(results: Results, report: Report, told_in: Language) -> list[PageSection]:
    """The sections of the page, without their figures."""
    pages = [section.of(results, report).page([], told_in) for section in SECTIONS]
    return [page for page in pages if page is not None]


def _report(path: Path) -> Report:
    return assemble(Results(path), [], 0.95)


def _read(path: Path) -> Read:
    results = Results(path)
    report = assemble(results, [], 0.95)
    return Read(results, report, LocalizedReport(results, report, english()).page())


def _page(path: Path) -> str:
    return _read(path).text


def _outline(text: str) -> Outline:
    outline = Outline()
    outline.feed(text)
    return outline
