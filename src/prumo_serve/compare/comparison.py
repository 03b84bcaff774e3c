"""Variants of a model side by side: opened, measured in turns, judged on the same images."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest

from prumo.errors import DataError, InputError
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo.supervise.interruption import sigterm_as_interrupt
from prumo_serve.compare.quality import quality, seen_counts
from prumo_serve.compare.timing import started_subjects, timings
from prumo_serve.estimates import rate
from prumo_serve.image_folder import find_images, network_images
from prumo_serve.package import open_or_package
from prumo_serve.task import JUDGED, task_named

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.statistics.interval import Ratio
    from prumo_serve.choices import Pace
    from prumo_serve.compare.quality import ImageRequest, Judged, LabelledImages, Quality
    from prumo_serve.compare.timing import Subject, Timing
    from prumo_serve.estimates import Estimate
    from prumo_serve.manifest import Manifest
    from prumo_serve.package import Package


@dataclass(frozen=True)
class Variant:
    """A package, and what it is called in tables and sentences."""

    name: str
    path: Path
    package: Package

    @property
    def manifest(self) -> Manifest:
        """Of the package."""
        return self.package.manifest


def opened_variants(
    paths: Sequence[Path], packages: ExitStack, progress: Progress
) -> tuple[Variant, ...]:
    """Open every model; archives stay unpacked until `packages` is closed."""
    if not paths:
        raise InputError("there is no model to measure: give one, or several to compare")
    again = [path for path, count in Counter(path.resolve() for path in paths).items() if count > 1]
    if again:
        raise InputError(f"{again[0]} is given twice; one model is measured once")
    # File names without their endings; where two are the same, the paths as they were given.
    short = [path.resolve().name.removesuffix(".tgz").removesuffix(".tar.gz") for path in paths]
    counts = Counter(short)
    return tuple(
        Variant(
            name if counts[name] == 1 else str(path),
            path,
            packages.enter_context(open_or_package(path, progress)),
        )
        for name, path in zip(short, paths, strict=True)
    )


@dataclass(frozen=True)
class Pairing:
    """How often two variants say the same, and whether one of them is right more often."""

    same_label: Estimate
    decision: str
    """What else is decided, in a word; empty where the label is all."""
    same_decision: Estimate | None
    """None where the label itself says what was decided."""
    largest_difference: float
    """Between the probabilities of a label."""
    only_first_right: int
    only_other_right: int
    p_value: float
    """The chance of so uneven a split if both were right equally often."""


def paired(first: Judged, other: Judged) -> Pairing:
    """Compare answers to the same images.

    McNemar (1947), "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12(2); exact, by the binomial distribution.
    """
    patients = first.patients
    lost = int((first.is_right & ~other.is_right).sum())
    won = int((other.is_right & ~first.is_right).sum())
    same_decision = None
    if first.decision and other.decision and not first.decision.is_label:
        same_decision = rate(first.decision.predicted == other.decision.predicted, patients)
    return Pairing(
        same_label=rate(first.predicted == other.predicted, patients),
        decision=first.decision.name if first.decision else "",
        same_decision=same_decision,
        largest_difference=float(np.abs(first.probabilities - other.probabilities).max()),
        only_first_right=lost,
        only_other_right=won,
        p_value=float(binomtest(won, won + lost).pvalue) if won + lost else 1.0,
    )


UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Material:
    """What the answers were judged on."""

    folder: Path
    images: int
    ungradable: int
    """With a label, but nobody can judge them, so that no network was asked."""
    left_out: dict[str, int]


def _asked(
    variants: Sequence[Variant],
    subjects: Sequence[Subject],
    labelled: LabelledImages,
    progress: Progress,
) -> tuple[list[dict[str, np.ndarray]], Counter[str]]:
    """Each variant's scores by the image's name; how many images were asked about, or why not."""
    tally: Counter[str] = Counter()
    scores: list[dict[str, np.ndarray]] = [{} for _ in variants]
    names = [name for name in labelled.truths if name in labelled.folder.files]
    for places in _alike(variants):
        tally = Counter()
        manifest = variants[places[0]].manifest
        for image in network_images(labelled.folder, names, manifest):
            progress.show("asking about images", f"{tally.total() + 1} of {len(names)}")
            if image.pixels is None:
                tally["ungradable" if image.is_ungradable else UNREADABLE] += 1
                continue
            tally["asked"] += 1
            for place in places:
                # One at a time: the ranges of dynamic int8 depend on all of a batch.
                scores[place][image.name] = subjects[place].scores(image.pixels[None])[0]
    return scores, tally


def _judged(
    rows: Sequence[Row],
    variants: Sequence[Variant],
    subjects: Sequence[Subject],
    labelled: LabelledImages,
    progress: Progress,
) -> tuple[tuple[Row, ...], Material]:
    """Rows with what their answers are worth, on every image with a label that can be judged."""
    scores, tally = _asked(variants, subjects, labelled, progress)
    names = [name for name in labelled.truths if all(name in found for found in scores)]
    if not names:
        raise DataError(f"no image of {labelled.folder.path} with a label can be judged")
    truths = tuple(labelled.truths[name] for name in names)
    judged = []
    for variant, found in zip(variants, scores, strict=True):
        task = task_named(variant.manifest.task)
        answers = [task.answer(variant.manifest, found[name], JUDGED) for name in names]
        judged.append(task.judged(answers, truths))
    seen = seen_counts(variants, labelled.folder, names)
    unlisted = len(labelled.truths.keys() - labelled.folder.files.keys())
    unreadable = {UNREADABLE: tally[UNREADABLE]} if tally[UNREADABLE] else {}
    return tuple(
        replace(
            row,
            quality=quality(own),
            pairing=None if own is judged[0] else paired(judged[0], own),
            seen=count,
        )
        for row, own, count in zip(rows, judged, seen, strict=True)
    ), Material(
        folder=labelled.folder.path,
        images=len(names),
        ungradable=unlisted + tally["ungradable"],
        left_out=labelled.left_out | unreadable,
    )


def _alike(variants: Sequence[Variant]) -> list[list[int]]:
    """The places of variants that are given the same pixels, whatever they call their tensor."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, variant in enumerate(variants):
        groups[variant.manifest.input.model_copy(update={"tensor": ""}).model_dump_json()].append(
            place
        )
    return list(groups.values())


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
    paths: Sequence[Path], pace: Pace, images: ImageRequest | None, progress: Progress
) -> Comparison:
    """Measure models, and judge their answers where labelled images are given."""
    with sigterm_as_interrupt(), ExitStack() as held:
        variants = opened_variants(paths, held, progress)
        labelled = _labelled(variants, images, progress)
        subjects, starts = started_subjects(variants, pace, held, progress)
        measured = timings(subjects, starts, pace, progress)
        rows = tuple(
            Row(variant.name, variant.manifest, variant.package.network_bytes, timing)
            for variant, timing in zip(variants, measured, strict=True)
        )
        material = None
        if labelled is not None:
            rows, material = _judged(rows, variants, subjects, labelled, progress)
    return Comparison(rows, pace, material)


def _labelled(
    variants: Sequence[Variant], images: ImageRequest | None, progress: Progress
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
    found = task_named(first.task).labelled_images(images, first, progress)
    if found.folder.is_prepared:
        for variant in variants[1:]:
            find_images(images.folder, variant.manifest)
    return found


def _question(manifest: Manifest) -> str:
    return f"{manifest.task} with the labels {', '.join(manifest.labels[:10])}"
