from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo_worker.data import CATALOG
from prumo_worker.data.dataset import Feed, open_dataset
from prumo_worker.task import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IMAGES = np.random.default_rng(1).integers(0, 256, size=(30, 3, 8, 8), dtype=np.uint8)
LABELS: np.ndarray = np.arange(30) % 10


@pytest.mark.parametrize("name", CATALOG)
def test_a_known_data_set_without_a_path_is_generated_in_its_own_shape(name: str) -> None:
    card = CATALOG[name]
    dataset = open_dataset(name, image_size=None, images=card.classes, seed=1, path=None)
    assert dataset.source == "generated"
    assert dataset.content == ""
    assert dataset.shape == (card.channels, card.image_size, card.image_size)
    assert dataset.images.dtype == np.uint8
    assert sorted(set(dataset.labels)) == list(range(card.classes))


def test_generated_images_are_as_many_as_the_data_set_has() -> None:
    dataset = open_dataset("mnist", image_size=None, images=None, seed=1, path=None)
    assert dataset.images.shape == (60_000, 1, 28, 28)
    assert len(dataset.labels) == 60_000


def test_generated_images_come_in_the_size_and_number_asked_for() -> None:
    dataset = open_dataset("generated", image_size=50, images=2000, seed=1, path=None)
    assert dataset.images.shape == (2000, 3, 50, 50)


def test_generated_images_depend_on_the_seed_alone() -> None:
    one, again, other = (
        open_dataset("cifar10", image_size=None, images=20, seed=seed, path=None).images
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_generated_classes_can_be_told_apart() -> None:
    dataset = open_dataset("generated", image_size=None, images=400, seed=1, path=None)
    flat: np.ndarray = dataset.images.reshape(400, -1).astype(np.float64)
    centres = np.stack([flat[:200][dataset.labels[:200] == label].mean(0) for label in range(10)])
    nearest = ((flat[200:, None] - centres) ** 2).sum(2).argmin(1)
    np.testing.assert_array_equal(nearest, dataset.labels[200:])


def test_generated_images_may_be_of_one_class_only() -> None:
    dataset = open_dataset("cifar10", None, images=20, seed=1, path=None, only_class=7)
    assert set(dataset.labels) == {7}
    assert dataset.classes == 10
    with pytest.raises(DataError, match="cifar10: its classes are 0 to 9, not 10"):
        open_dataset("cifar10", None, images=20, seed=1, path=None, only_class=10)


def test_more_images_than_a_data_set_has_are_refused() -> None:
    with pytest.raises(DataError, match="mnist: has 60000 images, 60001 were asked for"):
        open_dataset("mnist", image_size=None, images=60_001, seed=1, path=None)


def test_an_unknown_name_without_a_path_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DataError, match="'minst'; known: mnist, fashion_mnist, cifar10, imagenet"):
        open_dataset("minst", image_size=None, images=None, seed=1, path=None)


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """As the controller writes it."""
    np.save(tmp_path / "images.npy", IMAGES)
    np.save(tmp_path / "labels.npy", LABELS)
    card = {"images": 30, "shape": [3, 8, 8], "classes": 12, "source": "/data", "content": "ab1"}
    (tmp_path / "card.json").write_text(json.dumps(card))
    return tmp_path


def opened(folder: Path, **choices: Any) -> Any:
    return open_dataset("own", **{"image_size": 8, "images": None, **choices}, seed=1, path=folder)


def test_prepared_images_are_mapped_and_not_read(prepared: Path) -> None:
    dataset = opened(prepared)
    np.testing.assert_array_equal(dataset.images, IMAGES)
    np.testing.assert_array_equal(dataset.labels, LABELS)
    assert isinstance(dataset.images.base, np.memmap)
    assert not dataset.images.flags.writeable
    assert (dataset.classes, dataset.source, dataset.content) == (12, "/data", "ab1")


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_batches_of_prepared_images_come_in_the_layout_asked_for(
    prepared: Path, layout: str
) -> None:
    for _ in range(2):
        feed = Feed(opened(prepared), batch_size=7, seed=1, layout=layout)
        plain = Feed(opened(prepared), batch_size=7, seed=1)
        for (images, labels), (expected, same) in zip(feed.epoch(1), plain.epoch(1), strict=True):
            turned = expected if layout == "NCHW" else expected.transpose(0, 2, 3, 1)
            np.testing.assert_array_equal(images, turned)
            np.testing.assert_array_equal(labels, same)
            assert images.flags.c_contiguous


def test_another_layout_is_written_once_beside_the_first(prepared: Path) -> None:
    opened(prepared).arranged("NHWC")
    file = prepared / "images-nhwc.npy"
    np.testing.assert_array_equal(np.load(file), IMAGES.transpose(0, 2, 3, 1))
    before = file.stat().st_ino
    opened(prepared).arranged("NHWC")
    assert file.stat().st_ino == before
    assert not [inside for inside in prepared.iterdir() if inside.name.startswith(".")]


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b"cut"),
        lambda file: np.save(file, IMAGES[:20].transpose(0, 2, 3, 1)),
        lambda file: np.save(file, IMAGES.transpose(0, 2, 3, 1).astype(np.float32)),
    ],
    ids=["cut", "fewer", "floats"],
)
def test_another_layout_that_is_not_of_these_images_is_written_anew(
    prepared: Path, damage: Callable[[Path], object]
) -> None:
    damage(prepared / "images-nhwc.npy")
    for _ in range(2):
        images = opened(prepared).arranged("NHWC")
        assert images.dtype == np.uint8
        np.testing.assert_array_equal(images, IMAGES.transpose(0, 2, 3, 1))


@pytest.mark.root
def test_a_cache_that_cannot_be_written_is_arranged_in_memory(prepared: Path) -> None:
    subprocess.run(["mount", "--bind", str(prepared), str(prepared)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", prepared], check=True)
        images = opened(prepared).arranged("NHWC")
        np.testing.assert_array_equal(images, IMAGES.transpose(0, 2, 3, 1))
        assert images.flags.c_contiguous
        assert not (prepared / "images-nhwc.npy").exists()
    finally:
        subprocess.run(["umount", prepared], check=True)


def test_grey_images_lie_the_same_in_every_layout(prepared: Path) -> None:
    np.save(prepared / "images.npy", IMAGES[:, :1])
    card = json.loads((prepared / "card.json").read_text())
    (prepared / "card.json").write_text(json.dumps(card | {"shape": [1, 8, 8]}))
    turned = opened(prepared).arranged("NHWC")
    np.testing.assert_array_equal(turned, IMAGES[:, :1].transpose(0, 2, 3, 1))
    assert not (prepared / "images-nhwc.npy").exists()


@pytest.mark.parametrize("choice", [{"image_size": 16}, {"images": 7}])
def test_images_that_were_prepared_otherwise_are_refused(
    prepared: Path, choice: dict[str, int]
) -> None:
    with pytest.raises(DataError, match="holds 30 images of 8 pixels"):
        opened(prepared, **choice)


def test_a_folder_that_is_not_prepared_is_refused(prepared: Path) -> None:
    np.save(prepared / "labels.npy", LABELS[:5])
    with pytest.raises(DataError, match=r"its arrays are not those of its card\.json"):
        opened(prepared)
    (prepared / "images.npy").write_bytes(b"cut")
    with pytest.raises(DataError, match=r"images\.npy: cannot be read"):
        opened(prepared)
    (prepared / "card.json").unlink()
    with pytest.raises(DataError, match="is not a prepared data set"):
        opened(prepared)
