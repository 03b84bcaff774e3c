"""What every format must do, and how each refuses files that are wrong."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo.datasets.formats import find_source
from prumo.datasets.source import EVERYTHING, Subset
from prumo.errors import DataError
from support import data_files as files
from support.data_files import COLOURED, GREY, LABELS, idx_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHANNELS_LAST = COLOURED.transpose(0, 2, 3, 1)
NOISE = np.random.default_rng(3).integers(0, 256, size=(64, 64), dtype=np.uint8)
MIXED_SIZES = np.empty(2, dtype=object)
MIXED_SIZES[:] = [NOISE, NOISE[:16]]


def gzip_idx(folder: Path) -> Path:
    (folder / "train-images.idx3-ubyte.gz").write_bytes(gzip.compress(idx_bytes(GREY)))
    (folder / "train-labels.idx1-ubyte.gz").write_bytes(gzip.compress(idx_bytes(LABELS)))
    return folder


def one_idx_file(folder: Path) -> Path:
    return files.idx_folder(folder) / "train-images-idx3-ubyte"


def npz(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "own.npz", **arrays or {"x_train": CHANNELS_LAST, "y_train": LABELS})
    return folder


def npy_bytes(array: np.ndarray = GREY[:0], shape: tuple[int, ...] | None = None) -> bytes:
    """An array with its header, or with a header that announces another shape."""
    stream = io.BytesIO()
    kind = np.lib.format.dtype_to_descr(array.dtype)
    header = {"descr": kind, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + array.tobytes()


def cifar_archive(folder: Path, *, binary: bool) -> Path:
    inside = "cifar-10-batches-bin" if binary else "cifar-10-batches-py"
    batches = files.cifar_batches(binary=binary)
    content = files.tar_bytes({f"{inside}/{name}": batch for name, batch in batches.items()})
    name = f"cifar-10-{'binary' if binary else 'python'}.tar.gz"
    (folder / name).write_bytes(content)
    return folder


def unpacked_cifar(folder: Path) -> Path:
    files.cifar_folder(folder / "cifar-10-batches-bin")
    return folder


FORMATS: dict[str, Callable[[Path], Path]] = {
    "IDX": files.idx_folder,
    "IDX, gzip, with a dot": gzip_idx,
    "IDX, by one of its files": one_idx_file,
    "npz, channels last": npz,
    "npz, channels first": lambda folder: npz(folder, images=COLOURED, labels=LABELS[:, None]),
    "npz, grey": lambda folder: npz(folder, x=GREY, y=LABELS.astype(np.int32)),
    "npz, the file": lambda folder: npz(folder) / "own.npz",
    "CIFAR-10 binary": files.cifar_folder,
    "CIFAR-10 binary, unpacked": unpacked_cifar,
    "CIFAR-10 binary, archive": lambda folder: cifar_archive(folder, binary=True),
    "CIFAR-10 python": lambda folder: files.cifar_folder(folder, binary=False),
    "CIFAR-10 python, archive": lambda folder: cifar_archive(folder, binary=False),
    "TFRecord": files.tfrecord_folder,
    "TFRecord, gzip": lambda folder: files.tfrecord_folder(folder, compressed=True),
    "image folder": files.image_folder,
    "image folder, in train": lambda folder: files.image_folder(folder / "train").parent,
}


@pytest.fixture(params=FORMATS)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    folder = tmp_path / "set"
    folder.mkdir()
    return request.param, FORMATS[request.param](folder)


def expected(name: str) -> tuple[np.ndarray, np.ndarray]:
    images = GREY[:, None] if "IDX" in name or "grey" in name else COLOURED
    labels = np.arange(30) % 3 if "folder" in name else LABELS
    return images, labels.astype(np.int64)


def test_every_format_gives_the_same_images_and_labels(made: tuple[str, Path]) -> None:
    name, path = made
    images, labels = expected(name)
    pictures = find_source(path, "own").read()
    np.testing.assert_array_equal(pictures.labels, labels)
    assert pictures.labels.dtype == np.int64
    everything: np.ndarray = np.arange(30)
    channels = pictures.channels(everything, None)
    blocks = list(pictures.blocks(everything, channels, images.shape[2]))
    np.testing.assert_array_equal(np.concatenate(blocks), images)
    assert set(pictures.shapes()) == {images.shape[1:]}
    assert not list(pictures.faults())


def test_every_format_gives_single_images_in_order(made: tuple[str, Path]) -> None:
    name, path = made
    images, _ = expected(name)
    pictures = find_source(path, "own").read()
    chosen = np.array([0, 7, 29])
    blocks = list(pictures.blocks(chosen, images.shape[1], images.shape[2]))
    np.testing.assert_array_equal(np.concatenate(blocks), images[chosen])


def test_every_format_names_the_files_that_it_reads(made: tuple[str, Path]) -> None:
    _, path = made
    named = find_source(path, "own").files(EVERYTHING)
    assert named
    assert all(file.is_file() for file in named)
    assert not [file for file in named if "test" in file.name]


def refused(path: Path, dataset: str = "own") -> str:
    with pytest.raises(DataError) as caught:
        find_source(path, dataset).read()
    return str(caught.value)


def test_an_absent_an_empty_and_a_foreign_path_are_refused(tmp_path: Path) -> None:
    assert "there is no such file or folder" in refused(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    assert "holds no data set; Prumo reads IDX files" in refused(tmp_path / "empty")
    (tmp_path / "notes.txt").write_text("none")
    assert "holds no data set" in refused(tmp_path / "notes.txt")


class TestIdx:
    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ({"images": idx_bytes(GREY)[:-1]}, "announces 23520 bytes of data and holds 23519"),
            ({"images": idx_bytes(GREY) + b"x"}, "announces 23520 bytes of data and holds more"),
            ({"images": b"\0\0\x08"}, "ends within its header"),
            ({"images": idx_bytes(LABELS) * 9}, "begins with 00000801, not with 00000803"),
            ({"images": idx_bytes(GREY[:, :0])}, "its images have no pixels"),
            ({"labels": idx_bytes(LABELS[:-1])}, "30 images but 29 labels"),
        ],
    )
    def test_a_broken_file_is_refused_by_name(
        self, tmp_path: Path, content: dict[str, bytes], reason: str
    ) -> None:
        message = refused(files.idx_folder(tmp_path, **content))
        assert f"train-images-idx3-ubyte: {reason}" in message

    def test_a_truncated_gzip_file_is_refused(self, tmp_path: Path) -> None:
        gzip_idx(tmp_path)
        file = tmp_path / "train-images.idx3-ubyte.gz"
        file.write_bytes(file.read_bytes()[:900])
        assert "idx3-ubyte.gz: is not whole" in refused(tmp_path)

    @pytest.mark.parametrize("name", ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte.gz"])
    def test_a_file_of_the_test_part_is_refused(self, tmp_path: Path, name: str) -> None:
        (files.idx_folder(tmp_path) / name).write_bytes(idx_bytes(GREY[:5]))
        message = refused(tmp_path / name)
        assert f"{name}: only the training part is used; name the folder or" in message

    def test_a_file_that_holds_far_more_than_it_announces_is_not_read_whole(
        self, tmp_path: Path
    ) -> None:
        gzip_idx(tmp_path)
        bomb = gzip.compress(idx_bytes(GREY) + bytes(1 << 26))
        (tmp_path / "train-images.idx3-ubyte.gz").write_bytes(bomb)
        tracemalloc.start()
        try:
            assert "and holds more" in refused(tmp_path)
            assert tracemalloc.get_traced_memory()[1] < 1 << 23
        finally:
            tracemalloc.stop()

    def test_more_than_memory_holds_is_refused_before_it_is_read(self, tmp_path: Path) -> None:
        header = struct.pack(">HBB3I", 0, 8, 3, 1 << 20, 1 << 10, 1 << 10)
        message = refused(files.idx_folder(tmp_path, images=header))
        assert "train-images-idx3-ubyte: announces 1099.5 GB, more than the" in message

    def test_labels_without_images_are_refused(self, tmp_path: Path) -> None:
        (files.idx_folder(tmp_path) / "train-images-idx3-ubyte").unlink()
        assert "holds neither train-images-idx3-ubyte nor" in refused(tmp_path)


class TestNpz:
    @pytest.mark.parametrize(
        ("arrays", "reason"),
        [
            ({"x": COLOURED}, "holds x; needs one pair of x_train/y_train, images/labels, x/y"),
            ({"x": COLOURED / 255, "y": LABELS}, "images must be uint8, these are float64"),
            ({"x": COLOURED[0, 0], "y": np.arange(32)}, "no images of 1 or 3 channels"),
            ({"x": COLOURED[..., :0], "y": LABELS}, "no images of 1 or 3 channels"),
            ({"x": COLOURED, "y": np.ones(30)}, "labels must be whole numbers"),
            ({"x": COLOURED, "y": np.zeros((30, 10), dtype=int)}, "one label for each image"),
            ({"x": COLOURED, "y": np.arange(12)}, "30 images but 12 labels"),
            (
                {"x": MIXED_SIZES, "y": LABELS[:2]},
                "images of different sizes; give all images one size",
            ),
        ],
    )
    def test_arrays_that_do_not_fit_are_refused(
        self, tmp_path: Path, arrays: dict[str, Any], reason: str
    ) -> None:
        assert reason in refused(npz(tmp_path, **arrays))

    @pytest.mark.parametrize("keep", [0, 100, 5000])
    def test_a_truncated_file_is_refused(self, tmp_path: Path, keep: int) -> None:
        file = npz(tmp_path) / "own.npz"
        file.write_bytes(file.read_bytes()[:keep])
        assert "own.npz: is not a whole npz file" in refused(tmp_path)

    def test_an_array_that_is_no_archive_is_refused(self, tmp_path: Path) -> None:
        with (tmp_path / "own.npz").open("wb") as stream:
            np.save(stream, COLOURED)
        assert "own.npz: is not a whole npz file of plain arrays: " in refused(tmp_path)

    @pytest.mark.parametrize(
        ("member", "reason"),
        [
            (b"no array", "the magic string is not correct"),
            (npy_bytes(GREY)[:-1], "its x.npy announces 23520 bytes of data and holds 23519"),
            (npy_bytes(GREY) + b"x", "its x.npy announces 23520 bytes of data and holds 23521"),
            (npy_bytes(shape=(1 << 20, 1 << 10, 1 << 10)), "announces 1099511627776 bytes"),
            (npy_bytes(shape=(-30, -1)) + bytes(30), "is not a whole npz file"),
            (b"\x93NUMPY\x03\x00" + bytes(99), "its x.npy is of npy version 3.0"),
            (b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 118, "is not a whole npz file"),
        ],
    )
    def test_a_member_that_is_not_what_it_announces_is_refused(
        self, tmp_path: Path, member: bytes, reason: str
    ) -> None:
        with zipfile.ZipFile(tmp_path / "own.npz", "w") as archive:
            archive.writestr("x.npy", member)
            archive.writestr("y.npy", npy_bytes(LABELS))
        assert reason in refused(tmp_path)

    @pytest.mark.parametrize(
        ("place", "value", "reason"),
        [
            (8, 1, "is encrypted"),
            (10, 97, "compression"),
        ],
    )
    def test_an_archive_that_cannot_be_unpacked_is_refused(
        self, tmp_path: Path, place: int, value: int, reason: str
    ) -> None:
        file = npz(tmp_path) / "own.npz"
        content = bytearray(file.read_bytes())
        listed = content.index(b"PK\x01\x02")
        content[listed + place] |= value
        content[place - 2] |= value
        file.write_bytes(content)
        assert reason in refused(tmp_path)

    def test_a_member_that_unpacks_to_more_than_memory_holds_is_refused(
        self, tmp_path: Path
    ) -> None:
        file = npz(tmp_path) / "own.npz"
        content = bytearray(file.read_bytes())
        listed = content.index(b"PK\x01\x02")
        name = content[listed + 46 :].index(b".npy") + 4
        length, extra = struct.unpack_from("<HH", content, listed + 28)
        assert (name, extra) == (length, 0)
        content[listed + 24 : listed + 28] = b"\xff" * 4
        content[listed + 30 : listed + 32] = struct.pack("<H", 12)
        content[listed + 46 + length : listed + 46 + length] = struct.pack("<HHQ", 1, 8, 1 << 40)
        end = content.index(b"PK\x05\x06")
        size = struct.unpack_from("<I", content, end + 12)[0]
        struct.pack_into("<I", content, end + 12, size + 12)
        file.write_bytes(content)
        assert "its x_train.npy: announces 1099.5 GB, more than the" in refused(tmp_path)

    def test_columns_first_and_the_other_byte_order_are_read(self, tmp_path: Path) -> None:
        images, labels = np.asfortranarray(GREY), LABELS.astype(">i4")
        pictures = find_source(npz(tmp_path, x=images, y=labels), "own").read()
        np.testing.assert_array_equal(pictures.labels, LABELS)
        (block,) = pictures.blocks(np.arange(30), 1, 28)
        np.testing.assert_array_equal(block, GREY[:, None])


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch harmed",)


class TestCifar:
    def test_a_hostile_pickle_is_refused_and_runs_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "data_batch_1").write_bytes(pickle.dumps(Hostile()))
        assert "it names posix.system, which no such batch needs" in refused(tmp_path)
        assert not (tmp_path / "harmed").exists()

    @pytest.mark.parametrize(
        "name", ["builtins\neval", "numpy\nload", "numpy.core.multiarray\nscalar", "os\nsystem"]
    )
    def test_no_other_name_of_any_module_is_answered(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "data_batch_1").write_bytes(f"c{name}\n(S'1'\ntR.".encode())
        assert f"it names {name.replace(chr(10), '.')}" in refused(tmp_path)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "is not a batch of CIFAR-10"),
            (files.python_batch()[:-100], "is not a batch of CIFAR-10"),
            (pickle.dumps([1, 2]), "it holds a list"),
            (pickle.dumps({b"data": [1], b"labels": [1]}), "has the entries data and labels"),
            (files.python_batch(labels=LABELS[:7]), "7 labels do not fit to images"),
            (files.python_batch().replace(b"U\x02u1", b"U\x02f8"), "not bytes in rows"),
            (files.python_batch().replace(b"\x00\x0c\x86", b"\x01\x0c\x86"), "array of images is"),
            (b"\x80\x02}(U\x04datacnumpy\nndarray\n(tRU\x06labels](eu.", "array of images is"),
        ],
    )
    def test_a_pickle_that_is_no_batch_is_refused(
        self, tmp_path: Path, content: bytes, reason: str
    ) -> None:
        (tmp_path / "data_batch_1").write_bytes(content)
        message = refused(tmp_path)
        assert "data_batch_1: " in message
        assert reason in message

    def test_a_truncated_binary_batch_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "data_batch_1.bin").write_bytes(files.binary_batch()[:-1])
        assert "92189 bytes are no whole number of images of 3073 bytes" in refused(tmp_path)

    def test_a_missing_batch_is_noticed(self, tmp_path: Path) -> None:
        (files.cifar_folder(tmp_path) / "data_batch_1.bin").unlink()
        assert f"{tmp_path}: lacks data_batch_1.bin" in refused(tmp_path)

    @pytest.mark.parametrize("packed", [False, True])
    def test_cifar10_has_five_batches(self, tmp_path: Path, packed: bool) -> None:
        batches = dict(list(files.cifar_batches(binary=True).items())[:3])
        for name, content in batches.items():
            (tmp_path / name).write_bytes(content)
        if packed:
            (tmp_path / "packed").mkdir()
            path = tmp_path / "packed" / "cifar-10-binary.tar.gz"
            path.write_bytes(files.tar_bytes(batches))
        else:
            path = tmp_path
        assert refused(path, "cifar10") == f"{path}: lacks data_batch_4.bin, data_batch_5.bin"
        assert len(find_source(path, "own").read().labels) == 18

    def test_a_single_batch_that_is_named_itself_is_enough(self, tmp_path: Path) -> None:
        file = files.cifar_folder(tmp_path) / "data_batch_2.bin"
        assert len(find_source(file, "cifar10").read().labels) == 6

    def test_names_in_an_archive_never_become_paths(self, tmp_path: Path) -> None:
        inside = tmp_path / "inside"
        inside.mkdir()
        content = files.tar_bytes(
            {"../../data_batch_1.bin": files.binary_batch(), "/etc/evil": b"x"}
        )
        (inside / "cifar-10-binary.tar.gz").write_bytes(content)
        assert len(find_source(inside).read().labels) == 30
        assert [file.name for file in tmp_path.iterdir()] == ["inside"]

    @pytest.mark.parametrize("keep", [0, 50, 2000])
    def test_a_truncated_archive_is_refused(self, tmp_path: Path, keep: int) -> None:
        cifar_archive(tmp_path, binary=True)
        file = tmp_path / "cifar-10-binary.tar.gz"
        file.write_bytes(file.read_bytes()[:keep])
        assert "cifar-10-binary.tar.gz: is not a whole archive" in refused(tmp_path)

    def test_an_archive_of_something_else_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "cifar-10-python.tar.gz").write_bytes(files.tar_bytes({"a": b"b"}))
        assert "holds no data_batch_1" in refused(tmp_path)


class TestTfrecord:
    def broken(self, folder: Path, change: Callable[[bytearray], object]) -> str:
        file = folder / "own.tfrecord"
        content = bytearray(files.tfrecord(list(COLOURED[:2]), [0, 1]))
        change(content)
        file.write_bytes(content)
        return refused(folder)

    def test_every_flipped_bit_is_noticed(self, tmp_path: Path) -> None:
        def flip(place: int) -> Callable[[bytearray], object]:
            return lambda content: content.__setitem__(place, content[place] ^ 1)

        assert "record 1: the checksum of its length is wrong" in self.broken(tmp_path, flip(3))
        assert "record 1: the checksum of its length is wrong" in self.broken(tmp_path, flip(9))
        assert "record 1: the checksum of its content is wrong" in self.broken(tmp_path, flip(500))
        assert "record 2: the checksum of its content is wrong" in self.broken(tmp_path, flip(-1))

    def test_a_truncated_file_is_refused(self, tmp_path: Path) -> None:
        def cut(keep: int) -> Callable[[bytearray], object]:
            return lambda content: content.__delitem__(slice(keep, None))

        assert "record 1: ends within its length" in self.broken(tmp_path, cut(7))
        assert "record 1: ends before its" in self.broken(tmp_path, cut(300))
        assert "record 2: ends before its" in self.broken(tmp_path, cut(-2))

    def test_a_truncated_gzip_file_is_refused(self, tmp_path: Path) -> None:
        file = files.tfrecord_folder(tmp_path, compressed=True) / "train-00001-of-00002"
        file.write_bytes(file.read_bytes()[:-20])
        assert "train-00001-of-00002: is not whole" in refused(tmp_path)

    def test_a_missing_shard_is_noticed(self, tmp_path: Path) -> None:
        (files.tfrecord_folder(tmp_path) / "train-00000-of-00002").unlink()
        (tmp_path / "train-00002-of-00003").write_bytes(b"")
        assert "lacks train-00000-of-00002" in refused(tmp_path)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"\x0a\x7f", "is not a tf.train.Example: a field is longer"),
            (b"\xff" * 11, "is not a tf.train.Example: a number is too long"),
            (b"\x0b", "is not a tf.train.Example: no field has the type 3"),
            (b"", "needs one number as image/class/label; has 0"),
        ],
    )
    def test_a_record_of_something_else_is_refused(
        self, tmp_path: Path, content: bytes, reason: str
    ) -> None:
        (tmp_path / "own.tfrecord").write_bytes(files.record(content))
        assert f"record 1: {reason}" in refused(tmp_path)

    def test_labels_may_be_packed_or_not_and_negative(self, tmp_path: Path) -> None:
        image = files.png(GREY[0])
        records = [
            files.example(image, label, packed=p) for label in (300, -1) for p in (False, True)
        ]
        (tmp_path / "own.tfrecord").write_bytes(b"".join(map(files.record, records)))
        assert find_source(tmp_path).read().labels.tolist() == [300, 300, -1, -1]

    def test_a_number_of_more_than_64_bits_is_cut_to_them(self, tmp_path: Path) -> None:
        content = files.example(files.png(GREY[0]), -1)
        last = content.index(b"\xff" * 9 + b"\x01") + 9
        longer = content[:last] + b"\x7f" + content[last + 1 :]
        (tmp_path / "own.tfrecord").write_bytes(files.record(longer))
        assert find_source(tmp_path).read().labels.tolist() == [-1]

    def test_a_length_with_gzips_mark_is_still_a_length(self, tmp_path: Path) -> None:
        content = files.example(files.png(NOISE), 4)
        filler = bytes(0x088B1F - len(content) - 4)
        content += b"\x7a" + files.varint(len(filler)) + filler
        assert struct.pack("<Q", len(content)).startswith(b"\x1f\x8b\x08")
        (tmp_path / "own.tfrecord").write_bytes(files.record(content))
        assert find_source(tmp_path).read().labels.tolist() == [4]


class TestImageFolder:
    def test_classes_are_the_sub_folders_by_name(self, tmp_path: Path) -> None:
        (files.image_folder(tmp_path) / ".hidden").mkdir()
        assert find_source(tmp_path).class_names == ("a", "b", "c")

    def test_images_without_sub_folders_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "1.png").write_bytes(files.png(GREY[0]))
        assert "must lie in one sub-folder for each class" in refused(tmp_path)

    def test_a_class_without_images_is_refused(self, tmp_path: Path) -> None:
        (files.image_folder(tmp_path) / "d").mkdir()
        (tmp_path / "d" / "notes.txt").touch()
        with pytest.raises(DataError, match="d: the folder of a class holds no JPEG or PNG images"):
            find_source(tmp_path).files(Subset())

    def test_folders_without_any_image_are_no_data_set(self, tmp_path: Path) -> None:
        (tmp_path / "unpacked" / "elsewhere").mkdir(parents=True)
        assert "train-images-idx3-ubyte" in refused(tmp_path)

    def test_only_the_chosen_images_are_read(self, tmp_path: Path) -> None:
        source = find_source(files.image_folder(tmp_path))
        chosen = source.files(Subset(images=2, only_class=1))
        assert [file.name for file in chosen] == ["001.png", "004.png"]
