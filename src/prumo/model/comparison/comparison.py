"""Variants of a model side by side: measured in turns, then judged on the same images."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.model.comparison.given_answers import given_answers
from prumo.model.comparison.labelled_images import labelled_images
from prumo.model.comparison.pairing import paired
from prumo.model.comparison.quality import quality
from prumo.model.comparison.timing import Pace, started_subjects, timings
from prumo.model.comparison.variant import opened_variants
from prumo.model.image_folder import require_same_preparation
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prumo.model.comparison.given_answers import GivenAnswers, Material
    from prumo.model.comparison.labelled_images import ImageWish, LabelledImages
    from prumo.model.comparison.pairing import Pairing
    from prumo.model.comparison.quality import Quality
    from prumo.model.comparison.timing import Timing
    from prumo.model.comparison.variant import Variant
    from prumo.model.manifest import Manifest
    from prumo.progress import Progress
    from prumo.statistics.ratio import Ratio


@dataclass(frozen=True)
class Row:
    """Everything about one variant."""

    variant: str
    manifest: Manifest
    network_bytes: int
    timing: Timing
    quality: Quality | None = None
    """None without labelled images."""
    pairing: Pairing | None = None
    """With the first variant; None for itself."""
    seen: int | None = None
    """How many of the judged images it has learnt from; None if nobody says."""


@dataclass(frozen=True)
class Comparison:
    """All variants in the order that they were given in."""

    rows: tuple[Row, ...]
    pace: Pace
    material: Material | None = None

    @property
    def first(self) -> Row:
        """What all others are compared with."""
        return self.rows[0]

    def speed_up(self, row: Row) -> Ratio:
        """How many times as fast as the first one; all intervals and p values hold together.

        Bonferroni's correction by the number of others, because with it, other than with Holm's,
        an interval leaves out 1 just when its p value is small enough.
        """
        others = len(self.rows) - 1
        found = row.timing.speed_up(self.first.timing, 1 - (1 - DEFAULT_CONFIDENCE) / others)
        if found.p_value is None:
            return found
        return replace(found, p_value=min(1.0, found.p_value * others))


def compare(
    paths: Sequence[Path], pace: Pace, images: ImageWish | None, progress: Progress
) -> Comparison:
    """Measure models, and judge their answers where labelled images are given.

    Raises:
        InputError: A model cannot be opened, or they do not answer the same question.
        DataError: The images cannot be used.
        SubjectError: A network cannot be loaded or does not answer.
    """
    with sigterm_as_interrupt(), ExitStack() as held:
        variants = opened_variants(paths, held, progress)
        labelled = _labelled(variants, images, progress)
        subjects, starts = started_subjects(variants, pace, held, progress)
        measured = timings(subjects, starts, pace, progress)
        rows = [
            Row(variant.name, variant.manifest, variant.network_bytes, timing)
            for variant, timing in zip(variants, measured, strict=True)
        ]
        if labelled is None:
            return Comparison(tuple(rows), pace)
        given = given_answers(variants, subjects, labelled, progress)
    return Comparison(tuple(_judged(rows, given)), pace, given.material)


def _labelled(
    variants: Sequence[Variant], images: ImageWish | None, progress: Progress
) -> LabelledImages | None:
    if images is None:
        return None
    first = variants[0].manifest
    for variant in variants[1:]:
        if (variant.manifest.task, variant.manifest.labels) != (first.task, first.labels):
            raise InputError(
                f"{variant.path} answers another question than {variants[0].path}: "
                f"{_question(variant.manifest)}, not {_question(first)}; without --images they "
                "can be measured"
            )
    found = labelled_images(images, first, progress)
    if found.folder.is_prepared:
        for variant in variants:
            require_same_preparation(images.folder, variant.manifest)
    return found


def _question(manifest: Manifest) -> str:
    return f"{manifest.task} with the labels {', '.join(manifest.labels[:10])}"


def _judged(rows: Sequence[Row], given: GivenAnswers) -> Iterator[Row]:
    first = given.judged[0]
    for row, answers, seen in zip(rows, given.judged, given.seen, strict=True):
        pairing = None if answers is first else paired(first, answers)
        yield replace(row, quality=quality(answers), pairing=pairing, seen=seen)
