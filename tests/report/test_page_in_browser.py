"""The report page in a real browser, without a network."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

from prumo.report.content import assemble
from prumo.report.language import language
from prumo.report.render import LocalizedReport
from prumo.results.tables import Results
from support.result_factory import ResultFactory

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
# A4 less its margins, in pixels of 1/96 inch.
PRINTED_PIXELS = (702, 1009)
# Pairs of texts of one figure whose boxes share more than a rim.
COVERED = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
    const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim());
    const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
        .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
        .map(([other]) => `${one} / ${other}`));
})"""

# Texts that reach over the edge of their figure.
CUT = """() => [...document.querySelectorAll('svg text')].filter(text => {
    const [a, b] = [text, text.closest('svg')].map(one => one.getBoundingClientRect());
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 3
        || a.bottom > b.bottom + 3;
}).map(text => text.textContent)"""


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
    factory = ResultFactory(folder, factors=STUDY_1, gpu=True).study_of(2)
    factory.price({"cpu": 0.169, "gpu": 0.526})
    results = Results(folder)
    # Portuguese: its texts are the longer ones.
    report = LocalizedReport(results, assemble(results, [], 0.95), language("pt-BR"))
    (folder / "report.html").write_text(report.page(), "utf-8")
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


# Those that are not installed are replaced; monospace is wider than any of them.
@pytest.mark.parametrize("font", ["Liberation Sans", "DejaVu Sans", "Noto Sans", "monospace"])
def test_no_text_of_any_figure_covers_another_or_is_cut_whichever_fonts_there_are(
    browser: Browser, report: Path, font: str
) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    page.add_style_tag(content=f"svg text {{ font-family: {font} !important }}")
    rows = page.locator("#bars svg text").filter(has_text=re.compile(r"^C\d+:")).count()

    assert rows == 48
    assert page.evaluate(COVERED) == []
    assert page.evaluate(CUT) == []


def test_the_contents_lead_to_every_section_and_a_section_folds(
    browser: Browser, report: Path
) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    links = page.locator("nav a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    sections = page.locator("details.section").evaluate_all("all => all.map(s => `#${s.id}`)")
    page.locator("#bars > summary").click()

    assert links == sections
    assert {"#bars", "#money", "#variation", "#utilisation", "#usage", "#loss"} <= {*links}
    assert not page.locator("#bars svg").first.is_visible()


def test_no_figure_is_cut_by_the_end_of_a_printed_page(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": PRINTED_PIXELS[0], "height": PRINTED_PIXELS[1]})
    page.emulate_media(media="print")
    page.goto(report.as_uri())
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('figure')].map(figure =>
            [figure.getBoundingClientRect().height, getComputedStyle(figure).breakInside])"""
    )

    assert len(sizes) >= 7
    assert all(height < PRINTED_PIXELS[1] and inside == "avoid" for height, inside in sizes)
    assert page.evaluate("document.documentElement.scrollWidth") <= PRINTED_PIXELS[0]
