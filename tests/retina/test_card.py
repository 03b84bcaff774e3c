"""The model card: filled from the facts, in two languages, as Markdown and as one page."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from prumo.report.language import language
from prumo_retina.card import card
from prumo_retina.card.layout import Card, Paragraph, Picture, Table, html, markdown
from prumo_retina.fundus.preparation import Verdict
from support.made_evaluation import made_evaluation

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_retina.evaluation import Evaluation


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return made_evaluation(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def english(evaluation: Evaluation) -> Card:
    return card(evaluation, [], language("en"))


def test_it_says_what_the_model_is_not(english: Card) -> None:
    told = markdown(english)

    assert "decision support and no diagnosis" in told
    assert "does not judge macular oedema" in told
    assert "counts as a referral" in told


def test_it_has_the_figures_with_their_intervals(evaluation: Evaluation, english: Card) -> None:
    figures = _tables(english)[0]
    area = evaluation.judgement.auc

    assert figures.rows[0] == (
        "area under the ROC curve, referable or not",
        f"{area.value:.3f}",
        f"[{area.low:.3f}, {area.high:.3f}]",
        str(area.n),
    )
    assert any(row[0].startswith("quadratic weighted kappa") for row in figures.rows)
    assert any(row[0] == "ungradable photographs" for row in figures.rows)


def test_it_tells_thresholds_and_how_they_were_chosen(
    evaluation: Evaluation, english: Card
) -> None:
    rows = _tables(english)[1].rows

    assert [row[0] for row in rows] == ["high sensitivity", "balanced", "high specificity"]
    assert rows[0][1] == "expected sensitivity at least 0.95, then the greatest specificity"
    assert rows[0][2] == "validation photographs"
    assert rows[0][3] == f"{evaluation.model.description.points[0].threshold:.3f}"


def test_it_tells_class_balance_training_and_hash(english: Card) -> None:
    told = markdown(english)

    assert "| 2 · moderate non-proliferative retinopathy | 60 (27 %) | 15 (27 %) |" in told
    assert "training time: 95.30 s" in told
    assert "tensorflow 2.21.0" in told
    assert "0" * 64 in told
    assert "12 photographs with a grade could not be judged and count as referrals" in told
    assert "duplicates of others: 3, ungradable and without a grade: 2." in told
    assert "Judged here are 120 known patients." in told
    assert "random: nothing was learnt before this training" in told


def test_other_peoples_figures_are_said_to_be_of_other_data(english: Card) -> None:
    told = markdown(english)

    assert told.index("context, not a comparison") < told.index("Gulshan")


def test_every_camera_has_its_row(english: Card) -> None:
    cameras = next(table for table in _tables(english) if table.heads[0] == "camera")

    assert {row[0] for row in cameras.rows} == {"Topcon", "Canon", "Kowa"}


def test_photographs_that_were_seen_are_warned_of(tmp_path: Path) -> None:
    told = html(card(made_evaluation(tmp_path, seen=7), [], language("en")))

    assert '<div class="warning"><p>7 of these photographs have trained the model' in told
    assert "on other photographs than those that judge them" not in told


def test_patients_that_are_not_known_are_counted_apart(evaluation: Evaluation) -> None:
    cases = tuple(
        replace(case, patient="" if place < 3 else case.patient)
        for place, case in enumerate(evaluation.cases)
    )

    told = markdown(card(replace(evaluation, cases=cases), [], language("en")))

    assert "The patients of 3 photographs are not known; each counts as one more." in told


def test_heat_maps_of_a_cross_validation_are_said_to_be_of_another_network(tmp_path: Path) -> None:
    picture = Picture("heat-maps/a.png", "a", b"")
    crossed = made_evaluation(tmp_path, out_of_fold=True)

    assert "They are of the network that is delivered" in markdown(
        card(crossed, [picture], language("en"))
    )


def test_a_model_without_grades_has_no_kappa(tmp_path: Path) -> None:
    told = markdown(card(made_evaluation(tmp_path, "referral"), [], language("en")))

    assert "kappa of the grades" not in told
    assert "It gives no grade." in told
    assert "do not distinguish cameras or sites" in told


def test_a_cross_validation_says_so(tmp_path: Path) -> None:
    told = markdown(card(made_evaluation(tmp_path, out_of_fold=True), [], language("en")))

    assert "each gradable one was answered by a network that had not seen it" in told
    assert "The network that is delivered has learnt from all of them" in told
    assert "found on all other folds" in told
    assert "How many photographs could not be judged is not known here" in told


def test_a_cross_validation_without_photographs_warns_of_those_that_were_not_judged(
    tmp_path: Path, english: Card
) -> None:
    crossed = card(made_evaluation(tmp_path, out_of_fold=True), [], language("en"))

    warning = "Photographs that cannot be judged are not part of these figures"
    assert any(told.startswith(warning) for told in _warnings(crossed))
    assert _warnings(english) == []


@pytest.mark.parametrize(("low", "is_warned"), [(0.51, False), (0.5, True), (None, True)])
def test_a_model_that_may_be_no_better_than_chance_is_said_to_be(
    evaluation: Evaluation, low: float | None, is_warned: bool
) -> None:
    area = replace(evaluation.judgement.auc, low=low)
    doubtful = replace(evaluation, judgement=replace(evaluation.judgement, auc=area))

    warnings = _warnings(card(doubtful, [], language("en")))

    assert [told[:45] for told in warnings] == (
        ["The model is not shown to be better than chan"] if is_warned else []
    )


@pytest.mark.parametrize(
    ("subsets", "is_warned"),
    [
        ({"validation": [10, 8, 19, 0, 0]}, True),
        ({"validation": [10, 9, 10, 5, 4]}, False),
        ({"fold-1": [10, 0, 9, 0, 0], "fold-2": [9, 0, 9, 0, 0]}, True),
        ({}, False),
    ],
)
def test_thresholds_of_few_photographs_are_warned_of(
    evaluation: Evaluation, subsets: dict[str, list[int]], is_warned: bool
) -> None:
    description = evaluation.model.description.model_copy(update={"data": {"subsets": subsets}})
    few = replace(evaluation, model=replace(evaluation.model, description=description))

    warnings = _warnings(card(few, [], language("en")))

    assert any("fewer than 19 of either" in told for told in warnings) == is_warned


@pytest.mark.parametrize(
    ("brier", "error", "told"),
    [
        (-0.01, -0.01, "the scaling helped"),
        (0.01, 0.0, "the scaling did not help"),
        (0.01, -0.01, "one of the two better, one worse"),
        (0.0, 0.00001, "changed neither"),
    ],
)
def test_it_says_whether_the_temperature_helped(
    evaluation: Evaluation, brier: float, error: float, told: str
) -> None:
    before = replace(evaluation.judgement.uncalibrated, brier=0.1, expected_error=0.1)
    after = replace(before, brier=0.1 + brier, expected_error=0.1 + error)
    judgement = replace(evaluation.judgement, uncalibrated=before, calibration=after)

    page = markdown(card(replace(evaluation, judgement=judgement), [], language("en")))

    assert told in page


def test_settings_of_the_training_are_told_in_words(evaluation: Evaluation) -> None:
    parameters = {"frozen": True, "trained_layers": 0, "patience": 0, "learning_rate": 0.001}
    description = evaluation.model.description.model_copy(
        update={"training": {"parameters": parameters}}
    )
    made = replace(evaluation, model=replace(evaluation.model, description=description))

    english, portuguese = (markdown(card(made, [], language(tag))) for tag in ("en", "pt-BR"))

    assert (
        "backbone frozen: yes; stops after epochs without progress: never; "
        "first learning rate: 0.001" in english
    )
    assert "rede de base congelada: sim" in portuguese
    assert "sem realce" in portuguese


def test_it_tells_why_photographs_could_not_be_judged(evaluation: Evaluation) -> None:
    material = evaluation.material
    assert material is not None
    bad = [verdict for verdict in Verdict if not verdict.is_gradable]
    ungradable = tuple(replace(material.ungradable[0], verdict=verdict) for verdict in bad)
    judged = replace(evaluation, material=replace(material, ungradable=ungradable))

    told = markdown(card(judged, [], language("en")))

    assert "too dark: 1, too bright: 1, blurred: 1, noisy: 1, cut off: 1." in told


def test_in_portuguese_nothing_is_left_in_english(evaluation: Evaluation) -> None:
    told = card(evaluation, [], language("pt-BR"))
    text = markdown(told)

    assert told.tag == "pt-BR"
    assert "apoio à decisão" in text
    assert "edema macular" in text
    assert "sensibilidade esperada de ao menos 0,95" in text
    assert f"{evaluation.judgement.auc.value:.3f}".replace(".", ",") in text
    english_words = re.findall(r"\b(the|of|and|photographs?|which|grade)\b", _words(text))
    assert english_words == []


def test_the_page_stands_alone_and_is_well_formed(evaluation: Evaluation) -> None:
    picture = Picture("heat-maps/a.png", "a <script>", b"\x89PNG")
    page = html(card(evaluation, [picture], language("en")))

    # Namespaces of SVG are names, not addresses that a browser asks.
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []
    assert "<script>" not in page
    assert "a &lt;script&gt;" in page
    assert page.count("<svg ") == 3
    parser = _Tags()
    parser.feed(page)
    assert parser.open == []


def test_markdown_names_the_files_beside_it(evaluation: Evaluation) -> None:
    picture = Picture("heat-maps/a.png", "a", b"")
    told = markdown(card(evaluation, [picture], language("en")))

    assert set(re.findall(r"!\[.*?\]\((.*?)\)", told)) == {
        "roc.svg",
        "reliability.svg",
        "confusion.svg",
        "heat-maps/a.png",
    }


def _tables(told: Card) -> list[Table]:
    return [
        block for section in told.sections for block in section.blocks if isinstance(block, Table)
    ]


def _warnings(told: Card) -> list[str]:
    return [
        block.text
        for section in told.sections
        for block in section.blocks
        if isinstance(block, Paragraph) and block.is_warning
    ]


def _words(text: str) -> str:
    """Without names of people, journals and parameters, which stay as they are."""
    return re.sub(r"(Cohen and Everitt|Rao and Scott)", "", text)


class _Tags(HTMLParser):
    """Which tags are open: none at the end of a page that is well formed."""

    VOID = frozenset({"meta", "img", "br", "path", "circle", "rect", "use"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag
