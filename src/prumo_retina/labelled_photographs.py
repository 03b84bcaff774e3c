"""Photographs with known grades that a packaged model is judged on, and how it is judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError, InputError
from prumo_retina.dataset.data_folder import difference, is_prepared, read_preparation
from prumo_retina.dataset.folder import find_photographs
from prumo_retina.dataset.labelling import find_labels
from prumo_retina.dataset.labels import Columns
from prumo_retina.dataset.manifest import read_manifest
from prumo_retina.fundus.preparation import Preparation
from prumo_retina.grade import REFERABLE_FROM
from prumo_retina.judge.measures import quadratic_kappa
from prumo_retina.records import read_subset_names
from prumo_retina.records.split import select
from prumo_retina.task import FundusPreprocessing, RetinaAnswer
from prumo_serve.compare.quality import (
    ALL,
    DUPLICATE,
    Decision,
    Judged,
    LabelledImages,
    Truth,
    labelled_or_refused,
    patients_of,
)
from prumo_serve.image_folder import ImageFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_retina.dataset.manifest import Entry
    from prumo_serve.compare.quality import ImageRequest
    from prumo_serve.manifest import Manifest
    from prumo_serve.task import Answer


def prepared_images(path: Path, manifest: Manifest) -> ImageFolder | None:
    """The gradable photographs of a folder that `prumo retina prepare` made; None for another.

    Raises:
        InputError: None of them can be judged.
        DataError: The model has learnt from photographs that were prepared otherwise.
    """
    if not is_prepared(path):
        return None
    _require_same_preparation(path, manifest)
    entries = [entry for entry in read_manifest(path) if entry.output]
    files = {entry.name: path / entry.output for entry in entries if entry.verdict.is_gradable}
    if not files:
        raise InputError(f"{path} holds no photograph that can be judged")
    return ImageFolder(path, files, is_prepared=True)


def labelled_photographs(
    request: ImageRequest, manifest: Manifest, progress: Progress
) -> LabelledImages:
    """The photographs of a folder that have a grade.

    Raises:
        InputError: There are no photographs, or no grades that are known.
        DataError: Grades cannot be read, or the photographs were prepared otherwise.
    """
    if is_prepared(request.folder):
        return _prepared(request, manifest)
    if request.subset != ALL:
        raise InputError(
            f"only a folder that `prumo retina convert` has split has the subset '{request.subset}'"
        )
    found = find_photographs(request.folder)
    labelling = find_labels(found, request.labels, Columns(), progress)
    truths = {
        name: Truth(int(label.grade), label.patient)
        for name, label in labelling.labels.items()
        if label.grade is not None
    }
    return labelled_or_refused(ImageFolder(request.folder, found.photographs), truths)


def judged(answers: Sequence[Answer], truths: Sequence[Truth], *, knows_grades: bool) -> Judged:
    """By the label, and by who is referred; grades also by kappa."""
    grades = np.array([truth.place for truth in truths], dtype=np.intp)
    answered = np.array([answer.place for answer in answers], dtype=np.intp)
    referrals = [answer.referral for answer in answers if isinstance(answer, RetinaAnswer)]
    decision = Decision(
        predicted=np.array([referral.refer for referral in referrals], dtype=np.bool_),
        true=grades >= REFERABLE_FROM,
        probability=np.array([referral.probability for referral in referrals], dtype=np.float64),
        name="referral",
        is_label=not knows_grades,
    )
    patients = patients_of(truths)
    return Judged(
        answered,
        grades if knows_grades else decision.true.astype(np.intp),
        np.array([answer.probabilities for answer in answers]),
        patients,
        decision,
        kappa=quadratic_kappa(answered, grades, patients) if knows_grades else None,
    )


def _require_same_preparation(path: Path, manifest: Manifest) -> None:
    """Refuse prepared photographs that do not look as those that the model has learnt from."""
    how = manifest.input.preprocessing
    if not isinstance(how, FundusPreprocessing):
        raise DataError(
            f"{path} holds prepared photographs of fundi, but {manifest.name} takes plain images"
        )
    found, needed = read_preparation(path), Preparation.model_validate(how.preparation)
    if found != needed:
        raise DataError(
            f"{path} was prepared with {difference(found, needed)}, so {manifest.name} would see "
            "other pixels than it has learnt from; give the photographs themselves"
        )


def _prepared(request: ImageRequest, manifest: Manifest) -> LabelledImages:
    if request.labels is not None:
        raise InputError(
            f"{request.folder} was prepared with its labels: --labels goes with photographs"
        )
    _require_same_preparation(request.folder, manifest)
    entries = _of_subset(read_manifest(request.folder), request)
    selection = select(entries)
    graded = [*selection.chosen, *selection.ungradable]
    once = [entry for entry in graded if not entry.duplicate_of]
    counts = Counter(left.reason for left in selection.left_out)
    counts["ungradable"] -= len(selection.ungradable)
    counts[DUPLICATE] = len(graded) - len(once)
    files = {
        entry.name: request.folder / entry.output for entry in once if entry.verdict.is_gradable
    }
    truths = {entry.name: Truth(int(entry.grade or 0), entry.patient) for entry in once}
    hashes = {entry.name: entry.sha256 for entry in once}
    folder = ImageFolder(request.folder, files, is_prepared=True, original_sha256s=hashes)
    return labelled_or_refused(folder, truths, dict(+counts))


def _of_subset(entries: Iterable[Entry], request: ImageRequest) -> list[Entry]:
    if request.subset == ALL:
        return list(entries)
    subsets = read_subset_names(request.folder, request.subset)
    return [entry for entry in entries if subsets.get(entry.name) == request.subset]
