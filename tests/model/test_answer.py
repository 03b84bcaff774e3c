"""What a row of scores means, and how it is told."""

from __future__ import annotations

import base64
import io
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from prumo.message import Message
from prumo.report.language import language
from prumo_retina.fundus.preparation import Quality, Verdict
from prumo_retina.grade import Grade, Urgency
from prumo_retina.scoring import grade_probabilities, referral_probability
from prumo_retina.task import GRADE, RetinaAnswer
from prumo_serve.classification import ScoresError, probabilities_of
from prumo_serve.heat_map import heat_map_url
from prumo_serve.manifest import (
    ImagePreprocessing,
    Input,
    Manifest,
    NetworkFile,
    OperatingPoint,
    Origin,
    Output,
)
from prumo_serve.task import PreparedImage, task_named

GOOD = PreparedImage(np.zeros(1), None, 400, 300, Quality(Verdict.GOOD))
DARK = PreparedImage(None, None, 400, 300, Quality(Verdict.TOO_DARK, Message("its middle is dark")))
PLAIN = PreparedImage(np.zeros(1), None, 400, 300)
POINTS = (
    OperatingPoint(name="high_sensitivity", threshold=0.3),
    OperatingPoint(name="balanced", threshold=0.6),
)
SCORES = st.lists(st.floats(-80, 80, width=32), min_size=5, max_size=5)


def test_a_classification_is_the_most_probable_label() -> None:
    cats = model("classification", ("cat", "dog", "owl"))
    told = task_named("classification").answer(cats, scores(0, 3, 1), PLAIN)
    assert told.label == "dog"
    assert told.probability == pytest.approx(math.exp(3) / (1 + math.exp(3) + math.exp(1)))
    assert not isinstance(told, RetinaAnswer)


@given(SCORES, st.floats(0.3, 4))
def test_grades_and_referral_are_those_of_a_retina_prediction(
    values: list[float], temperature: float
) -> None:
    row = np.array([values], np.float32)
    told = answer(grades(temperature=temperature), row[0], GOOD)
    assert told.probabilities == pytest.approx(grade_probabilities(row, temperature)[0])
    wanted = referral_probability(row, "grade", temperature)[0]
    assert told.referral.probability == pytest.approx(wanted)


@given(st.floats(-1000, 1000, width=32))
def test_a_single_score_is_the_probability_of_yes(score: float) -> None:
    row = np.array([score], np.float32)
    no, yes = probabilities_of(row, output(activation="sigmoid"), 2)
    assert yes == pytest.approx(referral_probability(row[None], "referral")[0])
    assert no + yes == pytest.approx(1)


@pytest.mark.parametrize(
    ("point", "refer", "label"),
    [("high_sensitivity", True, "refer"), ("balanced", False, "no referral")],
)
def test_the_chosen_point_decides_and_the_label_says_so(
    point: str, refer: bool, label: str
) -> None:
    told = answer(referrals(points=POINTS, point=point), scores(0.0), GOOD)
    assert (told.referral.refer, told.label, told.referral.point) == (refer, label, point)
    assert told.probability == 0.5
    assert told.referral.grade is None


def test_without_points_what_is_more_probable_than_not_is_referred() -> None:
    told = answer(referrals(), scores(0.0), GOOD)
    assert (told.referral.refer, told.referral.threshold, told.referral.point) == (True, 0.5, "")


def test_a_grade_does_not_decide_on_the_referral() -> None:
    told = answer(grades(points=POINTS, point="high_sensitivity"), scores(1, 0, 0, 0, 0), GOOD)
    assert told.referral.grade is Grade.NONE
    assert told.referral.refer


def test_severe_retinopathy_is_urgent() -> None:
    told = answer(grades(), scores(0, 0, 0, 4, 0), GOOD)
    assert told.referral.urgency is Urgency.URGENT
    assert told.referral.threat_probability == pytest.approx(sum(told.probabilities[3:]))


def test_what_cannot_be_judged_is_referred() -> None:
    document = told_in("en", answer(referrals(points=POINTS, point="balanced"), None, DARK))
    assert document["label"] is None
    assert document["probability"] is None
    assert document["probabilities"] == {}
    assert (document["refer"], document["urgency"]) == (True, "ungradable")
    assert document["quality"] == {
        "verdict": "too_dark",
        "verdict_text": "too dark",
        "reason": "its middle is dark",
    }


def test_words_for_people_are_told_in_portuguese_and_those_for_programs_stay() -> None:
    document = told_in("pt-BR", answer(grades(), scores(0, 0, 0, 4, 0), GOOD))
    assert document["label"] == "severe non-proliferative retinopathy"
    assert document["label_text"] == "retinopatia não proliferativa grave"
    assert document["urgency"] == "urgent"
    assert document["urgency_text"] == "urgente: grave ou proliferativa"
    assert document["quality"]["verdict"] == "good"
    assert document["quality"]["verdict_text"] == "boa"


def test_a_document_is_json_and_names_every_probability() -> None:
    document = told_in("en", answer(grades(), scores(0, 0, 0, 0, 0), GOOD))
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document["probabilities"]) == [grade.title for grade in Grade]
    assert document["grade"] == 0


def test_probabilities_of_a_network_stay_as_they_are() -> None:
    told = answer(grades(kind="probabilities"), scores(0.1, 0.2, 0.4, 0.2, 0.1), GOOD)
    assert told.probabilities == pytest.approx((0.1, 0.2, 0.4, 0.2, 0.1))


def test_probabilities_that_were_rounded_stay_between_0_and_1() -> None:
    told = answer(grades(kind="probabilities"), scores(1.0005, -0.0005, 0, 0, 0), GOOD)
    assert told.probabilities == (1, 0, 0, 0, 0)


def test_a_temperature_of_almost_nothing_is_an_error_and_no_answer() -> None:
    with pytest.raises(ScoresError, match="not a number"):
        answer(grades(temperature=1e-320), scores(1, 2, 3, 4, 5), GOOD)


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        ([math.nan, 0, 0, 0, 0], "scores", "not a number"),
        ([math.inf, 0, 0, 0, 0], "scores", "not a number"),
        ([0.0, 1.0], "scores", "2 numbers for 5 labels"),
        ([0.0], "scores", "softmax always makes 1"),
        ([1.0], "probabilities", "softmax always makes 1"),
        ([7.0, -3, 0, 0, 0], "probabilities", "they are scores"),
    ],
)
def test_a_network_that_breaks_its_manifest_is_an_error(
    values: list[float], kind: str, reason: str
) -> None:
    with pytest.raises(ScoresError, match=reason):
        answer(grades(kind=kind), scores(*values), GOOD)


def test_a_heat_map_stands_beside_its_photograph() -> None:
    picture = np.full((40, 40, 3), 100, np.uint8)
    url = heat_map_url(picture, np.eye(4, dtype=np.float32))
    head, _, content = url.partition(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as shown:
        assert shown.size == (80, 40)
        assert np.array_equal(np.array(shown)[:, :40], picture)


def model(task: Any, labels: tuple[str, ...], **facts: Any) -> Manifest:
    given = {name: facts.pop(name) for name in list(facts) if name in Output.model_fields}
    return Manifest(
        name="m",
        task=task,
        labels=labels,
        input=Input(tensor="x", height=32, width=32, preprocessing=ImagePreprocessing()),
        output=output(**given),
        network=NetworkFile(file="network.onnx", runtime="onnxruntime"),
        origin=Origin(format="onnx", name="m.onnx", sha256="0" * 64),
        **facts,
    )


def grades(**facts: Any) -> Manifest:
    return model("grade", tuple(grade.title for grade in Grade), **facts)


def referrals(**facts: Any) -> Manifest:
    return model("referral", ("no referral", "refer"), activation="sigmoid", **facts)


def output(**facts: Any) -> Output:
    return Output(**{"tensor": "y", "kind": "scores", **facts})


def scores(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def answer(manifest: Manifest, row: np.ndarray | None, image: PreparedImage) -> RetinaAnswer:
    found = task_named(manifest.task).answer(manifest, row, image)
    assert isinstance(found, RetinaAnswer)
    return found


def told_in(tag: str, given: RetinaAnswer) -> dict[str, Any]:
    document = GRADE.document(given, language(tag))
    GRADE.answer_model.model_validate(document)
    return document
