"""Variants side by side: what is measured, how answers are judged, and what is said of it."""

from __future__ import annotations

import json
import os
import signal
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from prumo.errors import InputError
from prumo.progress import Silent
from prumo_retina.fundus.preparation import Verdict
from prumo_serve.choices import Pace
from prumo_serve.commands.model.variants import compare_command
from prumo_serve.compare.comparison import Pairing, Variant, compare, paired
from prumo_serve.compare.quality import ImageRequest, Judged, Truth, quality
from prumo_serve.compare.report import comparison_document, sentences
from prumo_serve.compare.timing import Subject, SubjectError
from prumo_serve.estimates import rate
from prumo_serve.manifest import SEEN_FILE
from prumo_serve.package import open_package, write_package
from prumo_serve.task import JUDGED, task_named
from support.model_packages import ColourNetwork, write_colour_package
from support.prepared_photographs import entry, graded, prepared_folder

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.compare.comparison import Comparison, Row
    from prumo_serve.manifest import Manifest

QUICK = Pace(rounds=3, starts=1, threads=1, callers=2)
COLOURS = {"red": (250, 20, 20), "green": (20, 250, 20), "blue": (20, 20, 250)}


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """One that knows colours beside one that takes green and blue for red when they are dim."""
    folder = tmp_path_factory.mktemp("colours")
    write_colour_package(folder / "sure.tar.gz")
    write_colour_package(folder / "wrong.tgz", network=ColourNetwork(sharpness=-8))
    images = coloured_folder(folder / "images")
    (images / "red" / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (images / "loose.png").write_bytes((images / "red" / "0.png").read_bytes())
    paths = [folder / "sure.tar.gz", folder / "wrong.tgz"]
    return compare(paths, QUICK, ImageRequest(images), Silent())


def coloured_folder(folder: Path) -> Path:
    """Four images of each colour, in folders that are named after it."""
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True)
        for number in range(4):
            shade = tuple(max(0, value - 10 * number) for value in colour)
            Image.new("RGB", (40, 40), shade).save(folder / name / f"{number}.png")
    return folder


def test_every_variant_is_measured_in_its_own_process(colours: Comparison) -> None:
    for row in colours.rows:
        timing = row.timing
        assert len(timing.round_medians) == QUICK.rounds
        assert 0 < timing.latency.mean < timing.start.mean
        assert timing.median <= timing.p95
        assert timing.images_per_second.mean > 0
        assert timing.peak_bytes >= timing.resident_bytes > 10 * 2**20
        assert 0 < row.network_bytes < 10_000


def test_labels_come_from_the_names_of_folders(colours: Comparison) -> None:
    material = colours.material

    assert material is not None
    assert material.images == 12
    assert material.left_out == {"without a label": 1, "unreadable": 1}
    assert [row.quality.accuracy.value for row in colours.rows if row.quality] == [1.0, 0.0]


def test_others_are_paired_with_the_first_one(colours: Comparison) -> None:
    first, other = colours.rows

    assert first.pairing is None
    assert other.pairing is not None
    assert (other.pairing.only_first_right, other.pairing.only_other_right) == (12, 0)
    assert other.pairing.p_value == pytest.approx(2 * 0.5**12)
    assert other.pairing.same_label.value == 0
    assert any("sure is right more often: 0 images only" in text for text in sentences(colours))


def test_the_document_is_whole_json(colours: Comparison) -> None:
    document = json.loads(json.dumps(comparison_document(colours), allow_nan=False))

    assert [row["name"] for row in document["variants"]] == ["sure", "wrong"]
    assert document["variants"][0]["speed_up"] is None
    assert document["variants"][1]["speed_up"]["value"] > 0
    assert document["variants"][1]["quality"]["accuracy"]["n"] == 12
    assert document["sentences"] == sentences(colours)


def test_a_retina_model_is_judged_on_prepared_photographs(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "retina", "referral")
    blurred = entry(90, 3, verdict=Verdict.BLURRED, sha256="5" * 64)
    ungraded = entry(91, None)
    folder = prepared_folder(tmp_path / "data", [*graded(6, 2, 4), blurred, ungraded])

    words = [str(tmp_path / "retina"), "--images", str(folder), "--rounds=1", "--starts=1"]
    result = CliRunner().invoke(compare_command, [*words, "--json"])

    document = json.loads(result.stdout)
    quality_of = document["variants"][0]["quality"]
    assert document["images"]["images"] == 12
    assert document["images"]["ungradable"] == 1
    assert document["images"]["left_out"] == {"no grade": 1}
    assert quality_of["sensitivity"]["n"] == 4
    assert quality_of["specificity"]["n"] == 8
    assert quality_of["auc"]["value"] is not None
    assert document["sentences"] == []


def test_figures_are_those_of_the_answers(tmp_path: Path) -> None:
    manifest = write_colour_package(tmp_path / "retina", "grade")
    told, true = [0, 0, 1, 2, 3, 4, 2, 0], [0, 0, 1, 2, 3, 4, 0, 4]

    found = quality(_judged(manifest, told, true))

    assert found.accuracy.value == 6 / 8
    assert found.sensitivity is not None
    assert (found.sensitivity.value, found.sensitivity.n) == (3 / 4, 4)
    assert found.specificity is not None
    assert found.specificity.value == 3 / 4
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(1 - 2.5 / 4.75)


def test_a_set_of_one_class_has_no_auc(tmp_path: Path) -> None:
    manifest = write_colour_package(tmp_path / "retina", "grade")

    found = quality(_judged(manifest, [0, 2], [0, 1]))

    assert found.auc is None
    assert found.sensitivity is None
    assert found.specificity is not None


def test_whether_one_is_right_more_often_is_tested_exactly(tmp_path: Path) -> None:
    manifest = write_colour_package(tmp_path / "retina", "grade")
    true = [0] * 12 + [1] * 20
    first = [0] * 10 + [1] * 2 + [1] * 20
    other = [1] * 10 + [0] * 2 + [1] * 20

    pairing = paired(_judged(manifest, first, true), _judged(manifest, other, true))

    assert (pairing.only_first_right, pairing.only_other_right) == (10, 2)
    assert pairing.p_value == pytest.approx(0.0386, abs=1e-4)
    assert pairing.same_label.value == 20 / 32
    assert pairing.same_decision is not None
    assert pairing.same_decision.value == 1


def test_what_the_data_do_not_show_is_not_said(colours: Comparison) -> None:
    first, other = colours.rows
    alike = Pairing(rate([True] * 11 + [False]), "", None, 0.02, 1, 0, 1.0)
    same_speed = replace(other, timing=first.timing, pairing=alike)

    told = sentences(replace(colours, rows=(first, same_speed)))

    assert told[0].startswith("No difference in speed between wrong and sure is shown")
    assert told[1].startswith("wrong gives another label than sure to 1 of 12 images")
    assert told[2].startswith("That wrong or sure is right more often is not shown: 0 images")


def test_a_clear_difference_in_speed_is_told_with_its_interval(colours: Comparison) -> None:
    first, other = colours.rows
    doubled = tuple(2 * seconds for seconds in first.timing.round_medians)
    slow = replace(other, timing=replace(first.timing, round_medians=doubled))

    assert sentences(replace(colours, rows=(first, slow)))[0] == (
        "wrong is 2.00 times slower than sure (95 % interval 2.00 to 2.00; p < 0.001)."
    )


def test_interval_and_verdict_of_speed_never_contradict_each_other(colours: Comparison) -> None:
    first, other = colours.rows
    rounds = (1.0, 1.0, 1.0, 1.0)
    steady = replace(first, timing=replace(first.timing, round_medians=rounds))
    near = replace(other, timing=replace(first.timing, round_medians=(1.05, 1.2, 1.1, 1.25)))

    alone = replace(colours, rows=(steady, near))
    among = replace(colours, rows=(steady, near, near, near))

    assert "wrong is 1.15 times slower" in sentences(alone)[0]
    assert sentences(among)[0].startswith("No difference in speed")
    ratio = among.speed_up(near)
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 1 < ratio.high
    assert (ratio.p_value or 0) > 0.05


def test_photographs_that_a_model_has_learnt_from_are_told(tmp_path: Path) -> None:
    seen = [number for number in range(12) if number % 3]
    for name in ("retina", "other"):
        _with_seen(tmp_path / name, [f"{number:064x}" for number in seen])
    entries = [replace(one, sha256=f"{number:064x}") for number, one in enumerate(graded(6, 2, 4))]
    folder = prepared_folder(tmp_path / "data", entries)

    paths = [tmp_path / "retina", tmp_path / "other"]
    comparison = compare(paths, replace(QUICK, rounds=1), ImageRequest(folder), Silent())

    assert [row.seen for row in comparison.rows] == [8, 8]
    assert sentences(comparison)[0].startswith(
        "retina and other learnt from 8 of the 12 judged photographs: the figures of accuracy are "
        "better than they would be on new photographs"
    )
    assert comparison_document(comparison)["variants"][1]["seen_images"] == 8


def test_plain_photographs_are_known_by_their_own_hash(tmp_path: Path) -> None:
    images = coloured_folder(tmp_path / "images")
    red = sorted((images / "red").iterdir())
    _with_seen(
        tmp_path / "colours",
        [sha256(path.read_bytes()).hexdigest() for path in red],
        "classification",
    )

    pace = replace(QUICK, rounds=1)
    comparison = compare([tmp_path / "colours"], pace, ImageRequest(images), Silent())

    assert comparison.first.seen == 4


def test_one_round_tells_no_difference_in_speed(colours: Comparison) -> None:
    rows = tuple(_with_rounds(row, 1) for row in colours.rows)

    told = sentences(replace(colours, rows=rows))

    assert told[0] == "One round does not tell whether wrong is faster than sure."


def test_a_process_that_dies_while_it_is_measured_is_an_error(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "colours")
    with open_package(tmp_path / "colours") as package:
        variant = Variant("colours", tmp_path / "colours", package)
        with closing(Subject(variant, threads=1, callers=1)) as subject:
            os.kill(subject.pid, signal.SIGKILL)

            with pytest.raises(SubjectError, match="out of memory"):
                subject.latencies(1)


def test_a_network_that_cannot_be_loaded_is_an_error(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "colours")
    with open_package(tmp_path / "colours") as package:
        package.network_path.write_bytes(b"no network")
        variant = Variant("colours", tmp_path / "colours", package)

        with pytest.raises(SubjectError, match="colours"):
            Subject(variant, threads=1, callers=1)


def test_models_of_other_questions_are_not_judged_together(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "colours")
    write_colour_package(tmp_path / "retina", "referral")
    images = ImageRequest(coloured_folder(tmp_path / "images"))

    with pytest.raises(InputError, match="answers another question"):
        compare([tmp_path / "colours", tmp_path / "retina"], QUICK, images, Silent())


def test_a_model_given_twice_is_refused(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "colours")
    again = tmp_path / "." / "colours"

    with pytest.raises(InputError, match="given twice"):
        compare([tmp_path / "colours", again], QUICK, None, Silent())


def test_labels_without_images_are_a_usage_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(compare_command, [str(tmp_path), "--labels", "labels.csv"])

    assert result.exit_code == 2
    assert "give --images" in result.output


def _with_rounds(row: Row, count: int) -> Row:
    return replace(row, timing=replace(row.timing, round_medians=row.timing.round_medians[:count]))


def _with_seen(path: Path, hashes: list[str], task: str = "referral") -> None:
    """A package that lists the photographs which its model was made from."""
    manifest = write_colour_package(path, task)
    (path / SEEN_FILE).write_text("".join(f"{one}\n" for one in hashes))
    write_package(path, manifest, path)


def _judged(manifest: Manifest, told: list[int], true: list[int]) -> Judged:
    task = task_named(manifest.task)
    scores = 9 * np.eye(len(manifest.labels), dtype=np.float32)
    answers = [task.answer(manifest, scores[place], JUDGED) for place in told]
    return task.judged(answers, [Truth(place) for place in true])
