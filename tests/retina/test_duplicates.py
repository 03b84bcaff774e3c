"""The same photograph twice is found however it was saved; other eyes are not taken for it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from prumo_retina.dataset.finding import Finding, find_duplicates, fingerprint
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_retina.fundus.prepared import prepared
from prumo_retina.photograph.pixels import Photograph
from support.fundus_factory import fundus, no_fundus

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = (640, 480)


def taken(seed: int) -> Image.Image:
    return Image.fromarray(fundus(*SIZE, grade=2, seed=seed).pixels)


def printed(picture: Image.Image) -> str:
    pixels = np.asarray(picture)
    result = prepared(Photograph(pixels, *picture.size), Preparation())
    assert result.pixels is not None
    return fingerprint(result.pixels)


def found(name: str, print_: str, sha256: str = "") -> Finding:
    return Finding(name, Verdict.GOOD, sha256=sha256 or name, fingerprint=print_)


def saved_again(picture: Image.Image) -> Image.Image:
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=60)
    return Image.open(stream)


def names(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(duplicate.image, duplicate.of) for duplicate in find_duplicates(findings)]


@pytest.mark.parametrize(
    "change",
    [
        saved_again,
        lambda picture: picture.reduce(2),
        lambda picture: picture.resize((1000, 750)),
        lambda picture: ImageEnhance.Brightness(picture).enhance(1.25),
        lambda picture: ImageEnhance.Brightness(picture).enhance(0.7),
        lambda picture: ImageEnhance.Color(picture).enhance(0.6),
        lambda picture: picture.crop((4, 2, picture.width - 6, picture.height - 3)),
        lambda picture: ImageOps.expand(picture, 40),
    ],
)
def test_a_copy_is_found(change: Callable[[Image.Image], Image.Image]) -> None:
    others = [found(f"other{seed}", printed(taken(seed))) for seed in (2, 3)]
    copy = found("copy", printed(change(taken(1))))

    assert names([found("first", printed(taken(1))), *others, copy]) == [("copy", "first")]


def test_other_eyes_and_the_other_eye_are_no_copies() -> None:
    pictures = [taken(seed) for seed in range(1, 7)]
    pictures.append(ImageOps.mirror(pictures[0]))
    findings = [found(str(number), printed(picture)) for number, picture in enumerate(pictures)]

    assert find_duplicates(findings) == ()


def test_a_copy_of_a_copy_is_one_of_the_first() -> None:
    picture = taken(1)
    prints = [printed(picture), printed(picture.reduce(2)), printed(saved_again(picture))]
    findings = [found(str(number), print_) for number, print_ in enumerate(prints)]

    assert names(findings) == [("1", "0"), ("2", "0")]


def test_the_same_file_is_told_from_the_same_photograph() -> None:
    print_ = printed(taken(1))
    duplicates = find_duplicates(
        [found("a", print_, "f00"), found("b", print_, "f00"), found("c", print_, "ba4")]
    )

    assert [duplicate.kind for duplicate in duplicates] == ["same file", "same photograph"]
    assert all(duplicate.correlation == pytest.approx(1) for duplicate in duplicates)


def test_photographs_that_show_nothing_are_no_copies_of_each_other() -> None:
    assert fingerprint(np.full((299, 299, 3), 90, np.uint8)) == ""
    assert names([found("a", ""), found("b", "")]) == []


def test_noise_is_no_copy_of_other_noise() -> None:
    prints = [fingerprint(no_fundus(299, 299, seed=seed)) for seed in range(8)]

    assert names([found(str(number), print_) for number, print_ in enumerate(prints)]) == []


def test_more_photographs_than_one_block_are_all_compared() -> None:
    generator = np.random.default_rng(1)
    prints = [fingerprint(generator.integers(0, 255, (64, 64, 3), np.uint8)) for _ in range(1100)]
    findings = [found(str(number), print_) for number, print_ in enumerate(prints)]
    findings += [found(f"copy of {number}", prints[number]) for number in (0, 1023, 1024, 1099)]

    assert names(findings) == [
        (f"copy of {number}", str(number)) for number in (0, 1023, 1024, 1099)
    ]
