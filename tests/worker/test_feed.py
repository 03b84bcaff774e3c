from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prumo_worker.data.dataset import Dataset, Feed


def numbered(count: int) -> Dataset:
    """Images of one pixel whose label is their position."""
    images: np.ndarray = (np.arange(count) % 256).astype(np.uint8).reshape(count, 1, 1, 1)
    return Dataset(images, np.arange(count, dtype=np.int64), classes=count, source="generated")


@given(count=st.integers(1, 300), batch_size=st.integers(1, 350), epoch=st.integers(1, 5))
def test_an_epoch_gives_every_image_once_in_batches(
    count: int, batch_size: int, epoch: int
) -> None:
    labels = [labels for _, labels in Feed(numbered(count), batch_size, seed=1).epoch(epoch)]
    assert sorted(np.concatenate(labels)) == list(range(count))
    assert all(len(batch) == batch_size for batch in labels[:-1])
    assert len(labels[-1]) == (count - 1) % batch_size + 1


def test_images_keep_their_labels_and_become_floats_from_minus_one_to_one() -> None:
    for images, labels in Feed(numbered(256), batch_size=100, seed=1).epoch(1):
        assert images.dtype == np.float32
        assert labels.dtype == np.int64
        np.testing.assert_allclose(images.ravel(), labels / 127.5 - 1, atol=1e-6)


def order(seed: int, epoch: int) -> list[int]:
    ((_, labels),) = Feed(numbered(50), batch_size=50, seed=seed).epoch(epoch)
    return [int(label) for label in labels]


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    assert order(seed=1, epoch=1) == order(seed=1, epoch=1)
    assert order(seed=1, epoch=1) != order(seed=1, epoch=2)
    assert order(seed=1, epoch=1) != order(seed=2, epoch=1)


def test_the_warm_up_meets_every_batch_size_of_the_epoch() -> None:
    feed = Feed(numbered(100), batch_size=30, seed=1)
    assert [len(labels) for _, labels in feed.warm_up(3)] == [30, 30, 10]


@pytest.mark.parametrize("steps", [1, 2])
def test_the_shortest_warm_up_meets_the_last_batch_size_too(steps: int) -> None:
    feed = Feed(numbered(100), batch_size=30, seed=1)
    assert [len(labels) for _, labels in feed.warm_up(steps)] == [30, 10]


@pytest.mark.parametrize("batch_size", [25, 100, 300])
def test_a_single_warm_up_step_is_enough_for_a_single_batch_size(batch_size: int) -> None:
    feed = Feed(numbered(100), batch_size, seed=1)
    assert [len(labels) for _, labels in feed.warm_up(1)] == [min(batch_size, 100)]


def test_the_warm_up_may_be_longer_than_the_data() -> None:
    feed = Feed(numbered(10), batch_size=10, seed=1)
    assert [len(labels) for _, labels in feed.warm_up(4)] == [10, 10, 10, 10]
