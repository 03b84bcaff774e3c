"""Bodies that are nearly right: real images and arrays, and what transport makes of them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image

_SIDES = (24, 17)


def encoded_images(kind: str) -> tuple[bytes, ...]:
    """Small real images of every sort that JPEG, or PNG, knows."""
    grey = np.linspace(0, 255, _SIDES[0] * _SIDES[1]).reshape(_SIDES[1], _SIDES[0])
    colours = np.stack([grey, grey[::-1], grey[:, ::-1]], axis=2).astype(np.uint8)
    picture = Image.fromarray(colours)
    if kind == "JPEG":
        return (
            _saved(picture, "JPEG"),
            _saved(picture, "JPEG", progressive=True),
            _saved(picture.convert("L"), "JPEG"),
            _saved(picture.convert("CMYK"), "JPEG"),
        )
    return (
        _saved(picture, "PNG"),
        _saved(picture.convert("RGBA"), "PNG"),
        _saved(picture.convert("P"), "PNG"),
        _saved(Image.fromarray((grey * 256).astype(np.uint16)), "PNG"),
    )


def arrays() -> tuple[bytes, ...]:
    """Arrays as numpy saves them, of one image and of several."""
    generator = np.random.default_rng(5)
    bytes_ = generator.integers(0, 256, (2, 6, 5, 3), dtype=np.uint8)
    return tuple(
        _saved_array(array)
        for array in (
            bytes_[0],
            bytes_,
            bytes_[0].astype(np.float32),
            np.asfortranarray(bytes_),
        )
    )


@st.composite
def damaged(draw: st.DrawFn, contents: tuple[bytes, ...]) -> bytes:
    """One of the contents after bits were flipped, or pieces cut out, doubled or put in."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(0, len(content) - 1)))
        end = min(len(content), start + draw(st.integers(1, 40)))
        match draw(st.sampled_from(["flip", "cut", "end", "double", "put"])):
            case "flip" if content:
                content[start] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del content[start:end]
            case "end":
                del content[start:]
            case "double":
                content[start:start] = content[start:end]
            case _:
                content[start:start] = draw(st.binary(max_size=20))
    return bytes(content)


@st.composite
def npy_bodies(draw: st.DrawFn) -> bytes:
    """Headers of the npy format that lie about what follows."""
    described = draw(st.sampled_from(["|u1", "<f4", ">f4", "<f8", "|O", "|V9", "<U9", "|b1", "x"]))
    order = draw(st.sampled_from(["False", "True", "None"]))
    lengths = st.integers(-1, 2**70) | st.integers(0, 9) | st.just(3)
    shape = draw(st.lists(lengths, max_size=6).map(tuple) | st.text(max_size=9))
    header = f"{{'descr': '{described}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    version = draw(st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x00\x01"]))
    told_bytes = draw(st.just(len(header)) | st.integers(0, 2**16 - 1))
    length = told_bytes.to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + length + header + draw(st.binary(max_size=200))


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value, most often with the keys that the server looks for."""
    keys = st.sampled_from(
        ["image", "instances", "b64", "name", "inputs", "outputs", "id", "shape", "data"]
    ) | st.text(max_size=5)
    leaves = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=20)
        | st.sampled_from(["image", "FP32", "BYTES", "AAAA", 10**400])
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=6) | st.dictionaries(keys, inner, max_size=4) | _pixels(inner)
        ),
        max_leaves=30,
    )


def _pixels(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Nested lists that look like an image of one pixel, or of a few."""
    channel = st.integers(0, 255) | st.floats(0, 255) | inner
    return st.lists(st.lists(st.lists(channel, min_size=3, max_size=3), max_size=2), max_size=2)


def _saved(picture: Image.Image, kind: str, **options: bool) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def _saved_array(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
