"""What variants answer to labelled images, each of them prepared once for all that can share it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import DataError
from prumo.model.answer import answer
from prumo.model.comparison.quality import Judged
from prumo.model.comparison.seen_photographs import seen_counts
from prumo.model.image_folder import network_images
from prumo.model.preprocessing import PreparedImage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    from prumo.model.comparison.labelled_images import LabelledImages
    from prumo.model.comparison.subject import Subject
    from prumo.model.comparison.variant import Variant
    from prumo.progress import Progress

UNREADABLE = "unreadable"
# An answer needs nothing of an image that can be judged.
_JUDGED = PreparedImage(None, None, 0, 0)


@dataclass(frozen=True)
class Material:
    """What the answers were judged on."""

    folder: Path
    images: int
    ungradable: int
    """With a label, but nobody can judge them, so that no network was asked."""
    left_out: dict[str, int]


@dataclass(frozen=True)
class GivenAnswers:
    """The answers of every variant to the same images."""

    judged: tuple[Judged, ...]
    seen: tuple[int | None, ...]
    """How many of the images each variant has learnt from; None if nobody says."""
    material: Material


def given_answers(
    variants: Sequence[Variant],
    subjects: Sequence[Subject],
    labelled: LabelledImages,
    progress: Progress,
) -> GivenAnswers:
    """Ask every variant about every image that has a label and can be judged.

    Raises:
        DataError: No image can be judged.
    """
    tally: Counter[str] = Counter()
    scores: list[dict[str, np.ndarray]] = [{} for _ in variants]
    for places in _alike(variants):
        tally = Counter()
        manifest = variants[places[0]].manifest
        names = [name for name in labelled.truths if name in labelled.folder.files]
        for image in network_images(labelled.folder, names, manifest):
            progress.show("asking about images", f"{tally.total() + 1} of {len(names)}")
            tally["asked" if image.pixels is not None else _kind(image.is_ungradable)] += 1
            if image.pixels is not None:
                for place in places:
                    # One at a time: the ranges of dynamic int8 depend on all of a batch.
                    scores[place][image.name] = subjects[place].scores(image.pixels[None])[0]
    everywhere = [name for name in labelled.truths if all(name in rows for rows in scores)]
    if not everywhere:
        raise DataError(f"no image of {labelled.folder.path} with a label can be judged")
    truths = tuple(labelled.truths[name] for name in everywhere)
    judged = tuple(
        Judged(
            task=variant.manifest.task,
            answers=tuple(answer(variant.manifest, rows[name], _JUDGED) for name in everywhere),
            truths=truths,
        )
        for variant, rows in zip(variants, scores, strict=True)
    )
    unlisted = len(labelled.truths.keys() - labelled.folder.files.keys())
    left_out = dict(labelled.left_out)
    if tally[UNREADABLE]:
        left_out[UNREADABLE] = tally[UNREADABLE]
    return GivenAnswers(
        judged,
        seen_counts(variants, labelled.folder, everywhere),
        Material(
            folder=labelled.folder.path,
            images=len(everywhere),
            ungradable=unlisted + tally["ungradable"],
            left_out=left_out,
        ),
    )


def _kind(is_ungradable: bool) -> str:
    return "ungradable" if is_ungradable else UNREADABLE


def _alike(variants: Sequence[Variant]) -> list[list[int]]:
    """The places of variants that are given the same pixels, whatever they call their tensor."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, variant in enumerate(variants):
        groups[variant.manifest.input.model_copy(update={"tensor": ""}).model_dump_json()].append(
            place
        )
    return list(groups.values())
