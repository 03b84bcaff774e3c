"""Prepared once, whole or not there, whoever asks and whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.datasets.preparation import Prepared, Request, held, prepare, prepared_sets, remove
from prumo.datasets.source import Subset
from prumo.errors import BusyError, DataError, InputError, StorageError
from prumo_worker.data.dataset import open_dataset
from support import data_files as files
from support.data_files import COLOURED, GREY, LABELS
from support.heard_progress import Heard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def mnist(tmp_path: Path) -> Request:
    return Request("mnist", files.idx_folder(tmp_path / "mnist"), image_size=28)


def arrays(prepared: Prepared) -> tuple[np.ndarray, np.ndarray]:
    return np.load(prepared.folder / "images.npy"), np.load(prepared.folder / "labels.npy")


def test_images_and_labels_are_plain_arrays_with_a_card(mnist: Request, cache: Path) -> None:
    prepared = prepare(mnist)
    images, labels = arrays(prepared)
    np.testing.assert_array_equal(images, GREY[:, None])
    np.testing.assert_array_equal(labels, LABELS)
    card = json.loads((prepared.folder / "card.json").read_text())
    assert card["source"] == str(mnist.path)
    assert (card["images"], card["shape"], card["classes"]) == (30, [1, 28, 28], 10)
    assert prepared.folder.parent == cache / "data"


def test_the_worker_opens_what_was_prepared(mnist: Request) -> None:
    prepared = prepare(replace(mnist, image_size=32))
    dataset = open_dataset("mnist", 32, None, seed=1, path=prepared.folder)
    assert dataset.shape == (1, 32, 32)
    assert (dataset.source, dataset.content) == (str(mnist.path), prepared.content)
    np.testing.assert_array_equal(dataset.labels, LABELS)


def test_the_second_time_nothing_is_done(mnist: Request) -> None:
    first, second = Heard(), Heard()
    before = prepare(mnist, first)
    assert first.said == [f"preparing mnist at 28x28: 30 images in {first.said[0].split()[-2]} s"]
    assert prepare(mnist, second).created == before.created
    assert second.said == []


def test_size_subset_and_content_make_another_set(mnist: Request) -> None:
    requests = [
        mnist,
        replace(mnist, image_size=32),
        replace(mnist, subset=Subset(images=10)),
        replace(mnist, subset=Subset(only_class=3)),
    ]
    keys = [prepare(request).key for request in requests]
    files.idx_folder(mnist.path, images=files.idx_bytes(255 - GREY))
    keys.append(prepare(mnist).key)
    assert len(set(keys)) == 5


def test_files_that_were_moved_are_not_prepared_again(mnist: Request, tmp_path: Path) -> None:
    before = prepare(mnist)
    moved = replace(mnist, path=mnist.path.rename(tmp_path / "moved"))
    card = (before.folder / "card.json").read_bytes()
    heard = Heard()
    after = prepare(moved, heard)
    assert heard.said == []
    assert (after.key, after.created) == (before.key, before.created)
    assert (after.folder / "card.json").read_bytes() == card


def test_files_are_read_again_only_when_they_changed(
    mnist: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: Path) -> list[str]:
        heard = Heard()
        prepare(replace(mnist, path=path), heard)
        return heard.shown

    assert read(mnist.path) == read(mnist.path) == [f"reading {mnist.path}"]
    monkeypatch.setattr("prumo.datasets.preparation.SETTLED_SECONDS", -1.0)
    assert read(mnist.path) == [f"reading {mnist.path}"]
    assert read(mnist.path) == []
    moved = mnist.path.rename(tmp_path / "moved")
    assert read(moved) == [f"reading {moved}"]
    os.utime(moved / "train-images-idx3-ubyte")
    assert read(moved) == [f"reading {moved}"]


def test_another_class_folder_changes_the_number_of_classes(tmp_path: Path) -> None:
    folder = files.image_folder(tmp_path / "own")
    request = Request("own", folder, 32, Subset(only_class=0))
    assert prepare(request).classes == 3
    (folder / "d").mkdir()
    (folder / "d" / "1.png").write_bytes(files.png(GREY[0]))
    assert prepare(request).classes == 4


def test_one_class_keeps_its_number_and_the_others_their_place(tmp_path: Path) -> None:
    request = Request("cifar10", files.cifar_folder(tmp_path / "cifar"), 32)
    prepared = prepare(replace(request, subset=Subset(images=2, only_class=4)))
    images, labels = arrays(prepared)
    np.testing.assert_array_equal(images, COLOURED[[4, 14]])
    assert (labels.tolist(), prepared.classes) == ([4, 4], 10)


def test_a_known_name_decides_the_channels_of_encoded_images(tmp_path: Path) -> None:
    folder = files.image_folder(tmp_path / "own")
    assert prepare(Request("own", folder, 16)).shape == (3, 16, 16)
    assert prepare(Request("mnist", folder, 16)).shape == (1, 16, 16)


@pytest.mark.parametrize(
    ("dataset", "subset", "reason"),
    [
        ("mnist", Subset(images=31), "has 30 images, 31 were asked for"),
        ("mnist", Subset(images=4, only_class=2), "has 3 images of class 2, 4 were asked for"),
        ("mnist", Subset(only_class=11), "holds no images of class 11"),
        ("cifar10", Subset(), "its images have 1 channels where 3 are expected"),
    ],
)
def test_what_the_data_does_not_have_is_refused(
    mnist: Request, cache: Path, dataset: str, subset: Subset, reason: str
) -> None:
    with pytest.raises(DataError, match=reason):
        prepare(replace(mnist, dataset=dataset, subset=subset))
    assert not any((cache / "data").glob("*"))


@pytest.mark.parametrize(
    ("dataset", "labels", "reason"),
    [
        ("mnist", LABELS + 1, "labels must be from 0 to 9; these are from 1 to 10"),
        ("own", LABELS.astype(int) - 1, "labels must be from 0 to 8; these are from -1 to 8"),
        ("own", LABELS.astype(int) + 10**12, "labels must be from 0 to 999999"),
    ],
)
def test_labels_out_of_range_are_refused(
    tmp_path: Path, dataset: str, labels: np.ndarray, reason: str
) -> None:
    np.savez(tmp_path / f"{dataset}.npz", x=GREY, y=labels)
    with pytest.raises(DataError, match=reason):
        prepare(Request(dataset, tmp_path, 28))


def test_an_unreadable_image_leaves_nothing_behind(tmp_path: Path, cache: Path) -> None:
    folder = files.image_folder(tmp_path / "own")
    (folder / "b" / "028.png").write_bytes(files.png(GREY[0])[:60])
    with pytest.raises(DataError, match=r"b/028\.png: cannot be decoded"):
        prepare(Request("own", folder, 32))
    assert not list((cache / "data").iterdir())


@pytest.fixture
def small_disk(cache: Path) -> Iterator[Path]:
    cache.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", cache], check=True)
    yield cache
    subprocess.run(["umount", "-l", cache], check=True)


@pytest.mark.root
@pytest.mark.usefixtures("small_disk")
def test_a_lack_of_room_is_told_and_nothing_stays(mnist: Request, cache: Path) -> None:
    with pytest.raises(StorageError, match=r"need 0\.1 MB, more than is free in .*; PRUMO_CACHE"):
        prepare(replace(mnist, image_size=64))
    assert not list((cache / "data").iterdir())
    assert prepare(replace(mnist, image_size=16)).images == 30


@pytest.mark.root
def test_what_is_prepared_is_found_in_a_cache_that_cannot_be_written(
    mnist: Request, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prepare(mnist)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    monkeypatch.setattr("prumo.datasets.preparation.SETTLED_SECONDS", -1.0)
    moved = replace(mnist, path=mnist.path.rename(tmp_path / "moved"))
    assert prepare(moved).key == before.key


SCRIPT = """
import sys, time
from pathlib import Path
from prumo.datasets import preparation
from prumo.datasets.preparation import Request, prepare
class Slow:
    def say(self, text): print(text, flush=True)
    def show(self, text, detail=''): pass
flush = preparation._flush
def slow_flush(stream):
    flush(stream)
    print("writing", flush=True)
    while not Path(sys.argv[2]).exists():
        time.sleep(0.01)
preparation._flush = slow_flush
print(prepare(Request("mnist", Path(sys.argv[1]), 28), Slow()).key, flush=True)
"""


def start(mnist: Request, gate: Path) -> subprocess.Popen[str]:
    """A process that prepares, and stays in the middle of it until the gate is there."""
    words = [sys.executable, "-c", SCRIPT, str(mnist.path), str(gate)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


def test_a_killed_preparation_leaves_nothing_usable_and_is_swept(
    mnist: Request, cache: Path, tmp_path: Path
) -> None:
    with start(mnist, tmp_path / "gate") as process:
        assert line(process) == "writing"
        process.send_signal(signal.SIGKILL)
    assert list((cache / "data").iterdir())
    assert prepared_sets() == []
    prepared = prepare(replace(mnist, image_size=32))
    assert [folder.name for folder in (cache / "data").iterdir()] == [prepared.key]


def test_two_processes_at_once_prepare_once(mnist: Request, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = start(mnist, gate)
    assert line(first) == "writing"
    second = start(mnist, gate)
    assert line(second) == "mnist is being prepared by another process; waiting for it"
    gate.touch()
    told = [process.communicate(timeout=60)[0].split() for process in (first, second)]
    assert told[1] == [prepared_sets()[0].key]
    assert told[0][-1] == told[1][0]


def test_prepared_sets_are_removed_by_key_or_by_name(mnist: Request, cache: Path) -> None:
    small, large = (prepare(replace(mnist, image_size=size)) for size in (8, 16))
    own = prepare(Request("own", files.image_folder(mnist.path.parent / "own"), 8))
    assert [prepared.key for prepared in prepared_sets()] == [small.key, large.key, own.key]
    assert [prepared.key for prepared in remove(own.key)] == [own.key]
    assert {prepared.key for prepared in remove("mnist")} == {small.key, large.key}
    assert not list((cache / "data").iterdir())
    assert mnist.path.is_dir()
    with pytest.raises(InputError, match="no prepared data set is called 'mnist'"):
        remove("mnist")


def test_what_is_being_prepared_or_removed_elsewhere_is_not_removed(mnist: Request) -> None:
    key = prepare(mnist).key
    reason = f"the prepared data set {key} is being made or removed by another process"
    with held(key), pytest.raises(BusyError, match=reason):
        remove(key)


def test_images_are_written_where_room_cannot_be_reserved(
    mnist: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    np.testing.assert_array_equal(arrays(prepare(mnist))[0], GREY[:, None])


def test_a_file_that_a_worker_is_writing_beside_the_arrays_does_no_harm(mnist: Request) -> None:
    prepared = prepare(mnist)
    (prepared.folder / ".images-nhwc.npy.1").symlink_to("gone already")
    assert [found.key for found in prepared_sets()] == [prepared.key]


@pytest.mark.parametrize("name", ["card.json", "images.npy", "labels.npy"])
@pytest.mark.parametrize("keep", [None, 0, -1])
def test_a_set_that_is_not_whole_is_made_again(mnist: Request, name: str, keep: int | None) -> None:
    prepared = prepare(mnist)
    file = prepared.folder / name
    if keep is None:
        file.unlink()
    else:
        # A card ends with a new line that nobody needs.
        file.write_bytes(file.read_bytes().rstrip(b"\n")[:keep])
    assert prepared_sets() == []
    assert prepare(mnist).key == prepared.key
    assert len(prepared_sets()) == 1
