"""Small data sets in every format that Prumo reads, written byte by byte."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from prumo.datasets.formats.tfrecord import masked_crc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

RANDOM = np.random.default_rng(1)
GREY = RANDOM.integers(0, 256, size=(30, 28, 28), dtype=np.uint8)
COLOURED = RANDOM.integers(0, 256, size=(30, 3, 32, 32), dtype=np.uint8)
LABELS: np.ndarray = (np.arange(30) % 10).astype(np.uint8)


def idx_bytes(array: np.ndarray) -> bytes:
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def idx_folder(
    folder: Path, images: bytes = idx_bytes(GREY), labels: bytes = idx_bytes(LABELS)
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "train-images-idx3-ubyte").write_bytes(images)
    (folder / "train-labels-idx1-ubyte").write_bytes(labels)
    return folder


def binary_batch(images: np.ndarray = COLOURED, labels: np.ndarray = LABELS) -> bytes:
    return np.concatenate([labels[:, None], images.reshape(len(images), -1)], axis=1).tobytes()


def python_batch(images: np.ndarray = COLOURED, labels: np.ndarray = LABELS) -> bytes:
    """As Python 2 pickled them in 2009, opcode by opcode."""
    shape = b"M" + struct.pack("<H", len(images)) + b"M\x00\x0c\x86"
    byte = (
        b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    content = b"T" + struct.pack("<I", images.nbytes) + images.tobytes()
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
    array = empty + b"(K\x01" + shape + byte + b"\x89" + content + b"tb"
    numbers = b"".join(b"K" + bytes([label]) for label in labels)
    return b"\x80\x02}(U\x04data" + array + b"U\x06labels](" + numbers + b"eu."


def cifar_folder(folder: Path, *, binary: bool = True) -> Path:
    """Five batches of six images, and a test batch that is not for training."""
    folder.mkdir(exist_ok=True)
    for name, content in cifar_batches(binary=binary).items():
        (folder / name).write_bytes(content)
    return folder


def cifar_batches(*, binary: bool) -> dict[str, bytes]:
    batch, suffix = (binary_batch, ".bin") if binary else (python_batch, "")
    batches = {
        f"data_batch_{number + 1}{suffix}": batch(
            COLOURED[start : start + 6], LABELS[start : start + 6]
        )
        for number, start in enumerate(range(0, 30, 6))
    }
    return {**batches, f"test_batch{suffix}": batch(COLOURED[:5], LABELS[:5])}


def tar_bytes(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def png(pixels: np.ndarray, mode: str = "") -> bytes:
    """An image of rows and columns, and channels in the last place if it has any."""
    return encoded(Image.fromarray(pixels), mode)


def encoded(image: Image.Image, mode: str = "", kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    (image.convert(mode) if mode else image).save(stream, kind)
    return stream.getvalue()


def image_folder(folder: Path, images: np.ndarray = COLOURED) -> Path:
    """Classes a, b, c in turns: image 0 is the first of a, image 1 the first of b."""
    for position, image in enumerate(images):
        inside = folder / "abc"[position % 3]
        inside.mkdir(parents=True, exist_ok=True)
        (inside / f"{position:03d}.png").write_bytes(png(image.transpose(1, 2, 0)))
    return folder


def record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    return (
        length
        + struct.pack("<I", masked_crc(length))
        + content
        + struct.pack("<I", masked_crc(content))
    )


def example(image: bytes, label: int, *, packed: bool = True) -> bytes:
    """A tf.train.Example as the tools of study 2 write it."""
    number = varint(label)
    values = _field(1, number) if packed else b"\x08" + number
    features = {
        "image/format": _field(1, _field(1, b"png")),
        "image/encoded": _field(1, _field(1, image)),
        "image/class/label": _field(3, values),
        "image/height": _field(3, _field(1, varint(32))),
    }
    entries = [
        _field(1, _field(1, name.encode()) + _field(2, feature))
        for name, feature in features.items()
    ]
    return _field(1, b"".join(entries))


def tfrecord(images: Sequence[np.ndarray], labels: Sequence[int]) -> bytes:
    return b"".join(
        record(example(png(image.transpose(1, 2, 0)), int(label)))
        for image, label in zip(images, labels, strict=True)
    )


def tfrecord_folder(folder: Path, *, compressed: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    for number, part in enumerate((slice(0, 12), slice(12, 30))):
        content = tfrecord(list(COLOURED[part]), list(LABELS[part]))
        name = f"train-{number:05d}-of-00002"
        (folder / name).write_bytes(gzip.compress(content) if compressed else content)
    return folder


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(value: int) -> bytes:
    value %= 1 << 64
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
