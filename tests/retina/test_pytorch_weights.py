"""Weights that PyTorch saved: read by PyTorch, and nothing in them is ever called."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo.errors import DataError, UnavailableError
from prumo_retina.weights import named_arrays
from support.pytorch_weights_process import read_all
from support.weight_files import BIAS, KERNEL, Stored, assert_same, state_dict, written, zipped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Malice:
    """Calls something as soon as it is unpickled."""

    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.trap),)


def archive(program: bytes) -> bytes:
    """A file of PyTorch with this pickle and no storages."""
    return zipped({"archive/data.pkl": program, "archive/version": b"3\n"})


BRAIN_FLOATS = np.array([1.0, -2.5, 0.15625], dtype=np.float32)
NUMBERS = np.arange(10, dtype=np.float32)
ARRAYS = {
    **{f"features.{i}.weight": KERNEL + i for i in range(12)},
    "bn.num_batches_tracked": np.array(3),
    "half": BIAS.astype(np.float16),
}
CHECKPOINT = {
    "epoch": 3,
    "optimizer": {"state": {"momentum": BIAS}},
    "state_dict": {"conv.weight": KERNEL},
}
READ: dict[str, tuple[bytes, Mapping[str, np.ndarray]]] = {
    "state dict": (state_dict(ARRAYS), ARRAYS),
    "legacy state dict": (state_dict(ARRAYS, legacy=True), ARRAYS),
    "checkpoint": (state_dict(CHECKPOINT), {"conv.weight": KERNEL}),
    "legacy checkpoint": (state_dict(CHECKPOINT, legacy=True), {"conv.weight": KERNEL}),
    "view": (
        state_dict({"w": Stored(NUMBERS, shape=(2, 3), strides=(1, 2), offset=4)}),
        {"w": NUMBERS[4:10].reshape(3, 2).T},
    ),
    "bfloat16": (
        state_dict(
            {
                "w": Stored(
                    (BRAIN_FLOATS.view(np.uint32) >> 16).astype(np.uint16),
                    (3,),
                    (1,),
                    kind="BFloat16Storage",
                )
            }
        ),
        {"w": BRAIN_FLOATS},
    ),
    "no tensors": (state_dict({"epoch": 3}), {}),
}

WHOLE = {False: state_dict({"w": KERNEL, "v": KERNEL})}
WHOLE[True] = state_dict({"w": KERNEL, "v": KERNEL}, legacy=True)
NO_STATE_DICT = "is no whole state dict"
STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
# A list of lists of lists, each twice the one before, would fill all memory as text.
DOUBLED = b"]q\x00" + b"".join(b"](h%ch%ceq%c" % (level, level, level + 1) for level in range(60))
REFUSED: dict[str, tuple[bytes, str]] = {
    **{
        f"{module}.{name}": (archive(f"c{module}\n{name}\n.".encode()), f"wants to call {told}")
        for module, name, told in (
            ("builtins", "eval", "eval"),
            ("builtins", "getattr", "getattr"),
            ("torch", "load", "torch.load"),
            ("torch.nn", "Conv2d", "torch.nn.Conv2d"),
        )
    },
    **{
        f"beyond its storage {shape} {strides} {offset}": (
            state_dict({"w": Stored(NUMBERS, shape, strides, offset)}),
            NO_STATE_DICT,
        )
        for shape, strides, offset in (
            ((11,), (1,), 0),
            ((2,), (9,), 1),
            ((2,), (-1,), 5),
            ((1,), (1,), -1),
        )
    },
    **{
        f"cut off at {end}, legacy {legacy}": (whole[:end], NO_STATE_DICT)
        for legacy, whole in WHOLE.items()
        for end in (-40, len(whole) // 3)
    },
    "foreign": (b"not weights at all", NO_STATE_DICT),
    "empty": (b"", NO_STATE_DICT),
    "many numbers out of few": (
        state_dict({"w": Stored(BIAS, (1 << 40,), (0,))}),
        "tensors that are larger than the file",
    ),
    "negative size": (state_dict({"w": Stored(BIAS, (1 << 20, -1), (0, 0))}), NO_STATE_DICT),
    "memo": (archive(b"\x80\x02Nr\xff\xff\xff\x7f."), "holds no state dict"),
    "bytes": (archive(b"\x80\x04\x8e" + (1 << 45).to_bytes(8, "little") + b"."), NO_STATE_DICT),
    "dictionary in itself": (
        archive(b"\x80\x02}q\x00X\x05\x00\x00\x00modelh\x00s."),
        "holds no state dict",
    ),
    "objects": (
        archive(b"\x80\x02(X\x07\x00\x00\x00storageX\x01\x00\x00\x00OX\x01\x00\x00\x000NK\x01tQ."),
        NO_STATE_DICT,
    ),
    "key of lists": (archive(b"\x80\x02" + STORAGE + DOUBLED + b"NK\x01tQ."), NO_STATE_DICT),
    "changed storage": (
        archive(
            b"\x80\x02"
            + STORAGE
            + b"X\x01\x00\x00\x000NK\x01tQ](X\x01\x00\x00\x00OX\x01\x00\x00\x000K\x01eb."
        ),
        NO_STATE_DICT,
    ),
    "list": (state_dict([1, 2]), "holds no state dict"),
    "zero in a name": (state_dict({"a\0b": KERNEL}), "a name that cannot be printed"),
    "half a character": (state_dict({"a\ud800": KERNEL}), "a name that cannot be printed"),
}


@pytest.fixture(scope="module")
def answers(pytorch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What PyTorch makes of all files, in one process."""
    folder = tmp_path_factory.mktemp("weights")
    contents = {name: content for name, (content, _) in {**READ, **REFUSED}.items()}
    files = {
        name: written(folder, f"{i}.pt", content)
        for i, (name, content) in enumerate(contents.items())
    }
    return read_all(pytorch_python, files)


@pytest.mark.torch
@pytest.mark.parametrize("name", READ)
def test_arrays_are_those_that_were_saved(answers: dict[str, Any], name: str) -> None:
    found = {
        key: np.array(numbers, dtype).reshape(shape)
        for key, (dtype, shape, numbers) in answers[name].items()
    }
    assert_same(found, READ[name][1])


@pytest.mark.torch
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_broken_or_forged_is_refused(answers: dict[str, Any], name: str) -> None:
    assert REFUSED[name][1] in answers[name]
    assert "weights_only" not in answers[name]


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
@pytest.mark.parametrize("is_zip", [False, True])
def test_what_a_pickle_wants_to_call_is_named_and_never_called(
    tmp_path: Path, is_zip: bool
) -> None:
    trap = tmp_path / "trap"
    malicious = pickle.dumps({"w": Malice(trap)}, protocol=2)
    content = archive(malicious) if is_zip else malicious

    with pytest.raises(DataError, match=r"evil\.pth: wants to call \w+\.mkdir.*state_dict\(\)"):
        named_arrays(written(tmp_path, "evil.pth", content))

    assert not trap.exists()
    pickle.loads(malicious)  # noqa: S301 (the trap itself works)
    assert trap.exists()


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_a_file_without_tensors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no weights in it"):
        named_arrays(written(tmp_path, "numbers.pt", state_dict({"epoch": 3})))


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    bomb = zipped({"archive/data.pkl": bytes(1 << 20)}, zipfile.ZIP_DEFLATED)

    with pytest.raises(DataError, match="is compressed"):
        named_arrays(written(tmp_path, "bomb.pth", bomb))


def test_without_pytorch_the_command_that_brings_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))

    with pytest.raises(UnavailableError, match="`prumo setup pytorch`"):
        named_arrays(written(tmp_path, "net.pth", state_dict({"w": KERNEL})))


def safetensors_file(header: bytes, numbers: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + numbers


def test_safetensors_need_no_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))
    header = (
        b'{"__metadata__":{"format":"pt"},'
        b'"conv.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
        b'"w":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]}}'
    )
    brain = (BRAIN_FLOATS.view(np.uint32) >> 16).astype("<u2").tobytes()
    file = written(tmp_path, "net.safetensors", safetensors_file(header, BIAS.tobytes() + brain))

    assert_same(named_arrays(file).arrays, {"conv.bias": BIAS, "w": BRAIN_FLOATS})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        safetensors_file(b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', b"1234"),
        safetensors_file(b'{"w":{"dtype":"F32","shape":[9],"data_offsets":[0,8]}}', BIAS.tobytes()),
        struct.pack("<Q", 1 << 60) + b"{}",
    ],
    ids=["empty", "cut off", "beyond its numbers", "huge header"],
)
def test_broken_safetensors_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"net\.safetensors: is no whole safetensors file"):
        named_arrays(written(tmp_path, "net.safetensors", content))
