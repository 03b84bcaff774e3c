from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from prumo.datasets import source
from prumo.datasets.source import resized

RANDOM = np.random.default_rng(2)


def all_of(images: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate(list(resized(images, size)))


def test_enlarging_mixes_the_nearest_pixels_linearly() -> None:
    row = np.array([[[[0, 100], [0, 100]]]], dtype=np.uint8)
    np.testing.assert_array_equal(all_of(row, 4)[0, 0], [[0, 25, 75, 100]] * 4)


def test_shrinking_smooths_what_would_become_a_false_pattern() -> None:
    stripes = np.zeros((1, 1, 64, 64), dtype=np.uint8)
    stripes[..., ::2] = 255
    inner = all_of(stripes, 16)[0, 0, :, 1:-1]
    assert set(inner.ravel()) <= {127, 128}


@pytest.mark.parametrize("shape", [(28, 28), (32, 32), (40, 61), (7, 300)])
@pytest.mark.parametrize("size", [32, 37, 64])
def test_the_rule_is_that_of_pillow(shape: tuple[int, int], size: int) -> None:
    images = RANDOM.integers(0, 256, size=(3, 3, *shape), dtype=np.uint8)
    for ours, image in zip(all_of(images, size), images, strict=True):
        picture = Image.fromarray(image.transpose(1, 2, 0))
        theirs = np.asarray(picture.resize((size, size), Image.Resampling.BILINEAR))
        np.testing.assert_allclose(ours, theirs.transpose(2, 0, 1), atol=1)


def test_images_of_the_right_size_stay_as_they_are() -> None:
    images = RANDOM.integers(0, 256, size=(5, 1, 8, 8), dtype=np.uint8)
    np.testing.assert_array_equal(all_of(images, 8), images)


def test_many_images_come_in_order_and_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    images = RANDOM.integers(0, 256, size=(90, 1, 28, 28), dtype=np.uint8)
    each = np.concatenate([all_of(images[i : i + 1], 40) for i in range(90)])
    monkeypatch.setattr(source, "_BLOCK_PIXELS", 7 * 1600)
    monkeypatch.setattr(source, "_CHUNK_PIXELS", 2 * 1600)
    blocks = list(resized(images, 40))
    assert [len(block) for block in blocks] == [7] * 12 + [6]
    np.testing.assert_array_equal(np.concatenate(blocks), each)
