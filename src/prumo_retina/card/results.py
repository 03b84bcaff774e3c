"""How good a model is: the main figures, its operating points, grades and calibration."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.quantity import MISSING
from prumo_retina.card.figures import confusion_figure, reliability_figure, roc_figure
from prumo_retina.card.layout import (
    Paragraph,
    Section,
    Table,
    formatted_estimate,
    formatted_interval,
    formatted_value,
)
from prumo_retina.card.photographs import cautions
from prumo_retina.grade import Grade, point_label

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo_retina.evaluation import Evaluation
    from prumo_retina.judge import Judgement
    from prumo_retina.judge.measures import PointRates


def main_figures(evaluation: Evaluation, language: Language) -> Table:
    """The few figures that a reader wants first."""
    judgement, rates = evaluation.judgement, default_rates(evaluation)
    # Scores alone do not show which photographs were never scored.
    knows_ungradable = evaluation.material is not None
    rows = {
        language.say("area under the ROC curve, referable or not"): judgement.auc,
        language.say("sensitivity"): rates.gradable.sensitivity,
        language.say("specificity"): rates.gradable.specificity,
    }
    if knows_ungradable:
        rows[language.say("sensitivity, ungradable referred")] = rates.all.sensitivity
        rows[language.say("specificity, ungradable referred")] = rates.all.specificity
    rows[language.say("right among the referred")] = rates.gradable.right_referrals
    rows[language.say("right among the not referred")] = rates.gradable.right_dismissals
    if judgement.grades is not None:
        rows[language.say("quadratic weighted kappa of the grades")] = judgement.grades.kappa
        rows[language.say("grades exactly right")] = judgement.grades.accuracy
    if knows_ungradable:
        rows[language.say("ungradable photographs")] = judgement.ungradable
    return Table(
        language.each("figure", "value", "95 % interval", "photographs"),
        tuple(
            (
                title,
                formatted_value(estimate, language),
                formatted_interval(estimate, language),
                language.formatted(estimate.n, ",d"),
            )
            for title, estimate in rows.items()
        ),
    )


def default_rates(evaluation: Evaluation) -> PointRates:
    """Those of the point that decides on a referral."""
    wanted = evaluation.model.description.point
    points = evaluation.judgement.points
    return next((rates for rates in points if rates.point.name == wanted), points[0])


def results(evaluation: Evaluation, language: Language) -> Section:
    """The main figures, and what they were found on."""
    blocks: list[Paragraph | Table] = [
        Paragraph(language.say(warning), is_warning=True) for warning in cautions(evaluation)
    ]
    point = point_label(default_rates(evaluation).point.name, language)
    explained = Message(
        "Sensitivity and specificity are at the operating point “{point}”, which decides when none "
        "is asked for. How often a referral and its absence are right (predictive values) holds "
        "only where the same share is referable as here.",
        {"point": point},
    )
    intervals = Message(
        "Intervals: DeLong (1988) with logit for the area, Wilson (1927) for shares, Fleiss, Cohen "
        "and Everitt (1969) for kappa."
        if evaluation.judgement.patients is None
        else "Intervals count the photographs of one patient as related: Obuchowski (1997) for the "
        "area, Wilson (1927) with the effective number of Rao and Scott (1992) for shares, Fleiss, "
        "Cohen and Everitt (1969) summed by patient for kappa."
    )
    meant = Message(
        "They show what other photographs of the same kind would change, not what another training "
        "would."
    )
    blocks += [
        Paragraph(language.say(_how_judged(evaluation))),
        main_figures(evaluation, language),
        Paragraph(" ".join(language.say(sentence) for sentence in (explained, intervals, meant))),
    ]
    return Section(language.say("Main figures"), tuple(blocks))


def points_section(evaluation: Evaluation, language: Language) -> Section:
    """Thresholds, how they were chosen, and what they find."""
    chosen_on = {
        "validation": language.say("validation photographs"),
        "out-of-fold": language.say("out-of-fold answers"),
    }
    table = Table(
        language.each(
            "operating point", "rule", "chosen on", "threshold", "sensitivity", "specificity"
        ),
        tuple(
            (
                point_label(rates.point.name, language),
                language.say(rates.point.rule),
                chosen_on.get(rates.point.chosen_on, rates.point.chosen_on),
                language.formatted(rates.point.threshold, ".3f"),
                formatted_estimate(rates.gradable.sensitivity, language),
                formatted_estimate(rates.gradable.specificity, language),
            )
            for rates in evaluation.judgement.points
        ),
        words=3,
    )
    return Section(
        language.say("Operating points"),
        (
            Paragraph(language.say(_how_chosen(evaluation))),
            table,
            roc_figure(evaluation.judgement, language),
        ),
    )


def grades_section(evaluation: Evaluation, language: Language) -> Section:
    """What was answered to each grade."""
    rates = default_rates(evaluation)
    head = Message("referred at “{point}”", {"point": point_label(rates.point.name, language)})
    table = Table(
        (*language.each("true grade", "photographs"), language.say(head)),
        tuple(
            (
                f"{grade} · {language.say(Grade(grade).title)}",
                language.formatted(estimate.n, ",d"),
                MISSING if isnan(estimate.value) else formatted_estimate(estimate, language),
            )
            for grade, estimate in rates.referred_by_grade.items()
        ),
    )
    figure = confusion_figure(evaluation.judgement, rates.point.name, language)
    return Section(language.say("Answers by grade"), (table, figure))


def calibration_section(evaluation: Evaluation, language: Language) -> Section:
    """Whether probabilities can be read as such."""
    before, after = evaluation.judgement.uncalibrated, evaluation.judgement.calibration
    figures = {
        language.say("Brier score (0 is perfect)"): (before.brier, after.brier),
        language.say("expected calibration error"): (before.expected_error, after.expected_error),
    }
    table = Table(
        ("", *language.each("before scaling", "after temperature scaling")),
        tuple(
            (title, *(language.formatted(value, ".3f") for value in values))
            for title, values in figures.items()
        ),
    )
    temperature = Message(
        "Scores are divided by the temperature {temperature:.3f}, which was fitted on the same "
        "photographs as the thresholds.",
        {"temperature": evaluation.model.description.temperature},
    )
    return Section(
        language.say("Calibration"),
        (
            Paragraph(language.say(temperature)),
            table,
            Paragraph(language.say(_whether_scaling_helped(evaluation.judgement))),
            reliability_figure(evaluation.judgement, language),
        ),
    )


def _whether_scaling_helped(judgement: Judgement) -> Message:
    """By the decimals that are shown."""
    before, after = (
        (round(found.brier, 3), round(found.expected_error, 3))
        for found in (judgement.uncalibrated, judgement.calibration)
    )
    if before == after:
        return Message("On these photographs the scaling changed neither of the two.")
    is_better = any(new < old for old, new in zip(before, after, strict=True))
    if is_better and any(new > old for old, new in zip(before, after, strict=True)):
        return Message("On these photographs the scaling made one of the two better, one worse.")
    return Message(
        "On these photographs the scaling helped: probabilities are nearer to the truth."
        if is_better
        else "On these photographs the scaling did not help: probabilities are further from the "
        "truth than without it."
    )


def _how_chosen(evaluation: Evaluation) -> Message:
    if evaluation.is_out_of_fold:
        return Message(
            "Each fold was judged at thresholds and with a temperature that were found on all "
            "other folds, so the points may lie beside the curve. The table shows the thresholds "
            "of the model that is delivered, which were chosen on all folds together."
        )
    if evaluation.seen:
        return Message(
            "Thresholds were chosen before; some of the photographs that judge them here may have "
            "had a say."
        )
    return Message(
        "Thresholds were chosen before, on other photographs than those that judge them here."
    )


def _how_judged(evaluation: Evaluation) -> Message:
    grades = evaluation.judgement.grade_counts
    referable = sum(grades[grade] for grade in Grade if grade.is_referable)
    counts = {"count": evaluation.judgement.photographs, "referable": referable}
    if evaluation.is_out_of_fold:
        return Message(
            "Judged by cross-validation on {count} photographs, {referable} of them referable: "
            "each gradable one was answered by a network that had not seen it. The network that "
            "is delivered has learnt from all of them and was not judged itself.",
            counts,
        )
    return Message("Judged on {count} photographs, {referable} of them referable.", counts)
