"""The page for people, in a real browser before a real server."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect, sync_playwright

from prumo_retina.fundus.preparation import Quality, Verdict
from prumo_retina.grade import Urgency
from prumo_retina.prediction import Prediction
from prumo_retina.prediction.report import worklist
from prumo_serve.server.app import accepted_language, page_response
from prumo_serve.server.service import Service
from prumo_serve.server.settings import Settings
from support.fundus_factory import fundus, no_fundus
from support.model_packages import write_colour_package
from support.served_process import served_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page, Route

    from support.served_process import ServedProcess

MOST_BYTES = 1024**2
EYE = fundus(400, 300).pixels
# The small network judges by colour, so that colours in other places give other grades.
TINTS = {
    "healthy.png": (0, 2, 2),
    "moderate.png": (2, 2, 0),
    "severe.png": (0, 0, 1),
    "proliferative.png": (2, 0, 0),
    "mild.png": (1, 0, 2),
    "worse.png": (0, 0, 2),
}
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
GRADE_3 = "Grade 3: severe non-proliferative retinopathy"
# Text and what lies behind it, as the eye sees them.
CONTRASTS = """() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => parts(colour).slice(0, 3).reduce((sum, part, place) => {
        const share = part / 255;
        const linear = share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        return sum + linear * [0.2126, 0.7152, 0.0722][place];
    }, 0);
    const behind = (element) => {
        const colour = getComputedStyle(element).backgroundColor;
        return parts(colour)[3] === 0 ? behind(element.parentElement) : colour;
    };
    return [...document.querySelectorAll('p, h1, h2, h3, dt, span, button, summary, label')]
        .filter((element) => element.checkVisibility() && element.textContent.trim())
        .map((element) => {
            const pair = [light(getComputedStyle(element).color), light(behind(element))];
            const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
            return [element.textContent.trim(), ratio];
        });
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"]
        opened = playwright.chromium.launch(executable_path=program, args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def retina(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("retina")
    write_colour_package(folder / "package.tar.gz", "grade", heat_map=True)
    options = ("--max-body-mb", "1", "--workers", "2", "--threads", "1")
    with served_process(folder / "package.tar.gz", folder / "log", *options) as running:
        running.await_ready()
        yield running


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("plain")
    write_colour_package(folder / "package.tar.gz")
    with served_process(folder / "package.tar.gz", folder / "log") as running:
        running.await_ready()
        yield running


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    for name, channels in TINTS.items():
        Image.fromarray(np.ascontiguousarray(EYE[..., list(channels)])).save(folder / name)
    Image.fromarray(fundus(400, 300, brightness=0.05).pixels).save(folder / "dark.jpg")
    Image.fromarray(no_fundus(400, 300)).save(folder / "wall.jpg")
    (folder / "notes.jpg").write_text("not a photograph", "utf-8")
    return folder


@pytest.fixture(scope="module")
def only_page(browser: Browser) -> Page:
    return browser.new_page(locale="en-GB")


@pytest.fixture
def page(only_page: Page) -> Iterator[Page]:
    """One for all tests: each opens it anew, and a test says that it stores nothing."""
    yield only_page
    only_page.unroute_all()


def test_the_page_needs_nothing_but_its_server(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    show(page, retina, photographs / "healthy.png")
    own = (f"http://127.0.0.1:{retina.port}/", "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
    assert complaints == []


def test_the_answer_allows_nothing_else_and_is_kept_by_nobody(retina: ServedProcess) -> None:
    answer = retina.ask("GET", "/")
    policy = answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_page_says_what_it_is_and_is_not(page: Page, retina: ServedProcess) -> None:
    version = retina.ask("GET", "/v2/models/colours").document["versions"][0]
    open_page(page, retina)
    words = page.locator("body").inner_text()
    assert "not a diagnosis" in words
    assert "Macular oedema is not judged" in words
    assert f"Model colours, version {version}, refer from 50.0% on (balanced)" in words
    assert "Nothing is stored" in words


def test_photographs_are_listed_as_a_worklist_sorts_them(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    files = sorted(photographs.iterdir())
    show(page, retina, *files)
    foreign = photographs / "notes.jpg"
    judged = [file for file in files if file != foreign]
    wanted = [prediction.file.name for prediction in worklist(asked(retina, judged))]
    # At the end, since nobody is to be referred because of it.
    wanted.append(foreign.name)
    assert page.locator(".name").all_text_contents() == wanted
    assert page.locator("#summary").text_content() == (
        "8 of 9 answered · urgent: severe or proliferative (3) · refer: cannot be judged (2) · "
        "refer (1) · no referral (2) · not a JPEG or PNG photograph (1)"
    )


def test_photographs_can_be_dropped_anywhere(page: Page, plain: ServedProcess) -> None:
    open_page(page, plain)
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(['x'], 'one.jpg'));
            dataTransfer.items.add(new File(['x'], 'two.jpg'));
            const event = { dataTransfer, bubbles: true, cancelable: true };
            document.querySelector('footer').dispatchEvent(new DragEvent('drop', event));
        }"""
    )
    expect(page.locator(".name")).to_have_text(["one.jpg", "two.jpg"])
    expect(page.locator(".badge")).to_have_text(["cannot be read"] * 2)


def test_a_card_tells_grade_probability_threshold_and_quality(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    show(page, retina, photographs / "worse.png", photographs / "dark.jpg")
    document = told(retina, photographs / "worse.png")
    severe, dark = card(page, "worse.png").inner_text(), card(page, "dark.jpg").inner_text()
    assert "Urgent: severe or proliferative" in severe
    assert GRADE_3 in severe
    assert f"{document['referral_probability']:.1%}" in severe
    assert "refer from 50.0% on (balanced)" in severe
    assert "Quality: good" in severe
    assert "Refer: cannot be judged" in dark
    assert "Quality: too dark: median brightness" in dark
    assert "Grade" not in dark
    assert card(page, "dark.jpg").get_by_role("button", name="Heat map").count() == 0


def test_all_is_told_in_portuguese_without_losing_the_photographs(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    show(page, retina, *(photographs / name for name in ("worse.png", "dark.jpg", "notes.jpg")))
    page.get_by_role("button", name="Português").press("Enter")
    expect(card(page, "dark.jpg")).to_contain_text("escura demais: brilho mediano")
    expect(card(page, "notes.jpg")).to_contain_text("a imagem não é JPEG nem PNG")
    expect(card(page, "worse.png")).to_contain_text("Grau 3: retinopatia não proliferativa grave")
    expect(page.locator("#summary")).to_contain_text("2 de 3 respondidas")
    words = page.locator("body").inner_text()
    assert "não é um diagnóstico" in words
    assert "edema macular não é avaliado" in words
    assert page.locator("html").get_attribute("lang") == "pt-BR"
    assert page.url.endswith("?lang=pt-BR")
    assert not re.search(r"\{\w+\}", words)


def test_a_heat_map_comes_when_it_is_asked_for_and_goes_again(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    show(page, retina, photographs / "worse.png")
    button = page.get_by_role("button", name="Heat map")
    button.click()
    picture = page.get_by_role("img", name="Heat map of worse.png")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [64, 32]
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    expect(picture).to_have_count(0)


def test_what_the_server_refuses_is_a_referral_with_a_reason(
    page: Page, retina: ServedProcess, photographs: Path, tmp_path: Path
) -> None:
    (tmp_path / "huge.jpg").write_bytes(b"\xff\xd8\xff" + bytes(MOST_BYTES))
    (tmp_path / "torn.png").write_bytes((photographs / "worse.png").read_bytes()[:200])
    show(page, retina, tmp_path / "torn.png", tmp_path / "huge.jpg")
    for name, reason in (
        ("torn.png", "the image"),
        ("huge.jpg", "The file is larger than the 1 MB that the server takes."),
    ):
        expect(card(page, name)).to_contain_text("refer: cannot be judged")
        expect(card(page, name)).to_contain_text(reason)


def test_a_file_that_is_no_photograph_is_nobody_to_refer(
    page: Page, retina: ServedProcess, photographs: Path, tmp_path: Path
) -> None:
    (tmp_path / "short.jpg").write_bytes(b"abc")
    show(page, retina, photographs / "notes.jpg", tmp_path / "short.jpg")
    for name in ("notes.jpg", "short.jpg"):
        expect(card(page, name)).to_contain_text("not a JPEG or PNG photograph")
        expect(card(page, name)).to_contain_text("the image is neither JPEG nor PNG")
        expect(card(page, name)).not_to_contain_text("refer")
    expect(page.locator("#summary")).to_have_text(
        "0 of 2 answered · not a JPEG or PNG photograph (2)"
    )


def test_a_referral_that_the_grade_alone_does_not_explain_is_explained(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    document = told(retina, photographs / "worse.png")
    split = document | {
        "grade": 1,
        "refer": True,
        "referral_probability": 0.555,
        "threshold": 0.429,
    }
    page.route("**/invocations*", lambda route: route.fulfill(json=split))
    show(page, retina, photographs / "worse.png")
    expect(card(page, "worse.png")).to_contain_text(
        "the probability of a referral, 55.5%, reaches the threshold of 42.9%, though the most "
        "probable single grade would not be referred"
    )
    page.unroute("**/invocations*")
    show(page, retina, photographs / "worse.png")
    expect(card(page, "worse.png")).to_contain_text(GRADE_3)
    expect(card(page, "worse.png")).not_to_contain_text("reaches the threshold")


def test_a_busy_server_is_asked_again(page: Page, retina: ServedProcess, photographs: Path) -> None:
    answers = [429, 503]

    def refuse(route: Route) -> None:
        if answers:
            route.fulfill(status=answers.pop(), headers={"Retry-After": "0.01"})
        else:
            route.continue_()

    page.route("**/invocations*", refuse)
    show(page, retina, photographs / "worse.png")
    expect(card(page, "worse.png")).to_contain_text(GRADE_3)
    assert answers == []


def test_a_photograph_without_an_answer_says_why_and_can_be_tried_again(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    page.route("**/invocations*", lambda route: route.abort())
    show(page, retina, photographs / "worse.png")
    expect(card(page, "worse.png")).to_contain_text("The server cannot be reached.")
    expect(page.locator("#summary")).to_have_text("0 of 1 answered · no answer (1)")
    page.unroute("**/invocations*")
    card(page, "worse.png").get_by_role("button", name="Try again").click()
    expect(card(page, "worse.png")).to_contain_text(GRADE_3)


def test_few_requests_are_made_at_a_time(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    held: list[str] = []
    page.route("**/invocations*", lambda route: held.append(route.request.url))
    open_page(page, retina)
    page.locator("#choose").set_input_files([photographs / "healthy.png"] * 8)
    expect(page.locator("[data-state=asking]")).to_have_count(3)
    expect(page.locator("[data-state=waiting]")).to_have_count(5)
    assert len(held) <= 3
    # Those that are held go on now.
    page.unroute("**/invocations*")
    expect(page.locator("[data-state=answered]")).to_have_count(8, timeout=30_000)


def test_nothing_is_stored_in_the_browser(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    show(page, retina, photographs / "worse.png")
    stored = page.evaluate(
        """async () => [localStorage.length, sessionStorage.length, document.cookie,
            (await indexedDB.databases()).length]"""
    )
    assert stored == [0, 0, "", 0]
    page.get_by_role("button", name="Remove all").click()
    expect(page.locator(".card")).to_have_count(0)
    expect(page.locator("#results")).to_be_hidden()


def test_a_name_of_a_file_is_text_and_nothing_else(page: Page, retina: ServedProcess) -> None:
    name = "<img src=x onerror=document.title='broken'>.png"
    open_page(page, retina)
    give(page, {"name": name, "mimeType": "image/png", "buffer": png(EYE)})
    assert page.locator(".name").text_content() == name
    assert page.locator(".name img").count() == 0
    assert page.title() == "Photographs of the retina · colours"


def test_the_worklist_can_be_taken_along_as_csv(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    show(page, retina, *(photographs / name for name in ("dark.jpg", "worse.png", "notes.jpg")))
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8-sig"))))
    document = told(retina, photographs / "worse.png")
    assert [row["file"] for row in rows] == ["worse.png", "dark.jpg", "notes.jpg"]
    assert [row["urgency"] for row in rows] == [
        "urgent",
        "ungradable",
        "not a JPEG or PNG photograph",
    ]
    assert float(rows[0]["probability"]) == document["referral_probability"]
    assert rows[0]["grade"] == "3"
    assert rows[0]["model_version"] == document["model"]["version"]
    assert rows[1]["quality"] == "too_dark"
    assert [row["refer"] for row in rows] == ["true", "true", ""]


def test_a_portuguese_spreadsheet_opens_the_portuguese_csv(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    show(page, retina, *(photographs / name for name in ("dark.jpg", "worse.png", "healthy.png")))
    page.get_by_role("button", name="Português").click()
    expect(card(page, "dark.jpg")).to_contain_text("escura demais")
    with page.expect_download() as download:
        page.get_by_role("button", name="Salvar como CSV").click()
    text = download.value.path().read_text("utf-8-sig")
    severe, dark, healthy = csv.DictReader(io.StringIO(text), delimiter=";")
    probability = told(retina, photographs / "worse.png")["referral_probability"]
    assert severe["arquivo"] == "worse.png"
    assert float(severe["probabilidade"].replace(",", ".")) == probability
    assert "." not in severe["probabilidade"]
    assert severe["urgência"] == "urgente: grave ou proliferativa"
    assert dark["qualidade"] == "escura demais"
    assert [row["encaminhar"] for row in (severe, dark, healthy)] == ["sim", "sim", "não"]


def test_a_phone_shows_all_without_scrolling_sideways_and_in_clear_colours(
    browser: Browser, retina: ServedProcess, photographs: Path
) -> None:
    phone = browser.new_page(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, locale="pt-BR"
    )
    names = ("worse.png", "dark.jpg", "notes.jpg", "moderate.png", "healthy.png")
    show(phone, retina, *(photographs / name for name in names))
    camera = phone.get_by_text("Tirar uma fotografia")
    assert camera.is_visible()
    assert phone.locator("#take").get_attribute("capture") == "environment"
    phone.locator("summary").first.click()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    backgrounds = set()
    for scheme in SCHEMES:
        phone.emulate_media(color_scheme=scheme)
        assert [text for text, ratio in phone.evaluate(CONTRASTS) if ratio < 4.5] == []
        backgrounds.add(phone.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == len(SCHEMES)
    phone.close()


def test_everything_can_be_done_with_the_keyboard(
    page: Page, retina: ServedProcess, photographs: Path
) -> None:
    show(page, retina, photographs / "worse.png")
    names = []
    for _ in range(12):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
    wanted = ["English", "Português", "choose", "print", "save", "clear", "Heat map", "Remove"]
    assert [name for name in names if name in wanted][:8] == wanted
    unnamed = page.locator("button, input").evaluate_all(
        "all => all.filter(one => !(one.ariaLabel || one.innerText || one.labels?.length)).length"
    )
    assert unnamed == 0


def test_a_plain_model_has_no_grades_and_no_threshold(page: Page, plain: ServedProcess) -> None:
    open_page(page, plain)
    red = np.full((40, 40, 3), (250, 20, 20), np.uint8)
    give(page, {"name": "red.png", "mimeType": "image/png", "buffer": png(red)})
    words = page.locator("body").inner_text()
    assert "Images to classify" in words
    assert "Red\n" in words
    assert "a person decides" in words
    medical = re.compile("grade|refer|retin|diagnos|urgent|quality|heat map", re.IGNORECASE)
    assert not medical.search(words)


@pytest.mark.parametrize(
    ("wanted", "header", "tag"),
    [
        ("", "", "en"),
        ("", "de, pt-PT;q=0.9, en;q=0.8", "pt-BR"),
        ("", "en;q=0.2, pt;q=0.9", "pt-BR"),
        ("", "pt;q=0, en;q=0.1", "en"),
        ("", "pt;q=nonsense", "en"),
        ("en", "pt-BR", "en"),
        ("PT-br", "en", "pt-BR"),
        ("klingon", "pt", "pt-BR"),
    ],
)
def test_the_language_is_the_wanted_one_or_the_browsers(wanted: str, header: str, tag: str) -> None:
    assert accepted_language(wanted, header) == tag


def test_the_page_comes_in_the_browsers_language(retina: ServedProcess) -> None:
    answer = retina.ask("GET", "/", headers={"Accept-Language": "pt-BR,pt;q=0.9"})
    assert '<html lang="pt-BR">' in answer.body.decode()
    assert "Fotografias da retina" in answer.body.decode()


def test_while_the_model_is_loaded_the_page_says_so_and_asks_again() -> None:
    answer = page_response(Service(Settings(Path("not-loaded"))), "pt-BR")
    words = bytes(answer.body).decode()
    assert answer.status_code == 503
    assert "O modelo está sendo carregado" in words
    assert 'http-equiv="refresh"' in words


def open_page(page: Page, server: ServedProcess) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/")


def show(page: Page, server: ServedProcess, *files: Path) -> None:
    """Open the page, give it photographs and wait for what it says of them."""
    open_page(page, server)
    give(page, *files)


def give(page: Page, *files: Any) -> None:
    page.locator("#choose").set_input_files(list(files))
    expect(page.locator("#progress")).to_be_hidden(timeout=30_000)
    expect(page.locator("#summary")).to_contain_text(str(len(files)))


def card(page: Page, name: str) -> Locator:
    return page.locator(".card", has=page.get_by_role("heading", name=name))


def told(server: ServedProcess, file: Path) -> dict[str, Any]:
    document: dict[str, Any] = server.classify(file.read_bytes()).document
    return document


def asked(server: ServedProcess, files: list[Path]) -> list[Prediction]:
    """What the server says of files, as the command line would list it."""
    return [_prediction(file, told(server, file)) for file in files]


def _prediction(file: Path, document: dict[str, Any]) -> Prediction:
    if "error" in document:
        return Prediction(file, "", Quality(Verdict.UNREADABLE), True, Urgency.UNGRADABLE)
    return Prediction(
        file=file,
        eye="",
        quality=Quality(Verdict(document["quality"]["verdict"])),
        refer=document["refer"],
        urgency=Urgency(document["urgency"]),
        probability=document["referral_probability"],
        grade_probabilities=tuple(document["probabilities"].values()),
    )


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()
