"""Images whose right answer is known: from tables, names of folders and prepared photographs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PIL import Image

from prumo.errors import DataError, InputError
from prumo.progress import Silent
from prumo_serve.compare.quality import ImageRequest
from prumo_serve.task import task_named
from support.model_packages import write_colour_package
from support.prepared_photographs import entry, graded, prepared_folder

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.compare.quality import LabelledImages
    from prumo_serve.manifest import Manifest


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return write_colour_package(tmp_path / "colours")


@pytest.fixture
def retina(tmp_path: Path) -> Manifest:
    return write_colour_package(tmp_path / "retina", "referral")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """a.png, b.png, and x/a.png."""
    folder = tmp_path / "images"
    (folder / "x").mkdir(parents=True)
    for name in ("a.png", "b.png", "x/a.png"):
        Image.new("RGB", (8, 8)).save(folder / name)
    return folder


def test_a_table_names_images_by_path_or_by_file_name(images: Path, manifest: Manifest) -> None:
    (images / "labels.csv").write_text(
        "Image, Label\na.png,red\nx/a.png,green\nb.png,blue\nc.png,red\n", "utf-8"
    )

    assert _places(_found(images, manifest)) == {"a.png": 0, "b.png": 2, "x/a.png": 1}


def test_a_table_may_lie_elsewhere(images: Path, manifest: Manifest, tmp_path: Path) -> None:
    table = tmp_path / "truth.csv"
    table.write_text("filename,class\nb.png,blue\n", "utf-8")

    found = _found(images, manifest, table)

    assert _places(found) == {"b.png": 2}
    assert found.left_out == {"without a label": 2}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("image,label\na.png,purple\n", r"labels.csv:2: 'purple' is no label of the model"),
        ("image,label\na.png,red\na.png,blue\n", r"labels.csv:3: a.png has two labels"),
        ("image,label\nz.png,red\n", "no line fits an image; its first names 'z.png'"),
        ("image,label\n", "no line with a label"),
        ("picture,label\na.png,red\n", "no column image or file"),
        ("", "no column image or file or filename or name or path; it has none"),
        ('image,label\n"a.png,red\n', "cannot be read"),
    ],
)
def test_a_table_that_is_wrong_says_where(
    images: Path, manifest: Manifest, text: str, told: str
) -> None:
    (images / "labels.csv").write_text(text, "utf-8")

    with pytest.raises(DataError, match=told):
        _found(images, manifest)


def test_a_table_in_another_encoding_is_an_error(images: Path, manifest: Manifest) -> None:
    (images / "labels.csv").write_bytes(b"image,label\n\xff.png,red\n")

    with pytest.raises(DataError, match="cannot be read"):
        _found(images, manifest)


def test_a_table_that_is_not_there_is_an_error(images: Path, manifest: Manifest) -> None:
    with pytest.raises(DataError, match="there is no labels file"):
        _found(images, manifest, images / "nowhere.csv")


def test_folders_that_are_named_otherwise_are_told(images: Path, manifest: Manifest) -> None:
    with pytest.raises(DataError, match="has folders named x, which are no labels"):
        _found(images, manifest)


def test_images_without_any_label_are_refused(images: Path, manifest: Manifest) -> None:
    (images / "x" / "a.png").unlink()

    with pytest.raises(InputError, match=r"no image of .* has a label: give --labels"):
        _found(images, manifest)


def test_photographs_are_graded_as_for_a_preparation(images: Path, retina: Manifest) -> None:
    (images / "grades.csv").write_text("id_code,diagnosis\na,3\nb,0\n", "utf-8")
    (images / "x" / "a.png").rename(images / "x" / "c.png")

    assert _places(_found(images, retina)) == {"a.png": 3, "b.png": 0}


def test_a_subset_of_prepared_photographs_is_taken_without_duplicates(
    tmp_path: Path, retina: Manifest
) -> None:
    again = entry(7, 0, duplicate_of="eye-0000")
    folder = prepared_folder(tmp_path / "data", [*graded(3, 3), again])
    rows = "".join(f"eye-000{number},{'test' if number < 8 else 'train'}\n" for number in range(9))
    (folder / "split.csv").write_text(f"image,subset\n{rows}".replace("2,test", "2,train"), "utf-8")

    found = _found(folder, retina, subset="test")

    assert set(found.truths) == {"eye-0000", "eye-0001", "eye-0003", "eye-0004", "eye-0005"}
    assert found.left_out == {"duplicates of others": 1}
    with pytest.raises(DataError, match="did you mean 'test'"):
        _found(folder, retina, subset="tset")


def test_a_subset_needs_a_split(tmp_path: Path, images: Path, retina: Manifest) -> None:
    folder = prepared_folder(tmp_path / "data", graded(3, 3))

    with pytest.raises(DataError, match=r"has no split.csv"):
        _found(folder, retina, subset="test")
    with pytest.raises(InputError, match="only a folder that `prumo retina convert` has split"):
        _found(images, retina, subset="test")


def test_prepared_photographs_have_their_labels_already(tmp_path: Path, retina: Manifest) -> None:
    folder = prepared_folder(tmp_path / "data", graded(3, 3))

    with pytest.raises(InputError, match="--labels goes with photographs"):
        _found(folder, retina, tmp_path / "labels.csv")


def _found(
    folder: Path, manifest: Manifest, labels: Path | None = None, subset: str = "all"
) -> LabelledImages:
    request = ImageRequest(folder, labels, subset)
    return task_named(manifest.task).labelled_images(request, manifest, Silent())


def _places(found: LabelledImages) -> dict[str, int]:
    return {name: truth.place for name, truth in found.truths.items()}
