"""Decompression bombs and their like: little to send, much to hold. The server holds little."""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from support.model_packages import write_colour_package
from support.served_process import served_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.served_process import ServedProcess

MEBIBYTE = 1024**2
# Far below what any of the bombs would take; the largest allowed image takes as much.
MOST_GROWTH_BYTES = 150 * MEBIBYTE


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (220, 20, 20)).save(file, "JPEG")
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def png(side: int, bits: int, *chunks: bytes) -> bytes:
    """A grey PNG of this side with whatever chunks."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, bits, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + chunk(b"IEND", b"")


def zeros(count: int) -> bytes:
    """So many zeros, in a thousandth of the bytes."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    mebibyte = packer.compress(bytes(MEBIBYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    blocks, rest = divmod(count, MEBIBYTE)
    end = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    checksum = struct.pack(">HH", count % 65521, 1)
    return b"\x78\xda" + mebibyte * blocks + end.compress(bytes(rest)) + end.flush() + checksum


def huge_png() -> bytes:
    """30000 x 30000 pixels of one bit each, all of them there."""
    return png(30_000, 1, chunk(b"IDAT", zeros(30_000 * 3751)))


def endless_png() -> bytes:
    """A small image whose pixels go on for hundreds of megabytes."""
    return png(16, 8, chunk(b"IDAT", zeros(400 * MEBIBYTE)), chunk(b"IEND", b""))


def talkative_png() -> bytes:
    """A small image with a comment of hundreds of megabytes."""
    rows = zlib.compress(bytes(16 * 17))
    return png(16, 8, chunk(b"zTXt", b"Comment\0\0" + zeros(400 * MEBIBYTE)), chunk(b"IDAT", rows))


def huge_jpeg() -> bytes:
    """A small image whose header says 65535 x 65535."""
    content = bytearray(jpeg())
    size = content.index(b"\xff\xc0") + 5
    content[size : size + 4] = b"\xff" * 4
    return bytes(content)


def array(shape: tuple[int, ...]) -> bytes:
    """A header without its numbers."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "|u1", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def as_json(instance: str) -> bytes:
    return b'{"instances": [%s]}' % instance.encode()


def form(parts: int) -> bytes:
    part = b'--edge\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\nx\r\n'
    return part * parts + b"--edge--\r\n"


BOMBS: dict[str, tuple[str, Callable[[], bytes], set[int]]] = {
    "a PNG of 30000 x 30000": ("image/png", huge_png, {413}),
    "a small PNG with pixels without end": ("image/png", endless_png, {200, 400}),
    "a small PNG with a comment without end": ("image/png", talkative_png, {200, 400}),
    "a JPEG that says 65535 x 65535": ("image/jpeg", huge_jpeg, {413}),
    "an array that says petabytes": (
        "application/x-npy",
        lambda: array((60, 2**20, 2**20, 3)),
        {413},
    ),
    # numpy makes every string as long as the longest: here 47 GB.
    "strings for pixels": (
        "application/json",
        lambda: as_json(json.dumps(["a" * 250_000, *["b"] * 50_000])),
        {422},
    ),
    "lists in lists in lists": ("application/json", lambda: as_json("[" * 400_000), {400}),
    "rows without pixels": ("application/json", lambda: as_json(json.dumps([[]] * 200_000)), {422}),
    "digits without end": ("application/json", lambda: as_json("9" * 900_000), {400}),
    "files without end": ("multipart/form-data; boundary=edge", lambda: form(9000), {413}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("bombed")
    write_colour_package(folder / "package")
    with served_process(folder / "package", folder / "log", "--max-body-mb", "1") as running:
        running.await_ready()
        yield running


@pytest.fixture(autouse=True)
def _lives_on(server: ServedProcess) -> Iterator[None]:
    """After each of these tests the server is the same, ready, and right."""
    yield
    assert server.ask("GET", "/ping").status == 200
    assert server.classify(jpeg()).document["label"] == "red"
    assert "defect" not in server.log


@pytest.mark.parametrize("name", list(BOMBS))
def test_are_refused_or_answered_in_little_memory(server: ServedProcess, name: str) -> None:
    content_type, body, statuses = BOMBS[name]
    sent = body()
    assert len(sent) < MEBIBYTE
    server.classify(jpeg())
    before = peak_memory_bytes(server)
    answer = server.ask("POST", "/invocations", sent, {"Content-Type": content_type})

    assert answer.status in statuses
    assert peak_memory_bytes(server) - before < MOST_GROWTH_BYTES


def test_a_packed_body_is_not_unpacked(server: ServedProcess) -> None:
    headers = {"Content-Encoding": "deflate"}

    assert server.classify(zlib.compress(jpeg()), headers).status == 400


def test_strings_for_numbers_are_refused_in_tensors_too(server: ServedProcess) -> None:
    data = ["a" * 250_000, *["b"] * 50_000]
    tensor = {"name": "image", "datatype": "FP32", "shape": [1, 32, 32, 3], "data": data}
    before = peak_memory_bytes(server)
    answer = server.ask(
        "POST",
        "/v2/models/colours/infer",
        json.dumps({"inputs": [tensor]}).encode(),
        {"Content-Type": "application/json"},
    )

    assert answer.status == 422
    assert peak_memory_bytes(server) - before < MOST_GROWTH_BYTES


def peak_memory_bytes(server: ServedProcess) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024
