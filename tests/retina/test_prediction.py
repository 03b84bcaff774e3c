"""From files to answers: what is judged, what is referred unjudged, and how it is told."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from prumo.progress import Silent
from prumo.quantity import MISSING
from prumo.report.language import language
from prumo_retina.fundus.preparation import Quality, Verdict
from prumo_retina.grade import Grade, Threshold, Urgency, urgency_of
from prumo_retina.model import ModelDescription, ModelFolder
from prumo_retina.prediction import Prediction, Request, predict
from prumo_retina.prediction.report import (
    COLUMNS,
    PredictionReport,
    predictions_csv,
    predictions_document,
    print_predictions,
)
from support.fundus_factory import fundus, write_photograph
from support.heard_progress import Heard
from support.retina_networks import description

REQUEST = Request(Threshold(0.3, "high_sensitivity"))
NETWORK = b"never loaded"


def test_only_ungradable_photographs_are_answered_without_the_network(tmp_path: Path) -> None:
    dark = write_photograph(tmp_path / "dark.jpg", fundus(400, 300, brightness=0.05))
    heard = Heard()
    answers = predict(model(), [dark, not_a_photograph(tmp_path)], REQUEST, heard)
    assert [answer.refer for answer in answers] == [True, True]
    assert answers[1].quality.verdict is Verdict.UNREADABLE
    assert "ilegível: não é uma fotografia: não é JPEG" in printed(report(*answers), "pt-BR")
    assert set(heard.shown) == {"preparing photographs"}


def test_a_photograph_with_pages_that_nobody_looked_at_says_so(tmp_path: Path) -> None:
    dark = Image.fromarray(fundus(400, 300, brightness=0.05).pixels)
    dark.save(tmp_path / "two.tif", save_all=True, append_images=[dark])
    answers = predict(model(), [tmp_path / "two.tif"], REQUEST, Silent())
    (told,) = predictions_document(report(*answers), language("en"))["predictions"]
    assert told["quality"] == "too_dark"
    assert told["reason"].endswith("; has several pages: only the first is read")


def test_where_nothing_can_be_read_everything_is_referred(tmp_path: Path) -> None:
    request = Request(REQUEST.threshold, heat_maps=tmp_path / "maps")
    heard = Heard()
    answers = predict(model(), [not_a_photograph(tmp_path), tmp_path / "gone.jpg"], request, heard)
    assert [answer.urgency for answer in answers] == [Urgency.UNGRADABLE] * 2
    assert [str(answer.quality.reason) for answer in answers] == [
        "is not a photograph: it is neither JPEG nor PNG, TIFF or DICOM",
        "does not exist",
    ]
    assert set(heard.shown) == {"preparing photographs"}


def test_the_grade_is_the_most_probable_one() -> None:
    assert judged(grades=(0.4, 0.1, 0.2, 0.2, 0.1)).grade is Grade.NONE
    assert judged(grades=()).grade is None


def test_a_table_tells_grade_probability_threshold_and_answer() -> None:
    told = printed(report(judged(), ungradable()))
    assert (
        "1.jpg right good 2 moderate non-proliferative retinopathy 0.200 0.800 0.300 refer" in told
    )
    missing = " ".join([MISSING] * 3)
    assert f"2.jpg blurred: no detail {missing} 0.300 refer: cannot be judged" in told
    assert f"Model brightness-grade, version {model().version}; refers from" in told
    assert "operating point high sensitivity" in told
    assert "not a diagnosis" in told
    assert "Macular oedema is not judged." in told
    assert "heat map" not in told


def test_a_table_tells_the_same_in_portuguese() -> None:
    told = printed(report(judged(), ungradable()), "pt-BR")
    assert "1.jpg direito boa 2 retinopatia não proliferativa moderada 0,200 0,800 0,300" in told
    missing = " ".join([MISSING] * 3)
    assert f"desfocada: no detail {missing} 0,300 encaminhar: não pode" in told
    assert "encaminhar: não pode ser avaliada" in told
    assert "não é um diagnóstico" in told
    assert "O edema macular não é avaliado." in told
    assert "a partir de uma probabilidade de 0,300 (ponto de operação alta sensib" in told


def test_a_model_without_grades_has_no_column_of_grades() -> None:
    told = printed(report(judged(grades=()), task="referral"))
    assert "grade" not in told.partition("1.jpg")[0]
    assert "1.jpg right good 0.800 0.300 refer" in told
    assert "so nothing can be called urgent; for that, train with --task grade" in told
    told = printed(report(judged(grades=()), task="referral"), "pt-BR")
    assert "nada pode ser chamado de urgente. Para isso, treine com --task grade" in told


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.MISSING}))
def test_every_verdict_on_a_photograph_has_words_in_portuguese(verdict: Verdict) -> None:
    seen = replace(ungradable(), quality=Quality(verdict))
    english, portuguese = (
        predictions_document(report(seen), language(tag))["predictions"][0]["quality_label"]
        for tag in ("en", "pt-BR")
    )
    assert english != portuguese


def test_a_threshold_of_ones_own_is_told_as_such() -> None:
    own = PredictionReport([judged()], model(), Threshold(0.25))
    assert "a threshold of your own" in printed(own)
    assert predictions_document(own, language("en"))["point"] is None


def test_a_csv_has_english_columns_and_words_of_the_language() -> None:
    text = predictions_csv(report(judged(), ungradable()), language("pt-BR"))
    first, second = csv.DictReader(StringIO(text))
    assert tuple(first) == COLUMNS
    assert first["grade"] == "2"
    assert first["grade_title"] == "retinopatia não proliferativa moderada"
    assert (first["probability"], first["threshold"]) == ("0.800000", "0.300000")
    assert first["severe_or_proliferative_probability"] == "0.200000"
    assert second["severe_or_proliferative_probability"] == ""
    assert (first["eye"], first["quality"], first["refer"]) == ("direito", "boa", "sim")
    assert first["model_version"] == model().version
    assert (second["grade"], second["probability"], second["reason"]) == ("", "", "no detail")


def test_a_document_has_the_same_keys_and_codes_in_every_language() -> None:
    both = report(judged(), ungradable())
    english, portuguese = (predictions_document(both, language(tag)) for tag in ("en", "pt-BR"))
    assert json.loads(json.dumps(english)) == english
    assert without_words(english) == without_words(portuguese)
    assert english["predictions"][0]["grade_label"] == "moderate non-proliferative retinopathy"
    assert portuguese["predictions"][0]["grade_label"] == "retinopatia não proliferativa moderada"
    assert english["predictions"][1]["refer"] is True
    assert english["predictions"][1]["grade"] is None


def test_a_file_of_any_name_can_be_printed(tmp_path: Path) -> None:
    odd = judged(file=tmp_path / "a\udcff\x1b[31m.jpg")
    assert "a\\xff\\x1b[31m.jpg" in printed(report(odd))
    assert "\x1b" not in predictions_csv(report(odd), language("en"))


def without_words(document: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in document.items() if name not in {"notes", "language"}}
    kept["predictions"] = [
        {name: value for name, value in entry.items() if not name.endswith("_label")}
        for entry in document["predictions"]
    ]
    return kept


def printed(shown: PredictionReport, tag: str = "en") -> str:
    """The table as one line of words, whatever its spaces."""
    console = Console(file=StringIO(), width=250)
    print_predictions(shown, console, language(tag))
    assert isinstance(console.file, StringIO)
    return " ".join(console.file.getvalue().split())


def report(*predictions: Prediction, task: str = "grade") -> PredictionReport:
    return PredictionReport(predictions, model(task), REQUEST.threshold)


def model(task: str = "grade") -> ModelFolder:
    return ModelFolder(Path("nowhere"), ModelDescription.model_validate(description(task, NETWORK)))


def judged(
    file: Path = Path("1.jpg"), grades: tuple[float, ...] = (0.1, 0.1, 0.6, 0.1, 0.1)
) -> Prediction:
    return Prediction(
        file,
        "R",
        Quality(Verdict.GOOD),
        refer=True,
        urgency=urgency_of(refer=True, grade_probabilities=grades),
        probability=0.8,
        grade_probabilities=grades,
    )


def ungradable() -> Prediction:
    quality = Quality(Verdict.BLURRED, "no detail")
    return Prediction(Path("2.jpg"), "", quality, refer=True, urgency=Urgency.UNGRADABLE)


def not_a_photograph(folder: Path) -> Path:
    path = folder / "notes.jpg"
    path.write_text("no photograph")
    return path
