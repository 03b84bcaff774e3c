"""What follows from the epochs of a training, and what scores are worth. No framework needed."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from prumo_retina.grade import GRADE_COUNT, REFERABLE_FROM
from prumo_retina.scoring import referral_probability
from prumo_worker.retina import recipe
from prumo_worker.retina.course import Course, figures, quadratic_kappa, referral_odds
from prumo_worker.retina.recipe import read_retina_recipe
from prumo_worker.task import TaskError

PARAMETERS = {
    "network": "mobilenet",
    "task": "grade",
    "head": "128+128",
    "image_size": 64,
    "batch_size": 8,
    "epochs": 2,
}


def _advanced(losses: list[float], reduce_epochs: int = 0) -> Course:
    course = Course(0.1)
    for loss in losses:
        course.advance({"seconds": 2.0, "loss": loss}, loss, loss)
        course.reduce_rate(reduce_epochs)
    return course


def test_the_best_epoch_is_the_one_with_the_least_judged_loss() -> None:
    course = _advanced([3.0, 1.0, 2.0])
    assert (course.best_epoch, course.best_loss, course.epoch) == (2, 1.0, 3)


def test_without_judged_photographs_the_last_epoch_is_the_best() -> None:
    course = Course(0.1)
    for loss in (1.0, 2.0):
        assert course.advance({"seconds": 1.0}, None, loss)
    assert course.best_epoch == 2


def test_a_loss_that_is_not_a_number_is_never_the_best_again() -> None:
    course = _advanced([float("nan"), 2.0, float("nan")])
    assert course.best_epoch == 2


def test_a_training_stops_when_patience_ends_and_not_before() -> None:
    course = _advanced([2.0, 1.0, 1.5, 1.5])
    assert not course.is_over(epochs=10, patience=3)
    assert course.is_over(epochs=10, patience=2)
    assert not course.is_over(epochs=10, patience=0)
    assert course.is_over(epochs=4, patience=0)


def test_the_learning_rate_is_halved_on_every_plateau_down_to_a_thousandth() -> None:
    assert _advanced([2.0, 1.0, 1.0, 1.0], reduce_epochs=2).learning_rate == pytest.approx(0.05)
    assert _advanced([2.0, 1.0, 1.0, 0.5], reduce_epochs=2).learning_rate == pytest.approx(0.1)
    assert _advanced([1.0] * 50, reduce_epochs=1).learning_rate == pytest.approx(1e-4)
    assert _advanced([1.0] * 50).learning_rate == 0.1


def test_a_course_comes_back_from_json_as_it_was() -> None:
    course = _advanced([2.0, 1.0, 1.0], reduce_epochs=1)
    assert Course(**asdict(course)) == course


def test_worker_and_controller_know_the_same_scale() -> None:
    assert recipe.GRADE_COUNT == GRADE_COUNT
    assert recipe.REFERABLE_FROM == REFERABLE_FROM


def test_the_area_counts_pairs_in_the_right_order_and_ties_half() -> None:
    scores = np.array([[-1.0], [0.0], [0.0], [2.0]])
    found = figures(scores, np.array([0, 1, 2, 4]))
    assert found["auc"] == pytest.approx(3.5 / 4)
    assert (found["sensitivity"], found["specificity"]) == (1.0, 0.5)
    assert found["accuracy"] == 0.75
    assert "kappa" not in found


def test_figures_of_grades_agree_with_the_probabilities_of_the_controller() -> None:
    generator = np.random.default_rng(3)
    scores = generator.normal(size=(40, 5)) * 3
    grades = generator.integers(0, 5, 40)
    probability = referral_probability(scores, "grade")
    odds = referral_odds(scores)
    assert odds == pytest.approx(np.log(probability / (1 - probability)))
    found = figures(scores, grades)
    assert found["accuracy"] == (scores.argmax(axis=1) == grades).mean()
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found["loss"] == pytest.approx(-np.log(shares[np.arange(40), grades]).mean())


def test_one_class_alone_has_no_area() -> None:
    assert "auc" not in figures(np.zeros((3, 1)), np.array([2, 3, 4]))


def test_kappa_is_one_for_right_answers_and_zero_for_one_answer() -> None:
    grades = np.array([0, 1, 2, 3, 4])
    assert quadratic_kappa(grades, grades, 5) == 1.0
    assert quadratic_kappa(np.full(5, 2), grades, 5) == pytest.approx(0.0)
    assert quadratic_kappa(np.full(5, 2), np.full(5, 2), 5) == 0.0
    assert quadratic_kappa(4 - grades, grades, 5) == pytest.approx(-1.0)


def test_rate_and_decay_suit_what_is_trained_unless_they_are_given() -> None:
    linear = {**PARAMETERS, "head": "linear"}
    scratch = read_retina_recipe(linear, pretrained=False)
    tuned = read_retina_recipe(linear, pretrained=True)
    frozen = read_retina_recipe({**linear, "frozen": True}, pretrained=True)
    given = read_retina_recipe(
        {**linear, "frozen": True, "learning_rate": 0.5, "weight_decay": 2.0}, pretrained=True
    )
    assert [one.learning_rate for one in (scratch, tuned, frozen)] == [1e-3, 1e-4, 1e-3]
    assert [one.weight_decay for one in (scratch, tuned, frozen)] == [0, 0, 100]
    assert (given.learning_rate, given.weight_decay) == (0.5, 2.0)


def test_a_head_is_linear_or_has_widths() -> None:
    assert read_retina_recipe(PARAMETERS, pretrained=False).widths == (128, 128)
    assert read_retina_recipe({**PARAMETERS, "head": "linear"}, pretrained=False).widths == ()
    with pytest.raises(TaskError, match="head: '128x' is neither linear nor widths"):
        _ = read_retina_recipe({**PARAMETERS, "head": "128x"}, pretrained=False).widths


@pytest.mark.parametrize("change", [{"task": "edema"}, {"strategy": "both"}, {"epochs": 0}])
def test_wrong_parameters_are_named(change: dict[str, object]) -> None:
    with pytest.raises(TaskError, match=next(iter(change))):
        read_retina_recipe({**PARAMETERS, **change}, pretrained=False)
