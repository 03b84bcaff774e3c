"""A model judged on photographs with known grades: which of them, its answers, its figures."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING

from prumo.errors import DataError, InputError
from prumo_retina.dataset.data_folder import require_same_preparation
from prumo_retina.dataset.manifest import read_manifest
from prumo_retina.grade import POINT_NAMES
from prumo_retina.judge import judged
from prumo_retina.judge.calibration import cross_fitted_decisions, fixed_decisions
from prumo_retina.judge.measures import Case, grades_of, scores_of
from prumo_retina.model import read_seen
from prumo_retina.records import ALL, read_subset_names
from prumo_retina.records.split import TEST, duplicate_groups, select
from prumo_retina.scoring import score
from prumo_retina.training_folder import OUT_OF_FOLD, read_cases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_retina.dataset.manifest import Entry
    from prumo_retina.judge import Judgement
    from prumo_retina.judge.calibration import Decisions
    from prumo_retina.model import ModelFolder

DUPLICATE = "duplicates of others"
NO_SUBSET = "in no subset"
NO_HEAT_MAPS = "0"
SCORES_FILE = f"scores-{OUT_OF_FOLD}.csv"
_NAME = r"([\w-][\w.-]*)?"


@dataclass(frozen=True)
class Evaluation:
    """What a model was judged on, what it said, and how good that is."""

    name: str
    made: str
    model: ModelFolder
    material: Material | None
    """None where only the scores of a cross-validation are there."""
    is_out_of_fold: bool
    seen: int
    """Photographs that the model was made from, which make it look better than it is."""
    cases: tuple[Case, ...]
    """The gradable ones first."""
    decisions: Decisions
    """Of the gradable cases, in their order."""
    judgement: Judgement


@dataclass(frozen=True)
class Question:
    """What is to be judged, on what."""

    model: ModelFolder
    data: Path | None = None
    subset: str = TEST
    allow_seen: bool = False
    """Judge also on photographs that the model was made from; the card will say so."""
    device: str = "cpu"
    name: str = ""
    """What the evaluation is called; after its data when empty."""
    heat_maps: str = NO_HEAT_MAPS
    """Those that will be asked for, so that a wrong name is found before the network answers."""


def evaluate(question: Question, progress: Progress) -> Evaluation:
    """Judge a model on a data folder, or on the scores out of fold of its cross-validation."""
    model, description = question.model, question.model.description
    if not description.points:
        raise InputError(f"the model {description.name} has no operating points to be judged at")
    if not re.fullmatch(_NAME, question.name):
        raise InputError(f"'{question.name}' names no folder: use letters, digits, - and _")
    found = _answered(question, progress)
    gradable = [case for case in found.cases if case.is_gradable]
    scores, task = scores_of(gradable), description.task
    if found.is_out_of_fold:
        for point in description.points:
            # Only the named points have a rule by which other folds can choose them.
            if point.name not in POINT_NAMES:
                raise InputError(
                    f"the operating point '{point.name}' of {description.name} is none of "
                    f"{', '.join(POINT_NAMES)}, so no other fold can choose it: give photographs "
                    "that the model has not seen"
                )
        folds = [case.fold for case in gradable]
        decisions = cross_fitted_decisions(scores, grades_of(gradable), folds, task)
    else:
        decisions = fixed_decisions(scores, task, description.temperature, description.points)
    default_point = description.point or description.points[0].name
    part = OUT_OF_FOLD if found.is_out_of_fold else question.subset
    default_name = f"{question.data.resolve().name}-{part}" if question.data else part
    return Evaluation(
        name=question.name or default_name,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        model=model,
        material=found.material,
        is_out_of_fold=found.is_out_of_fold,
        seen=found.seen,
        cases=found.cases,
        decisions=decisions,
        judgement=judged(found.cases, decisions, task, description.points, default_point),
    )


@dataclass(frozen=True)
class _Answered:
    cases: tuple[Case, ...]
    material: Material | None = None
    is_out_of_fold: bool = False
    seen: int = 0


def _answered(question: Question, progress: Progress) -> _Answered:
    crossed = (question.model.path / SCORES_FILE).is_file()
    if question.data is None:
        if not crossed:
            raise InputError(
                f"{question.model.path} was not cross-validated, so it needs photographs to be "
                "judged on: give the folder that `prumo retina convert` has split"
            )
        require_known_images(question.heat_maps, None)
        return _Answered(_distinct_cases(question.model.path), is_out_of_fold=True)
    if crossed:
        whole = material_of(question.data, ALL, question.model)
        if _seen(question.model, whole.gradable) == len(whole.gradable):
            require_known_images(question.heat_maps, whole)
            return _held_out(question.model, whole)
    material = material_of(question.data, question.subset, question.model)
    seen = _seen(question.model, material.gradable)
    if seen and not question.allow_seen:
        raise DataError(
            f"{seen} of the {len(material.gradable)} photographs of {question.data} "
            f"({question.subset}) have trained the model {question.model.description.name} or "
            "chosen its thresholds, so they cannot judge it: give others, or --allow-seen if that "
            "is what you want to know"
        )
    require_known_images(question.heat_maps, material)
    images = [material.folder / entry.output for entry in material.gradable]
    scores = score(question.model, images, device=question.device, progress=progress)
    rows = zip(material.gradable, scores.values.tolist(), strict=True)
    answered = [_case(entry, tuple(row)) for entry, row in rows]
    return _Answered((*answered, *map(_case, material.ungradable)), material, seen=seen)


def _held_out(model: ModelFolder, material: Material) -> _Answered:
    """The photographs that a model was cross-validated on, each judged by a network without it.

    They are known by their hash: another preparation may have named them otherwise.
    """
    names = {photograph.sha256: photograph.image for photograph in read_seen(model.path)}
    scored = {case.image: case for case in read_cases(model.path, OUT_OF_FOLD)}
    answered = []
    for entry in material.gradable:
        held_out = scored.get(names[entry.sha256])
        if held_out is None:
            raise InputError(
                f"{model.path / SCORES_FILE} has no scores of {names[entry.sha256]}, "
                "which the model was trained on: the training has not ended well"
            )
        answered.append(_case(entry, held_out.scores, held_out.fold))
    cases = (*answered, *map(_case, material.ungradable))
    return _Answered(cases, material, is_out_of_fold=True)


def _case(entry: Entry, scores: tuple[float, ...] | None = None, fold: str = "") -> Case:
    return Case(
        image=entry.name,
        grade=int(entry.grade or 0),
        scores=scores,
        patient=entry.patient,
        camera=entry.camera,
        site=entry.site,
        fold=fold,
    )


def _seen(model: ModelFolder, entries: tuple[Entry, ...]) -> int:
    known = {photograph.sha256 for photograph in read_seen(model.path)}
    return sum(entry.sha256 in known for entry in entries)


@dataclass(frozen=True)
class Material:
    """Photographs with a grade."""

    folder: Path
    subset: str
    gradable: tuple[Entry, ...]
    ungradable: tuple[Entry, ...]
    """They have a grade and cannot be judged, so they are referred."""
    left_out: dict[str, int]
    """Why others are not among them, with how many."""


def material_of(data: Path, subset: str, model: ModelFolder) -> Material:
    """What a subset of a data folder, or all of it, has for a model."""
    needed, name = model.description.preparation, model.description.name
    require_same_preparation(
        data,
        needed,
        f"the model {name}",
        f"prepare the photographs again with `prumo retina prepare IN OUT --size {needed.size} "
        f"--method {needed.method} --enhance {needed.enhance}`",
    )
    selection = select(read_manifest(data))
    graded = (*selection.chosen, *selection.ungradable)
    subsets = (
        {entry.name: ALL for entry in graded} if subset == ALL else read_subset_names(data, subset)
    )
    inside = [entry for entry in graded if subsets.get(entry.name) == subset]
    judged = _distinct(inside)
    gradable = tuple(entry for entry in judged if entry.verdict.is_gradable)
    ungradable = tuple(entry for entry in judged if not entry.verdict.is_gradable)
    missing = [entry.output for entry in gradable if not (data / entry.output).is_file()]
    if missing:
        more = f", and so are {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DataError(f"{data / missing[0]} is missing{more}: call `prumo retina prepare` again")
    kept = set(selection.ungradable)
    left_out = Counter(left.reason for left in selection.left_out if left.entry not in kept)
    left_out[DUPLICATE] = len(inside) - len(judged)
    left_out[NO_SUBSET] = sum(entry.name not in subsets for entry in graded)
    return Material(data, subset, gradable, ungradable, dict(+left_out))


def _distinct(entries: Sequence[Entry]) -> list[Entry]:
    """One of each group of duplicates, a gradable one if there is any."""
    again: set[Entry] = set()
    for group in duplicate_groups(entries):
        _, *others = sorted(group, key=lambda e: (not e.verdict.is_gradable, bool(e.duplicate_of)))
        again.update(others)
    return [entry for entry in entries if entry not in again]


def require_known_images(request: str, material: Material | None) -> None:
    """Refuse a request for heat maps of photographs that are not judged."""
    if request == NO_HEAT_MAPS:
        return
    if material is None:
        raise InputError("heat maps need the photographs: give the data folder too")
    if request.isdecimal():
        return
    known = {entry.name for entry in material.gradable}
    for name in image_names(request):
        if name not in known:
            # The nearest name, or one to see how they look: there may be thousands.
            near = get_close_matches(name, sorted(known), n=1)
            example = f"; they are called such as '{min(known)}'" if known else ""
            hint = f": did you mean '{near[0]}'?" if near else example
            raise InputError(f"no gradable photograph '{name}' is judged{hint}")


def image_names(request: str) -> list[str]:
    """Names of photographs, given with commas."""
    return [name.strip() for name in request.split(",") if name.strip()]


def _distinct_cases(model: Path) -> tuple[Case, ...]:
    """Those of its cross-validation without duplicates, which would count twice."""
    seen = read_seen(model)
    images = {photograph.image for photograph in seen}
    again = {photograph.image for photograph in seen if photograph.duplicate_of in images}
    return tuple(case for case in read_cases(model, OUT_OF_FOLD) if case.image not in again)
