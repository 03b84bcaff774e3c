from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from prumo.report.content import assemble
from prumo.report.page import page
from prumo.report.terminal import print_report
from prumo.results.tables import Results
from result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_study_becomes_a_page_that_needs_nothing_else(tmp_path: Path) -> None:
    text = _page(ResultFactory(tmp_path / "demo").study_of(3).path)
    outline = _outline(text)

    assert '<html lang="en">' in text
    assert "script" not in outline.tags
    assert "link" not in outline.tags
    assert all(link.startswith("#") for link in outline.links)
    assert "12 of 12 runs finished." in outline.text
    assert "bench-1: Xeon E5-2690 v4, 8 cores, 32 GiB" in outline.text
    assert "mnist: real, from /data/mnist" in outline.text


def test_figures_are_well_formed_titled_and_share_no_names(tmp_path: Path) -> None:
    text = _page(ResultFactory(tmp_path / "demo").study_of(3).path)
    drawings = [ET.fromstring(svg) for svg in re.findall(r"<svg .*?</svg>", text, re.DOTALL)]  # noqa: S314 (our own)
    names = re.findall(r'\bid="([^"]+)"', text)

    assert len(drawings) == 4
    assert all(drawing[0].tag.endswith("title") and drawing[0].text for drawing in drawings)
    assert len(names) == len(set(names))


def test_profiles_are_drawn_by_kind_of_operation(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    for number, levels in enumerate(factory.scenarios(), start=1):
        folder = factory.run(number, 1, levels)
        rows = [
            {"operation": "Conv2D", "calls": 5, "seconds": 0.6, "share": 0.6},
            {"operation": "MatMul", "calls": 5, "seconds": 0.3, "share": 0.3},
            {"operation": "Relu", "calls": 5, "seconds": 0.1, "share": 0.1},
        ]
        functions = [{"function": "sgemm (libblas.so)", "seconds": 1.0, "share": 1.0}]
        with (folder / "events.jsonl").open("a") as journal:
            event = {"event": "profile", "steps": 5, "rows": rows, "functions": functions}
            journal.write(json.dumps(event) + "\n")
    text = _page(factory.path)

    (drawing,) = re.findall(
        r'<svg role="img" aria-labelledby="profiles-title".*?</svg>', text, re.DOTALL
    )
    shown = "".join(ET.fromstring(drawing).itertext())  # noqa: S314 (our own)
    assert all(kind in shown for kind in ("convolution", "matrix product", "other"))
    assert text.count("60.0 %") >= 4
    assert text.count("sgemm (libblas.so)") == 4
    assert text.count("100.0 %") >= 4


def test_a_profiler_that_gave_nothing_says_why_and_failed_runs_are_not_profiled(
    tmp_path: Path,
) -> None:
    factory = ResultFactory(tmp_path / "demo")
    missing = {"event": "profile", "rows": [], "reason": "no profiler for tpu"}
    row = {"operation": "Conv2D", "calls": 5, "seconds": 0.6, "share": 1.0}
    for number, verdict, profile in (
        (1, "finished", missing),
        (2, "crashed", {"event": "profile", "steps": 5, "rows": [row]}),
    ):
        folder = factory.run(number, 1, factory.scenarios()[number], verdict=verdict)
        with (folder / "events.jsonl").open("a") as journal:
            journal.write(json.dumps(profile) + "\n")
    results = Results(factory.path)
    report = assemble(results, (), 0.95)

    assert report.profiles == []
    assert "No profile of C1: no profiler for tpu." in page(results, report)
    console = Console(record=True)
    print_report(report, console)
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


def test_failed_runs_are_all_on_the_page_with_their_reasons(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.run(1, 1, {"batch_size": 32})
    factory.run(2, 1, {"batch_size": 64}, verdict="out_of_memory", reason="4 GiB asked")
    factory.run(2, 2, {"batch_size": 64}, verdict="out_of_memory", reason="4 GiB asked")
    factory.run(3, 1, {"batch_size": 99}, verdict="not_tried", reason="batch 64 did not fit")
    outline = _outline(_page(factory.path))

    assert "1 of 4 runs finished; 2 out of memory; 1 not tried." in outline.text
    for words in ("C02-r1, C02-r2", "4 GiB asked", "C03-r1", "batch 64 did not fit"):
        assert words in outline.text


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


def test_a_single_replication_shows_no_interval_and_says_so(tmp_path: Path) -> None:
    text = _outline(_page(ResultFactory(tmp_path / "demo").study_of(1).path)).text

    assert "1 run, no interval" in text
    assert "so no interval can be given" in text


def test_a_study_still_running_says_what_is_missing(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.write_study(replications=2)
    factory.run(1, 1, factory.scenarios()[0])
    (factory.path / "runs" / "C02-r1").mkdir()
    text = _outline(_page(factory.path)).text

    assert "1 of 8 runs finished; 1 without an end; 6 not begun." in text


@pytest.mark.parametrize("samples", [0, 1])
def test_runs_too_short_for_the_sampler_have_no_usage_figure(tmp_path: Path, samples: int) -> None:
    text = _page(ResultFactory(tmp_path / "demo", samples=samples).study_of(2).path)

    assert "Use of the machine over time" not in text
    assert "Loss during training" in text


def test_loss_is_shown_by_step_when_there_is_one_epoch(tmp_path: Path) -> None:
    text = _page(ResultFactory(tmp_path / "demo", epochs=1).study_of(2).path)

    assert "Loss per step in the first finished run" in text


def test_every_scenario_of_a_large_study_has_a_row_of_its_own(tmp_path: Path) -> None:
    factors: dict[str, list[Any]] = {
        "framework": ["pytorch", "tensorflow", "mxnet", "caffe"],
        "image_size": [28, 64, 128],
        "batch_size": [16, 32, 64, 128],
    }
    text = _page(ResultFactory(tmp_path / "large", factors=factors).study_of(5).path)
    drawing = re.findall(r"<svg .*?</svg>", text, re.DOTALL)[0]
    heights = [
        float(place)
        for place in re.findall(
            r'<text text-anchor="end" transform="translate\([-\d.]+,([\d.]+)\)"[^>]*>C\d+:', drawing
        )
    ]
    gaps = [below - above for above, below in pairwise(heights)]

    assert "240 of 240 runs finished." in text
    assert len(heights) == 48
    assert min(gaps) > 14


def test_values_of_several_sizes_stand_on_a_logarithmic_axis(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    for number, seconds in enumerate([0.5, 80.0], start=1):
        for replication in (1, 2):
            metrics = {"train_seconds": seconds + replication / 100}
            factory.run(number, replication, {"device": f"d{number}"}, metrics=metrics)

    assert "The axis is logarithmic." in _page(factory.path)


def test_device_and_threads_stand_beside_machine_and_versions(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    factory.run(1, 1, {"batch_size": 32}, device="cpu", threads=6)
    text = re.sub(r"\s+", " ", _outline(_page(factory.path)).text)

    assert "Device cpu" in text
    assert "Threads 6" in text


def test_a_copy_of_a_run_is_named_and_counted_nowhere(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo").study_of(2)
    first = factory.path / "runs" / "C01-r1"
    shutil.copytree(first, first.with_name("C01-r1.bak"))
    text = _outline(_page(factory.path)).text

    assert "8 of 8 runs finished." in text
    assert "C01-r1.bak" in text


def test_a_study_of_a_program_is_reported_by_its_time(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo")
    for replication in (1, 2):
        factory.run(1, replication, {"count": 10}, metrics={"total": 45.0}, data={}, network={})
    report = assemble(Results(factory.path), [], 0.95)

    assert report.selected[:2] == ("wall_seconds", "total")


def _page(path: Path) -> str:
    results = Results(path)
    return page(results, assemble(results, [], 0.95))


def _outline(text: str) -> Outline:
    outline = Outline()
    outline.feed(text)
    return outline
