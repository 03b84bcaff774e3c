"""Photographs with known grades that a packaged model is judged on, and how it is judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError, InputError
from prumo_retina.dataset.data_folder import is_prepared, require_same_preparation
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
from prumo_serve.choices import ALL
from prumo_serve.compare.quality import (
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
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_serve.compare.quality import ImageRequest
    from prumo_serve.manifest import Manifest
    from prumo_serve.task import Answer


def prepared_images(path: Path, manifest: Manifest) -> ImageFolder | None:
    """The gradable photographs of a folder that `prumo retina prepare` made; None for another."""
    if not is_prepared(path):
        return None
    _require_fitting(path, manifest)
    entries = [entry for entry in read_manifest(path) if entry.output]
    files = {entry.name: path / entry.output for entry in entries if entry.verdict.is_gradable}
    if not files:
        raise InputError(f"{path} holds no photograph that can be judged")
    return ImageFolder(path, files, is_prepared=True)


def labelled_photographs(
    request: ImageRequest, manifest: Manifest, progress: Progress
) -> LabelledImages:
    """The photographs of a folder that have a grade."""
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


def _require_fitting(path: Path, manifest: Manifest) -> None:
    """Refuse prepared photographs that do not look as those that the model has learnt from."""
    how = manifest.input.preprocessing
    if not isinstance(how, FundusPreprocessing):
        raise DataError(
            f"{path} holds prepared photographs of fundi, but {manifest.name} takes plain images"
        )
    needed = Preparation.model_validate(how.preparation)
    require_same_preparation(path, needed, manifest.name, "give the photographs themselves")


def _prepared(request: ImageRequest, manifest: Manifest) -> LabelledImages:
    if request.labels is not None:
        raise InputError(
            f"{request.folder} was prepared with its labels: --labels goes with photographs"
        )
    _require_fitting(request.folder, manifest)
    entries = read_manifest(request.folder)
    if request.subset != ALL:
        subsets = read_subset_names(request.folder, request.subset)
        entries = tuple(e for e in entries if subsets.get(e.name) == request.subset)
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
