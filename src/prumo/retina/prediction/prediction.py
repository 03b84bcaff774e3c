"""What a model says of photographs: grade, probability, and whether to refer."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import StorageError
from prumo.machine.cpu import read_cpu
from prumo.message import Series
from prumo.retina.fundus.prepared import encoded, prepared
from prumo.retina.fundus.quality import Quality, Verdict
from prumo.retina.grade import Grade
from prumo.retina.model.probability import grade_probabilities, referral_probability
from prumo.retina.model.scoring import score
from prumo.retina.photograph import PhotographError, read_photograph
from prumo.retina.prediction.overlay import overlay_names, write_overlay
from prumo.retina.prediction.urgency import Urgency, threat_probability, urgency_of
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.message import Message
    from prumo.progress import Progress
    from prumo.retina.fundus.preparation import Preparation
    from prumo.retina.model.folder import ModelFolder
    from prumo.retina.model.scoring import Scores
    from prumo.retina.model.threshold import Threshold


@dataclass(frozen=True)
class Prediction:
    """The answer for one photograph; one that cannot be judged is referred without a grade."""

    file: Path
    eye: str
    """`L`, `R`, or empty when the file does not tell."""
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
class Wish:
    """How predictions are to be made."""

    threshold: Threshold
    device: str = "cpu"
    heat_maps: Path | None = None
    """The folder that a heat map of each judged photograph is written to; none for none."""


def predict(
    model: ModelFolder, files: Sequence[Path], wish: Wish, progress: Progress
) -> list[Prediction]:
    """One answer for each file, in their order, also for files that cannot be read.

    Raises:
        StorageError: Heat maps are wished for where no folder can be.
    """
    if wish.heat_maps is not None:
        _make_folder(wish.heat_maps)
    # Photographs of patients stay in a folder that only this user can open, and go at the end.
    with sigterm_as_interrupt(), tempfile.TemporaryDirectory(prefix="prumo-eyes-") as scratch:
        seen = list(_prepare_all(files, model.description.preparation, Path(scratch), progress))
        judged = [item for item in seen if item.jpeg]
        scores = score(
            model,
            [item.jpeg for item in judged if item.jpeg],
            heat_maps=wish.heat_maps is not None,
            device=wish.device,
            progress=progress,
        )
        heat_maps = _write_heat_maps(judged, scores, wish.heat_maps, progress)
    answers = dict(zip((item.file for item in judged), _answers(model, scores), strict=True))
    return [_prediction(item, answers.get(item.file), wish, heat_maps) for item in seen]


@dataclass(frozen=True)
class _Seen:
    """A file, and the photograph that a network may judge if there is one."""

    file: Path
    quality: Quality
    eye: str = ""
    jpeg: Path | None = None


@dataclass(frozen=True)
class _Answer:
    probability: float
    grades: tuple[float, ...]


def _make_folder(path: Path) -> None:
    """Before all work, which would be lost if it were found out at the end."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error


def _prepare_all(
    files: Sequence[Path], preparation: Preparation, scratch: Path, progress: Progress
) -> Iterator[_Seen]:
    targets = (scratch / f"{number}.jpg" for number in range(len(files)))
    with ThreadPoolExecutor(read_cpu().usable_cores) as pool:
        try:
            waiting = [
                pool.submit(_prepare, file, preparation, target)
                for file, target in zip(files, targets, strict=True)
            ]
            for number, future in enumerate(waiting, start=1):
                yield future.result()
                progress.show("preparing photographs", f"{number} of {len(files)}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _prepare(file: Path, preparation: Preparation, target: Path) -> _Seen:
    """As `prumo retina prepare` does, so that a model sees what it was trained on."""
    try:
        photograph = read_photograph(file, preparation.wanted_pixels)
    except PhotographError as error:
        return _Seen(file, Quality(Verdict.UNREADABLE, error.reason))
    found = prepared(photograph, preparation)
    quality = _with_notes(found.quality, photograph.notes)
    if not quality.verdict.is_gradable or found.pixels is None:
        return _Seen(file, quality, photograph.laterality)
    try:
        target.write_bytes(encoded(found.pixels))
    except OSError as error:
        raise StorageError.on_writing(target, error) from error
    return _Seen(file, quality, photograph.laterality, target)


def _with_notes(quality: Quality, notes: Sequence[Message]) -> Quality:
    """Also a photograph that can be judged may have pages that nobody has looked at."""
    if not notes:
        return quality
    return replace(quality, reason=Series((*filter(None, [quality.reason]), *notes), "; "))


def _write_heat_maps(
    judged: Sequence[_Seen], scores: Scores, folder: Path | None, progress: Progress
) -> dict[Path, Path]:
    """File → the heat map that was written for it."""
    if folder is None or scores.heat_maps is None:
        return {}
    names = overlay_names([item.file for item in judged])
    written: dict[Path, Path] = {}
    for item, name, heat_map in zip(judged, names, scores.heat_maps, strict=True):
        progress.show("writing heat maps", f"{len(written) + 1} of {len(judged)}")
        if item.jpeg:
            written[item.file] = write_overlay(folder / name, item.jpeg, heat_map)
    return written


def _answers(model: ModelFolder, scores: Scores) -> list[_Answer]:
    task, temperature = model.description.task, model.description.temperature
    referral = referral_probability(scores.values, task, temperature).tolist()
    if task == "referral":
        return [_Answer(probability, ()) for probability in referral]
    grades = grade_probabilities(scores.values, temperature).tolist()
    return [_Answer(one, tuple(shares)) for one, shares in zip(referral, grades, strict=True)]


def _prediction(
    seen: _Seen, answer: _Answer | None, wish: Wish, heat_maps: dict[Path, Path]
) -> Prediction:
    if answer is None:
        return Prediction(seen.file, seen.eye, seen.quality, refer=True, urgency=Urgency.UNGRADABLE)
    refer = wish.threshold.refers(answer.probability)
    return Prediction(
        file=seen.file,
        eye=seen.eye,
        quality=seen.quality,
        refer=refer,
        urgency=urgency_of(refer, answer.grades),
        probability=answer.probability,
        grade_probabilities=answer.grades,
        heat_map=heat_maps.get(seen.file),
    )
