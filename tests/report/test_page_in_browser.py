"""The report page in a real browser, without a network."""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

from prumo.report.content import assemble
from prumo.report.page import write_page
from prumo.results.tables import Results
from result_factory import ResultFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

STUDY_1: dict[str, list[Any]] = {
    "machine": ["cpu", "gpu"],
    "framework": ["mxnet", "pytorch", "tensorflow"],
    "dataset": ["mnist", "cifar10"],
    "image_size": [32, 64],
    "network": ["rede1", "rede2"],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "study1"
    ResultFactory(folder, factors=STUDY_1).study_of(2)
    results = Results(folder)
    write_page(results, assemble(results, [], 0.95), folder / "report.html")
    return folder / "report.html"


def test_the_page_opens_without_asking_anybody(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(report.as_uri())
    assert requests == [report.as_uri()]
    assert complaints == []
    assert page.locator("svg").count() >= 3


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_itself_never_scrolls_sideways(browser: Browser, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_labels_of_forty_eight_scenarios_do_not_overlap(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    boxes = page.evaluate(
        """() => [...document.querySelector('svg').querySelectorAll('text')]
            .filter(text => /^C[0-9]+:/.test(text.textContent))
            .map(text => text.getBoundingClientRect())
            .map(box => [box.top, box.bottom])"""
    )
    assert len(boxes) == 48
    for (_, bottom), (top, _) in pairwise(sorted(boxes)):
        assert top >= bottom - 1
