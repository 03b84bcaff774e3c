"""A model is judged on photographs that it has not seen, and nothing is changed or hidden."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from prumo.errors import DataError, InputError
from prumo.progress import Silent
from prumo_retina.dataset.manifest import Entry
from prumo_retina.evaluation import Evaluation, Question, evaluate, material_of
from prumo_retina.evaluation.files import chosen_images, document, predictions
from prumo_retina.fundus.preparation import Verdict
from prumo_retina.model import ModelFolder, Seen, open_model, read_seen, write_seen
from prumo_retina.records import convert
from prumo_retina.records.split import Shares
from support.evaluated_models import cross_validated_model, data_folder, entry_of, sha256_of, split
from support.judged_cases import grade_cases
from support.retina_networks import SIZE

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo


@pytest.fixture
def model(tmp_path: Path) -> ModelFolder:
    return open_model(cross_validated_model(tmp_path / "model"))


def _evaluated(model: ModelFolder, data: Path | None = None, **options: object) -> Evaluation:
    return evaluate(Question(model, data, **options), Silent())  # type: ignore[arg-type]


class TestOutOfFold:
    def test_a_cross_validated_model_is_judged_without_any_data(self, model: ModelFolder) -> None:
        evaluation = _evaluated(model)

        assert evaluation.name == "out-of-fold"
        assert evaluation.judgement.photographs == 200
        assert {table.column for table in evaluation.judgement.groups} == {"camera", "fold"}
        assert 0.9 < evaluation.judgement.auc.value < 1

    def test_thresholds_come_from_the_other_folds(self, model: ModelFolder) -> None:
        evaluation = _evaluated(model)

        thresholds = set(evaluation.decisions.threshold["high_sensitivity"].tolist())
        assert len(thresholds) > 1
        assert model.description.points[0].threshold not in thresholds

    def test_the_data_that_it_was_validated_on_adds_what_could_not_be_judged(
        self, model: ModelFolder, tmp_path: Path
    ) -> None:
        blurred = Entry(
            input="b.tif",
            verdict=Verdict.BLURRED,
            output="images/b.jpg",
            sha256=sha256_of("b"),
            grade=3,
        )
        entries = [replace(entry_of(case), site="Porto Alegre") for case in grade_cases(200)]
        data = data_folder(tmp_path / "data", [*entries, blurred])

        evaluation = _evaluated(model, data)

        assert evaluation.is_out_of_fold
        assert evaluation.name == "data-out-of-fold"
        assert evaluation.judgement.photographs == 201
        assert evaluation.judgement.ungradable.value == 1 / 201
        assert evaluation.cases[0].site == "Porto Alegre"

    def test_photographs_are_known_under_any_name(self, model: ModelFolder, tmp_path: Path) -> None:
        entries = [entry_of(case) for case in grade_cases(200)]
        renamed = [
            replace(entry, output=f"images/P{place}.jpg") for place, entry in enumerate(entries)
        ]

        evaluation = _evaluated(model, data_folder(tmp_path / "data", renamed))

        assert evaluation.judgement.auc == _evaluated(model).judgement.auc

    def test_a_duplicate_is_judged_once(self, model: ModelFolder) -> None:
        seen = read_seen(model.path)
        write_seen(model.path, [*seen[:-1], replace(seen[-1], duplicate_of=seen[0].image)])

        assert _evaluated(model).judgement.photographs == 199

    def test_a_point_that_no_fold_can_choose_is_refused(self, model: ModelFolder) -> None:
        own = model.description.points[0].model_copy(update={"name": "mine"})
        description = model.description.model_copy(
            update={"points": (*model.description.points, own)}
        )

        with pytest.raises(InputError, match="'mine' of retina-made is none of high_sensitivity"):
            _evaluated(ModelFolder(model.path, description))

    def test_scores_that_are_not_all_there_are_refused(
        self, model: ModelFolder, tmp_path: Path
    ) -> None:
        data = data_folder(tmp_path / "data", [entry_of(case) for case in grade_cases(200)])
        scores = model.path / "scores-out-of-fold.csv"
        scores.write_text("".join(scores.read_text().splitlines(keepends=True)[:-1]))

        with pytest.raises(InputError, match="has no scores of eye-0199"):
            _evaluated(model, data)

    def test_a_model_that_was_not_cross_validated_needs_data(self, model: ModelFolder) -> None:
        (model.path / "scores-out-of-fold.csv").unlink()

        with pytest.raises(InputError, match="was not cross-validated, so it needs photographs"):
            _evaluated(model)

    @pytest.mark.parametrize(
        ("old", "new"),
        [("fold", "part"), ("eye-0007", "eye-none"), ("score3", "points"), ("score4", "scores")],
    )
    def test_scores_of_another_form_are_refused(
        self, model: ModelFolder, old: str, new: str
    ) -> None:
        scores = model.path / "scores-out-of-fold.csv"
        scores.write_text(scores.read_text().replace(old, new, 1))

        with pytest.raises((InputError, DataError)):
            _evaluated(model)


class TestMaterial:
    def test_data_prepared_otherwise_is_refused_with_the_way_to_mend_it(
        self, model: ModelFolder, tmp_path: Path
    ) -> None:
        data = data_folder(tmp_path / "data", [], size=299)

        with pytest.raises(DataError) as refused:
            _evaluated(model, data)

        assert str(refused.value) == (
            f"{data} was prepared with size 299 and not 224, so the model retina-made would see "
            "other pixels than it has learnt from; prepare the photographs again with "
            "`prumo retina prepare IN OUT --size 224 --method rim --enhance none`"
        )

    def test_a_subset_is_what_the_split_says(self, model: ModelFolder, tmp_path: Path) -> None:
        entries = [entry_of(case) for case in grade_cases(20)]
        subsets = {
            entry.image: "test" if place < 5 else "train" for place, entry in enumerate(entries)
        }
        data = split(data_folder(tmp_path / "data", entries), subsets)

        assert len(material_of(data, "test", model).gradable) == 5
        assert len(material_of(data, "all", model).gradable) == 20
        with pytest.raises(DataError, match="has no subset 'tets': did you mean 'test'"):
            material_of(data, "tets", model)

    def test_a_folder_that_was_not_split_is_judged_as_a_whole_or_not_at_all(
        self, model: ModelFolder, tmp_path: Path
    ) -> None:
        data = data_folder(tmp_path / "data", [entry_of(case) for case in grade_cases(4)])

        with pytest.raises(DataError, match="give --subset all"):
            material_of(data, "test", model)

    def test_a_subset_has_what_cannot_be_judged_as_the_conversion_split_it(
        self, model: ModelFolder, tmp_path: Path
    ) -> None:
        unreadable = Entry(
            input="bad.jpg", verdict=Verdict.UNREADABLE, sha256=sha256_of("bad"), grade=1
        )
        entries = [*map(entry_of, grade_cases(200, ungradable=60)), unreadable]
        data = data_folder(tmp_path / "data", entries)
        convert(data, Shares(), seed=1, shards=None, progress=Silent())

        parts = [material_of(data, subset, model) for subset in ("train", "validation", "test")]
        whole = material_of(data, "all", model)

        assert sum(len(part.gradable) for part in parts) == len(whole.gradable) == 140
        assert {entry.input for part in parts for entry in part.ungradable} == {
            entry.input for entry in whole.ungradable
        }
        assert sum(len(part.ungradable) for part in parts) == len(whole.ungradable) == 61
        assert 9 <= len(parts[2].ungradable) <= 28
        assert parts[2].left_out == {}

    def test_what_came_after_the_split_is_counted_as_left_out(
        self, model: ModelFolder, tmp_path: Path
    ) -> None:
        entries = [entry_of(case) for case in grade_cases(20, ungradable=2)]
        data = split(data_folder(tmp_path / "data", entries), {"eye-0005": "test"})

        found = material_of(data, "test", model)

        assert [entry.image for entry in found.gradable] == ["eye-0005"]
        assert found.left_out == {"in no subset": 19}

    def test_a_duplicate_counts_when_the_first_has_no_grade(
        self, model: ModelFolder, tmp_path: Path
    ) -> None:
        first, second, third = (entry_of(case) for case in grade_cases(3))
        again = [replace(entry, duplicate_of=first.image, grade=2) for entry in (second, third)]
        blurred = replace(again[1], verdict=Verdict.BLURRED)
        data = data_folder(tmp_path / "data", [replace(first, grade=None), again[0], blurred])

        found = material_of(data, "all", model)

        assert [entry.image for entry in found.gradable] == [second.image]
        assert found.ungradable == ()
        assert found.left_out == {"no grade": 1, "duplicates of others": 1}

    def test_what_is_left_out_is_counted(self, model: ModelFolder, tmp_path: Path) -> None:
        first, second, third, fourth = (entry_of(case) for case in grade_cases(4))
        label = Entry(input="gone.jpg", verdict=Verdict.UNREADABLE, reason="no such file", grade=2)
        entries = [
            first,
            replace(second, grade=first.grade, duplicate_of=first.image),
            replace(third, grade=None),
            replace(fourth, verdict=Verdict.NO_FUNDUS, output=""),
            label,
        ]
        found = material_of(data_folder(tmp_path / "data", entries), "all", model)

        assert found.gradable == (first,)
        assert [entry.input for entry in found.ungradable] == [fourth.input]
        assert found.left_out == {"no photograph": 1, "no grade": 1, "duplicates of others": 1}

    def test_a_photograph_that_is_gone_is_named(self, model: ModelFolder, tmp_path: Path) -> None:
        entries = [entry_of(case) for case in grade_cases(3)]
        data = data_folder(tmp_path / "data", entries)
        (data / entries[1].output).unlink()

        with pytest.raises(DataError, match=r"eye-0001.jpg is missing: call"):
            material_of(data, "all", model)


def test_photographs_that_trained_the_model_are_refused(model: ModelFolder, tmp_path: Path) -> None:
    (model.path / "scores-out-of-fold.csv").unlink()
    entries = [entry_of(case) for case in grade_cases(210)][190:]
    data = data_folder(tmp_path / "data", entries)

    with pytest.raises(DataError, match=r"10 of the 20 photographs .* have trained the model"):
        _evaluated(model, data, subset="all")


def test_a_model_that_does_not_tell_what_it_has_seen_is_refused(
    model: ModelFolder, tmp_path: Path
) -> None:
    (model.path / "scores-out-of-fold.csv").unlink()
    (model.path / "photographs.csv").unlink()
    data = data_folder(tmp_path / "data", [entry_of(case) for case in grade_cases(3)])

    with pytest.raises(InputError, match="nobody can tell which photographs the model has seen"):
        _evaluated(model, data, subset="all")


def test_the_document_is_plain_json_with_every_figure(model: ModelFolder) -> None:
    evaluation = _evaluated(model)

    told = json.loads(json.dumps(document(evaluation), allow_nan=False))

    judgement = told["judgement"]
    assert judgement["auc"]["value"] == evaluation.judgement.auc.value
    assert judgement["auc"]["low"] < judgement["auc"]["value"] < judgement["auc"]["high"]
    assert judgement["points"][0]["point"]["name"] == "high_sensitivity"
    assert judgement["roc"]["threshold"][0] is None
    assert sum(map(sum, judgement["grades"]["confusion"])) == 200
    assert told["data"] == {
        "folder": None,
        "subset": None,
        "out_of_fold": True,
        "left_out": {},
        "seen": 0,
    }


def test_predictions_have_a_row_for_every_photograph(model: ModelFolder, tmp_path: Path) -> None:
    blurred = Entry(
        input="b.tif",
        verdict=Verdict.BLURRED,
        output="images/b.jpg",
        sha256=sha256_of("b"),
        grade=0,
    )
    entries = [*map(entry_of, grade_cases(200)), blurred]
    evaluation = _evaluated(model, data_folder(tmp_path / "data", entries))

    rows = list(csv.DictReader(predictions(evaluation).splitlines()))

    assert len(rows) == 201
    assert rows[-1] == {
        "image": "b",
        "grade": "0",
        "gradable": "no",
        "fold": "",
        "probability": "",
        "told_grade": "",
        "refer_high_sensitivity": "yes",
        "refer_balanced": "yes",
        "refer_high_specificity": "yes",
    }
    referred = [row["refer_balanced"] == "yes" for row in rows[:-1]]
    assert referred == evaluation.decisions.referred("balanced").tolist()


def test_heat_maps_are_of_the_most_wrong_or_of_those_that_are_named(
    model: ModelFolder, tmp_path: Path
) -> None:
    data = data_folder(tmp_path / "data", [entry_of(case) for case in grade_cases(200)])
    evaluation = _evaluated(model, data)

    worst = chosen_images(evaluation, "3")
    truths = {case.image: case.is_referable for case in evaluation.cases}
    answers = dict(zip(truths, evaluation.decisions.probability.tolist(), strict=True))
    wrong = {image: abs(answers[image] - truths[image]) for image in truths}
    assert worst == sorted(wrong, key=lambda image: -wrong[image])[:3]
    assert chosen_images(evaluation, "eye-0003, eye-0001") == ["eye-0003", "eye-0001"]


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ("eye-0001,eye-00003", "no gradable photograph 'eye-00003' is judged: did you mean 'eye-"),
        ("nonesuch", "'nonesuch' is judged; they are called such as 'eye-0000'$"),
    ],
)
def test_a_heat_map_of_no_photograph_is_refused_before_the_network_is_asked(
    model: ModelFolder, tmp_path: Path, wish: str, reason: str
) -> None:
    # The network is none, so asking it would fail with other words.
    (model.path / "scores-out-of-fold.csv").unlink()
    write_seen(model.path, [])
    data = data_folder(tmp_path / "data", [entry_of(case) for case in grade_cases(40)])

    with pytest.raises(InputError, match=reason):
        _evaluated(model, data, subset="all", heat_maps=wish)


def test_heat_maps_need_the_photographs(model: ModelFolder) -> None:
    with pytest.raises(InputError, match="heat maps need the photographs"):
        _evaluated(model, heat_maps="2")


def test_the_command_writes_everything_and_prints_the_main_figures(
    model: ModelFolder, prumo_here: Prumo
) -> None:
    ended = prumo_here("retina", "evaluate", model.path)

    folder = model.path / "evaluation" / "out-of-fold"
    assert ended.returncode == 0
    assert "area under the ROC curve" in ended.stdout
    assert "Photographs that cannot be judged are not part of these figures" in ended.stdout
    assert str(folder / "card.html") in ended.stdout
    assert {path.name for path in folder.iterdir()} == {
        "evaluation.json",
        "predictions.csv",
        "card.md",
        "card.html",
        "roc.svg",
        "reliability.svg",
        "confusion.svg",
    }


@pytest.mark.parametrize("name", ["../other", "a/b", ".hidden"])
def test_a_name_stays_inside_the_folder(model: ModelFolder, name: str) -> None:
    with pytest.raises(InputError, match="names no folder"):
        _evaluated(model, name=name)


def test_the_command_refuses_in_words(model: ModelFolder, prumo_here: Prumo) -> None:
    ended = prumo_here("retina", "evaluate", model.path, "nowhere")

    assert ended.returncode == 2
    assert "nowhere has no preparation.json" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.frameworks
def test_a_real_network_is_judged_on_a_test_subset_with_heat_maps(
    brightness_models: Path, tmp_path: Path, prumo_here: Prumo
) -> None:
    model = shutil.copytree(brightness_models / "referral", tmp_path / "model")
    cases = grade_cases(40, ungradable=4)
    write_seen(model, [Seen(case.image, "train", sha256_of(case.image)) for case in cases[:14]])
    entries = [entry_of(case) for case in cases]
    subsets = {
        case.image: "train" if place < 14 else "test" for place, case in enumerate(cases[4:])
    }
    split(data_folder(tmp_path / "data", entries, SIZE), subsets)

    ended = prumo_here(
        "retina", "evaluate", "model", "data", "--heat-maps", "2", "--lang", "pt-BR", "--json"
    )

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    # Brightness grows with the grade and the network's score with brightness.
    assert told["judgement"]["auc"]["value"] == 1.0
    assert told["judgement"]["grades"] is None
    assert told["name"] == "data-test"
    folder = model / "evaluation" / "data-test"
    assert len(list((folder / "heat-maps").glob("*.png"))) == 2
    page = (folder / "card.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert "Mapas de calor" in page
