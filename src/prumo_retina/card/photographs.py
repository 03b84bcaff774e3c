"""The photographs behind a model and behind its figures, by grade."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prumo.message import Message, Series
from prumo_retina.card.layout import Paragraph, Section, Table
from prumo_retina.fundus.preparation import Verdict
from prumo_retina.grade import REFERABLE_FROM, Grade
from prumo_retina.judge.calibration import FEWEST_TO_EXPECT, TARGET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prumo.report.language import Language
    from prumo_retina.evaluation import Evaluation
    from prumo_retina.model import ModelDescription


_SUBSETS = {
    "train": "training",
    "validation": "validation",
    "all": "all folds",
}
_REASONS = {
    "duplicates of others": "duplicates of others",
    "no photograph": "no photograph, or none that shows a fundus",
    "no grade": "no grade",
    "ungradable": "ungradable and without a grade",
    "in no subset": "in no subset",
    "duplicates with other grades": "duplicates with other grades",
}


def photographs(evaluation: Evaluation, language: Language) -> Section:
    """Class balance of training and judging, and what was left out."""
    learnt = learnt_counts(evaluation.model.description)
    columns = {language.say(_SUBSETS[name]): counts for name, counts in learnt.items()}
    columns[language.say("judged here")] = [evaluation.judgement.grade_counts[g] for g in Grade]

    def cell(grade: Grade, counts: Sequence[int]) -> str:
        share = language.formatted(100 * counts[grade] / max(1, sum(counts)), ".0f")
        return f"{language.formatted(counts[grade], ',d')} ({share} %)"

    rows = [
        (
            f"{grade:d} · {language.say(grade.title)}",
            *(cell(grade, counts) for counts in columns.values()),
        )
        for grade in Grade
    ]
    totals = (language.formatted(sum(counts), ",d") for counts in columns.values())
    table = Table((language.say("grade"), *columns), (*rows, (language.say("all"), *totals)))
    return Section(
        language.say("Photographs"),
        (table, *(Paragraph(language.say(remark)) for remark in _remarks(evaluation))),
    )


def learnt_counts(description: ModelDescription) -> dict[str, list[int]]:
    """Counts by grade of what trained a model and chose its thresholds; folds all together."""
    subsets: Mapping[str, list[int]] = description.data.get("subsets") or {}
    if any(name.startswith("fold") for name in subsets):
        folds = [counts for name, counts in subsets.items() if name.startswith("fold")]
        subsets = {"all": [sum(column) for column in zip(*folds, strict=True)]}
    return {name: list(counts) for name, counts in subsets.items() if name in _SUBSETS}


def _remarks(evaluation: Evaluation) -> Iterator[Message]:
    yield from _patients(evaluation)
    if evaluation.material is None:
        yield Message(
            "How many photographs could not be judged is not known here: only the answers of the "
            "cross-validation were at hand."
        )
        return
    verdicts = Counter(entry.verdict for entry in evaluation.material.ungradable)
    if verdicts:
        yield Message(
            "{count} photograph with a grade could not be judged and counts as a referral.",
            {"count": verdicts.total()},
            "{count} photographs with a grade could not be judged and count as referrals.",
        )
        why = _counted((verdict.label, verdicts[verdict]) for verdict in Verdict)
        yield Message("Why they could not be judged: {reasons}.", {"reasons": why})
    else:
        yield Message("Every photograph with a grade could be judged.")
    if left_out := evaluation.material.left_out:
        why = _counted((Message(_REASONS[reason]), left_out[reason]) for reason in left_out)
        yield Message("Left out of the judgement: {reasons}.", {"reasons": why})


def _patients(evaluation: Evaluation) -> Iterator[Message]:
    if evaluation.judgement.patients is None:
        yield Message(
            "Patients are not known, so two photographs of one person may stand on both sides of "
            "the split and count as two."
        )
        return
    yield Message(
        "Judged here is {count} known patient.",
        {"count": evaluation.judgement.patients},
        "Judged here are {count} known patients.",
    )
    if unknown := sum(not case.patient for case in evaluation.cases):
        yield Message(
            "The patient of {count} photograph is not known; it counts as one more.",
            {"count": unknown},
            "The patients of {count} photographs are not known; each counts as one more.",
        )


def _counted(reasons: Iterable[tuple[Message, int]]) -> Series:
    parts = (
        Message("{reason}: {number}", {"reason": reason, "number": count})
        for reason, count in reasons
        if count
    )
    return Series(tuple(parts))


_CHANCE = 0.5


def cautions(evaluation: Evaluation) -> Iterator[Message]:
    """The warnings that these figures need; none where they need none."""
    if evaluation.seen:
        yield Message(
            "{count} of these photographs has trained the model or chosen its thresholds: the "
            "figures flatter it.",
            {"count": evaluation.seen},
            "{count} of these photographs have trained the model or chosen its thresholds: the "
            "figures flatter it.",
        )
    low = evaluation.judgement.auc.low
    if low is None or low <= _CHANCE:
        yield Message(
            "The model is not shown to be better than chance: the interval of its area under the "
            "ROC curve does not lie above {chance:.1f}.",
            {"chance": _CHANCE},
        )
    # Thresholds are chosen on the validation photographs, or on those of all folds.
    learnt = learnt_counts(evaluation.model.description)
    if grades := learnt.get("validation") or learnt.get("all"):
        counts = {"others": sum(grades[:REFERABLE_FROM]), "referable": sum(grades[REFERABLE_FROM:])}
        if min(counts.values()) < FEWEST_TO_EXPECT:
            yield Message(
                "The thresholds were chosen on {referable} referable photographs and {others} "
                "others: fewer than {fewest} of either cannot tell whether {target:.2f} of new "
                "ones will be answered rightly.",
                {**counts, "fewest": FEWEST_TO_EXPECT, "target": TARGET},
            )
    if evaluation.material is None:
        yield Message(
            "Photographs that cannot be judged are not part of these figures: only the answers of "
            "the cross-validation were at hand. Give the data folder too, and they count as "
            "referrals."
        )
