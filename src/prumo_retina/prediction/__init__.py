"""What a model says of photographs: grade, probability, referral and heat map."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import simplejpeg

from prumo.datasets.source import in_threads
from prumo.errors import InputError, StorageError
from prumo.message import Series
from prumo.report.file import write_file
from prumo.supervise.interruption import sigterm_as_interrupt
from prumo_retina.dataset.folder import (
    find_photographs,
    shortened,
    with_unread_kinds,
    without_suffix,
)
from prumo_retina.fundus.preparation import Quality, Verdict
from prumo_retina.fundus.prepared import encoded, prepared
from prumo_retina.grade import Grade, Urgency, threat_probability, urgency_of
from prumo_retina.photograph import PhotographError, read_photograph
from prumo_retina.scoring import grade_probabilities, referral_probability, score
from prumo_serve.heat_map import overlay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    from prumo.progress import Progress
    from prumo_retina.fundus.preparation import Preparation
    from prumo_retina.grade import Threshold
    from prumo_retina.model import ModelFolder
    from prumo_retina.scoring import Scores


@dataclass(frozen=True)
class Prediction:
    """The answer for one photograph; one that cannot be judged is referred without a grade."""

    file: Path
    eye: str
    """`L`, `R`, or empty when the file does not say."""
    quality: Quality
    refer: bool
    urgency: Urgency
    probability: float | None = None
    """Of a referral."""
    grade_probabilities: tuple[float, ...] = ()
    """Empty for a model that knows no grades."""
    heat_map: Path | None = None

    @property
    def grade(self) -> Grade | None:
        """The most probable one. It does not decide on the referral: the threshold does."""
        if not self.grade_probabilities:
            return None
        return Grade(self.grade_probabilities.index(max(self.grade_probabilities)))

    @property
    def threat_probability(self) -> float | None:
        """Of severe or proliferative retinopathy."""
        return threat_probability(self.grade_probabilities) if self.grade_probabilities else None


@dataclass(frozen=True)
class Request:
    """How predictions are to be made."""

    threshold: Threshold
    device: str = "cpu"
    heat_maps: Path | None = None
    """The folder that a heat map of each judged photograph is written to; none for none."""


def predict(
    model: ModelFolder, files: Sequence[Path], request: Request, progress: Progress
) -> list[Prediction]:
    """One answer for each file, in their order, also for files that cannot be read."""
    if request.heat_maps is not None:
        # Before all work, which would be lost if it were found out at the end.
        with StorageError.writing(request.heat_maps):
            request.heat_maps.mkdir(parents=True, exist_ok=True)
    # Photographs of patients stay in a folder that only this user can open, and go at the end.
    with sigterm_as_interrupt(), tempfile.TemporaryDirectory(prefix="prumo-eyes-") as scratch:
        seen = _prepare_all(files, model.description.preparation, Path(scratch), progress)
        jpegs = {unjudged.file: jpeg for unjudged, jpeg in seen if jpeg}
        scores = score(
            model,
            list(jpegs.values()),
            heat_maps=request.heat_maps is not None,
            device=request.device,
            progress=progress,
        )
        heat_maps = _write_heat_maps(jpegs, scores, request.heat_maps, progress)
    answers = dict(zip(jpegs, _answers(model, scores), strict=True))
    return [
        _judged(unjudged, *answers[unjudged.file], request, heat_maps.get(unjudged.file))
        if unjudged.file in answers
        else unjudged
        for unjudged, _ in seen
    ]


def _prepare_all(
    files: Sequence[Path], preparation: Preparation, scratch: Path, progress: Progress
) -> list[tuple[Prediction, Path | None]]:
    """Each file as if it could not be judged, and a JPEG for the network where it can."""

    def prepare(number: int) -> tuple[Prediction, Path | None]:
        return _prepare(files[number], preparation, scratch / f"{number}.jpg")

    seen = []
    with contextlib.closing(in_threads(prepare, range(len(files)))) as results:
        for found in results:
            seen.append(found)
            progress.show("preparing photographs", f"{len(seen)} of {len(files)}")
    return seen


def _prepare(file: Path, preparation: Preparation, target: Path) -> tuple[Prediction, Path | None]:
    """As `prumo retina prepare` does, so that a model sees what it was trained on."""
    try:
        photograph = read_photograph(file, preparation.wanted_pixels)
    except PhotographError as error:
        return _ungradable(file, "", Quality(Verdict.UNREADABLE, error.reason)), None
    found = prepared(photograph, preparation)
    quality = found.quality
    if photograph.notes:
        # Also a photograph that can be judged may have pages that nobody has looked at.
        reasons = (*filter(None, [quality.reason]), *photograph.notes)
        quality = replace(quality, reason=Series(reasons, "; "))
    unjudged = _ungradable(file, photograph.laterality, quality)
    if not quality.verdict.is_gradable or found.pixels is None:
        return unjudged, None
    with StorageError.writing(target):
        target.write_bytes(encoded(found.pixels))
    return unjudged, target


def _ungradable(file: Path, eye: str, quality: Quality) -> Prediction:
    return Prediction(file, eye, quality, refer=True, urgency=Urgency.UNGRADABLE)


def _write_heat_maps(
    jpegs: Mapping[Path, Path], scores: Scores, folder: Path | None, progress: Progress
) -> dict[Path, Path]:
    """File → the heat map that was written for it."""
    if folder is None or scores.heat_maps is None:
        return {}
    written: dict[Path, Path] = {}
    names = overlay_names(list(jpegs))
    for (file, jpeg), name, heat_map in zip(jpegs.items(), names, scores.heat_maps, strict=True):
        progress.show("writing heat maps", f"{len(written) + 1} of {len(jpegs)}")
        written[file] = write_overlay(folder / name, jpeg, heat_map)
    return written


def _answers(model: ModelFolder, scores: Scores) -> list[tuple[float, tuple[float, ...]]]:
    """Of each photograph the probability of a referral, and those of grades if they are known."""
    task, temperature = model.description.task, model.description.temperature
    referral = referral_probability(scores.values, task, temperature).tolist()
    if task == "referral":
        return [(probability, ()) for probability in referral]
    grades = map(tuple, grade_probabilities(scores.values, temperature).tolist())
    return list(zip(referral, grades, strict=True))


def _judged(
    seen: Prediction,
    probability: float,
    grades: tuple[float, ...],
    request: Request,
    heat_map: Path | None,
) -> Prediction:
    refer = request.threshold.refers(probability)
    return replace(
        seen,
        refer=refer,
        urgency=urgency_of(refer, grades),
        probability=probability,
        grade_probabilities=grades,
        heat_map=heat_map,
    )


@dataclass(frozen=True)
class GivenPhotographs:
    """What was found under the given words."""

    files: tuple[Path, ...]
    not_looked_at: tuple[str, ...]
    """Other files and folders in the given folders, by their printable names."""


def given_photographs(words: Sequence[str], left_out: Path | None = None) -> GivenPhotographs:
    """The photographs in the order of the words; what is named twice comes once.

    A word is the path of a file or a folder, or a pattern that no shell has replaced. The pictures
    in `left_out`, such as heat maps, are no photographs.
    """
    once: dict[Path, Path] = {}
    others: dict[str, None] = {}
    for path in (path for word in words for path in _named(word)):
        files: Iterable[Path] = [path]
        if path.is_dir():
            if left_out is not None and left_out.exists() and path.samefile(left_out):
                raise InputError(
                    f"{path} is the folder that heat maps are written to; give another one"
                )
            folder = with_unread_kinds(find_photographs(path, left_out))
            files = folder.photographs.values()
            # Labels are of no use here.
            unread = (*folder.tables, *(path / name for name in folder.others))
            names = (*map(printable, unread), *map(printable, folder.left_out))
            others.update(dict.fromkeys(names))
        for file in files:
            once.setdefault(file.resolve(), file)
    return GivenPhotographs(tuple(once.values()), tuple(others))


def printable(name: Path | str) -> str:
    """A name as text that can be written and does nothing to a terminal, whatever bytes it has."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def _named(word: str) -> list[Path]:
    path = Path(word)
    if not word:
        raise InputError("an empty name was given where a photograph should be")
    if path.exists():
        return [path]
    try:
        matches = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    except ValueError:
        # Such as a**b, which is no pattern.
        matches = []
    if not matches:
        raise InputError(f"there is no file {printable(word)}")
    return matches


def write_overlay(path: Path, jpeg: Path, heat_map: np.ndarray) -> Path:
    """Write a prepared photograph with its heat map as PNG, without any metadata; its path."""
    pixels = simplejpeg.decode_jpeg(jpeg.read_bytes(), colorspace="RGB")
    picture = cv2.cvtColor(overlay(pixels, heat_map), cv2.COLOR_RGB2BGR)
    _, png = cv2.imencode(".png", picture)
    return write_file(path, png.tobytes())


def overlay_names(files: Sequence[Path]) -> list[str]:
    """A file name for the heat map of each file: files of one name get a number."""
    seen: Counter[str] = Counter()
    names = []
    for file in files:
        name = shortened(without_suffix(file.name))
        seen[name.lower()] += 1
        count = seen[name.lower()]
        names.append(f"{name}-heat-map{'' if count == 1 else f'-{count}'}.png")
    return names
