from __future__ import annotations

import gzip
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo_worker.data.catalog import CATALOG
from prumo_worker.data.dataset import open_dataset
from prumo_worker.data.resize import resized
from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from pathlib import Path

RANDOM = np.random.default_rng(1)
PICTURES = RANDOM.integers(0, 256, size=(30, 28, 28), dtype=np.uint8)
LABELS: np.ndarray = (np.arange(30) % 10).astype(np.uint8)


def idx_bytes(array: np.ndarray) -> bytes:
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def mnist_folder(
    folder: Path, images: bytes = idx_bytes(PICTURES), labels: bytes = idx_bytes(LABELS)
) -> Path:
    (folder / "train-images-idx3-ubyte").write_bytes(images)
    (folder / "train-labels-idx1-ubyte").write_bytes(labels)
    return folder


def read(path: Path, name: str = "mnist", **choices: Any) -> Any:
    return open_dataset(
        name, **{"image_size": None, "images": None, "seed": 1, **choices}, path=path
    )


@pytest.mark.parametrize("name", CATALOG)
def test_a_known_data_set_without_a_path_is_generated_in_its_own_shape(name: str) -> None:
    card = CATALOG[name]
    dataset = open_dataset(name, image_size=None, images=100, seed=1, path=None)
    assert dataset.source == "generated"
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


def test_more_images_than_a_data_set_has_are_refused() -> None:
    with pytest.raises(DataError, match="mnist: has 60000 images, 60001 were asked for"):
        open_dataset("mnist", image_size=None, images=60_001, seed=1, path=None)


def test_an_unknown_name_without_a_path_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DataError, match="'minst'; known: mnist, fashion_mnist, cifar10, generated"):
        open_dataset("minst", image_size=None, images=None, seed=1, path=None)


def test_idx_files_are_read_as_they_are(tmp_path: Path) -> None:
    dataset = read(mnist_folder(tmp_path))
    np.testing.assert_array_equal(dataset.images[:, 0], PICTURES)
    np.testing.assert_array_equal(dataset.labels, LABELS)
    assert dataset.labels.dtype == np.int64
    assert (dataset.classes, dataset.source) == (10, str(tmp_path))


@pytest.mark.parametrize("separator", ["-", "."])
def test_idx_files_may_be_gzip_and_have_a_dot_in_their_names(
    tmp_path: Path, separator: str
) -> None:
    (tmp_path / f"train-images{separator}idx3-ubyte.gz").write_bytes(
        gzip.compress(idx_bytes(PICTURES))
    )
    (tmp_path / f"train-labels{separator}idx1-ubyte.gz").write_bytes(
        gzip.compress(idx_bytes(LABELS))
    )
    np.testing.assert_array_equal(read(tmp_path).images[:, 0], PICTURES)


def test_the_first_images_are_taken_and_resized(tmp_path: Path) -> None:
    dataset = read(mnist_folder(tmp_path), images=7, image_size=32)
    assert dataset.images.shape == (7, 1, 32, 32)
    np.testing.assert_array_equal(dataset.labels, LABELS[:7])


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"images": idx_bytes(PICTURES)[:-1]}, "announces 23520 bytes of data and holds 23519"),
        ({"images": idx_bytes(PICTURES) + b"x"}, "announces 23520 bytes of data and holds 23521"),
        ({"images": b"\0\0\x08"}, "ends within its header"),
        ({"images": idx_bytes(LABELS) * 9}, "begins with 00000801, not with 00000803"),
        ({"labels": idx_bytes(LABELS[:-1])}, "30 images but 29 labels"),
        ({"labels": idx_bytes(LABELS + 1)}, "labels must be from 0 to 9; these are from 1 to 10"),
        (
            {"images": idx_bytes(PICTURES[:0]), "labels": idx_bytes(LABELS[:0])},
            "holds no images",
        ),
    ],
)
def test_a_broken_idx_file_is_refused_by_name(
    tmp_path: Path, files: dict[str, bytes], reason: str
) -> None:
    with pytest.raises(DataError, match=f"train-(images|labels)-idx.-ubyte: .*{reason}"):
        read(mnist_folder(tmp_path, **files))


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    mnist_folder(tmp_path)
    (tmp_path / "train-images-idx3-ubyte").unlink()
    content = gzip.compress(idx_bytes(PICTURES))
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"idx3-ubyte\.gz: is not whole"):
        read(tmp_path)


def test_a_folder_without_images_and_an_absent_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds neither train-images-idx3-ubyte nor"):
        read(tmp_path)
    with pytest.raises(DataError, match="there is no such file or folder"):
        read(tmp_path / "absent")


COLOURED = RANDOM.integers(0, 256, size=(12, 3, 32, 32), dtype=np.uint8)


@pytest.mark.parametrize("keys", [("x", "y"), ("images", "labels"), ("x_train", "y_train")])
@pytest.mark.parametrize("channels_last", [True, False])
def test_an_npz_file_is_read_in_either_layout(
    tmp_path: Path, keys: tuple[str, str], channels_last: bool
) -> None:
    images = COLOURED.transpose(0, 2, 3, 1) if channels_last else COLOURED
    labels: np.ndarray = np.arange(12)[:, None] % 10
    arrays: dict[str, Any] = dict(zip(keys, (images, labels), strict=True))
    np.savez(tmp_path / "cifar10.npz", **arrays)
    for path in (tmp_path, tmp_path / "cifar10.npz"):
        dataset = read(path, "cifar10")
        np.testing.assert_array_equal(dataset.images, COLOURED)
        np.testing.assert_array_equal(dataset.labels, labels[:, 0])


def test_images_of_ones_own_have_as_many_classes_as_their_labels_say(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=COLOURED, y=np.arange(12) % 4)
    assert read(tmp_path, "own").classes == 4


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x": COLOURED}, "holds x; needs one pair of x_train/y_train, images/labels, x/y"),
        ({"x": COLOURED / 255, "y": np.arange(12)}, "images must be uint8, these are float64"),
        ({"x": COLOURED[0, 0], "y": np.arange(32)}, "no images of 1 or 3 channels"),
        ({"x": COLOURED, "y": np.ones(12)}, "labels must be whole numbers"),
        ({"x": COLOURED, "y": np.zeros((12, 10), dtype=int)}, "needs one label for each image"),
        ({"x": COLOURED, "y": np.arange(12) - 1}, "labels must be from 0 to 10; these are from -1"),
        ({"x": COLOURED[..., 1:], "y": np.arange(12)}, "images are 32x31; an image_size"),
    ],
)
def test_an_npz_file_that_does_not_fit_is_refused(
    tmp_path: Path, arrays: dict[str, Any], reason: str
) -> None:
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(DataError, match=reason):
        read(tmp_path / "own.npz", "own")


def test_channels_that_a_known_data_set_lacks_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "mnist.npz", x=COLOURED, y=np.arange(12) % 10)
    with pytest.raises(DataError, match="mnist has 1 channels, these have 3"):
        read(tmp_path)


def test_an_npz_file_is_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=np.array([{"a": 1}], dtype=object), y=np.arange(1))
    with pytest.raises(DataError, match="not a whole npz file of plain arrays"):
        read(tmp_path, "own")


@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_a_truncated_npz_file_is_refused(tmp_path: Path, keep: int) -> None:
    file = tmp_path / "own.npz"
    np.savez(file, x=COLOURED, y=np.arange(12))
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"own\.npz: is not a whole npz file"):
        read(tmp_path, "own")


def test_resizing_mixes_the_nearest_pixels_linearly() -> None:
    row = np.array([[[[0, 100], [0, 100]]]], dtype=np.uint8)
    expected = [0, 25, 75, 100]
    np.testing.assert_array_equal(resized(row, 4)[0, 0], [expected] * 4)


def test_resizing_to_half_takes_the_mean_of_four() -> None:
    images = RANDOM.integers(0, 256, size=(5, 3, 64, 64), dtype=np.uint8)
    mean = images.reshape(5, 3, 32, 2, 32, 2).mean(axis=(3, 5))
    np.testing.assert_array_equal(resized(images, 32), np.rint(mean))


def test_resizing_many_images_is_resizing_each() -> None:
    images = RANDOM.integers(0, 256, size=(90, 1, 28, 28), dtype=np.uint8)
    each = np.concatenate([resized(images[i : i + 1], 224) for i in range(90)])
    np.testing.assert_array_equal(resized(images, 224), each)
