"""Weights in state dicts of PyTorch: read without PyTorch, and nothing in them is ever called."""

from __future__ import annotations

import os
import pickle
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.errors import DataError
from prumo_retina.weights import named_arrays
from support.weight_files import BIAS, KERNEL, Stored, assert_same, state_dict, written, zipped

if TYPE_CHECKING:
    from pathlib import Path


class Malice:
    """Calls something as soon as it is unpickled."""

    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.trap),)


@pytest.mark.parametrize("legacy", [False, True])
def test_both_formats_give_the_same_arrays(tmp_path: Path, legacy: bool) -> None:
    arrays = {f"features.{i}.weight": KERNEL + i for i in range(12)}
    arrays |= {"bn.num_batches_tracked": np.array(3), "half": BIAS.astype(np.float16)}

    file = written(tmp_path, "net.pt", state_dict(arrays, legacy=legacy))

    assert_same(named_arrays(file).arrays, arrays)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_state_dict_beside_other_things_is_found(tmp_path: Path, legacy: bool) -> None:
    checkpoint = {
        "epoch": 3,
        "optimizer": {"state": {"momentum": BIAS}},
        "state_dict": {"conv.weight": KERNEL},
    }
    file = written(tmp_path, "checkpoint.pth", state_dict(checkpoint, legacy=legacy))

    assert_same(named_arrays(file).arrays, {"conv.weight": KERNEL})


def test_a_view_is_read_where_it_points(tmp_path: Path) -> None:
    numbers = np.arange(10, dtype=np.float32)
    turned = Stored(numbers, shape=(2, 3), strides=(1, 2), offset=4)

    file = written(tmp_path, "view.pt", state_dict({"w": turned}))

    assert_same(named_arrays(file).arrays, {"w": numbers[4:10].reshape(3, 2).T})


def test_brain_floats_become_floats(tmp_path: Path) -> None:
    values = np.array([1.0, -2.5, 0.15625], dtype=np.float32)
    upper_halves = (values.view(np.uint32) >> 16).astype(np.uint16)
    tensor = Stored(upper_halves, (3,), (1,), kind="BFloat16Storage")

    file = written(tmp_path, "brain.pt", state_dict({"w": tensor}))

    assert_same(named_arrays(file).arrays, {"w": values})


@pytest.mark.parametrize("is_zip", [False, True])
def test_what_a_pickle_wants_to_call_is_told_and_never_called(tmp_path: Path, is_zip: bool) -> None:
    trap = tmp_path / "trap"
    malicious = pickle.dumps({"w": Malice(trap)}, protocol=2)
    content = zipped({"archive/data.pkl": malicious}) if is_zip else malicious

    with pytest.raises(DataError, match=r"wants to call \w+\.mkdir.*state_dict\(\)"):
        named_arrays(written(tmp_path, "evil.pth", content))

    assert not trap.exists()
    pickle.loads(malicious)  # noqa: S301 (the trap itself works)
    assert trap.exists()


@pytest.mark.parametrize(
    "name",
    [("builtins", "eval"), ("builtins", "getattr"), ("torch", "load"), ("torch.nn", "Conv2d")],
)
def test_only_names_that_rebuild_tensors_are_known(tmp_path: Path, name: tuple[str, str]) -> None:
    module, function = name
    program = f"c{module}\n{function}\n.".encode()
    file = written(tmp_path, "net.pt", zipped({"archive/data.pkl": program}))

    with pytest.raises(DataError, match=f"wants to call {module}.{function}"):
        named_arrays(file)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((11,), (1,), 0),
        ((2,), (9,), 1),
        ((2,), (-1,), 5),
        ((1,), (1,), -1),
    ],
)
def test_a_tensor_beyond_its_storage_is_refused(
    tmp_path: Path, shape: tuple[int], strides: tuple[int], offset: int
) -> None:
    forged = Stored(np.arange(10, dtype=np.float32), shape, strides, offset)

    with pytest.raises(DataError, match="reaches beyond its storage"):
        named_arrays(written(tmp_path, "forged.pt", state_dict({"w": forged})))


@pytest.mark.parametrize("legacy", [False, True])
def test_what_is_cut_off_or_foreign_is_told(tmp_path: Path, legacy: bool) -> None:
    whole = state_dict({"w": KERNEL, "v": KERNEL}, legacy=legacy)
    for broken in (whole[:-40], whole[: len(whole) // 3], b"not weights at all", b""):
        with pytest.raises(DataError, match=r"net\.pth: is (cut off|no whole state dict)"):
            named_arrays(written(tmp_path, "net.pth", broken))


@pytest.mark.parametrize("shape", [(1 << 40,), (1 << 20, -1)])
def test_many_numbers_out_of_few_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    forged = Stored(BIAS, shape, [0] * len(shape))

    with pytest.raises(DataError, match="tensors that are larger than the file"):
        named_arrays(written(tmp_path, "forged.pt", state_dict({"w": forged})))


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "claims more memory"),
        (b"\x80\x04\x8e" + (1 << 45).to_bytes(8, "little") + b".", "no whole state dict"),
        (b"\x80\x02}q\x00X\x05\x00\x00\x00modelh\x00s.", "no whole state dict.*recursion"),
        (
            b"\x80\x02(X\x07\x00\x00\x00storageX\x01\x00\x00\x00OX\x01\x00\x00\x000NK\x01tQ.",
            "not understood",
        ),
    ],
    ids=["memo", "bytes", "a dictionary in itself", "objects"],
)
def test_a_pickle_that_wants_too_much_is_refused(tmp_path: Path, program: bytes, told: str) -> None:
    file = written(tmp_path, "net.pt", zipped({"archive/data.pkl": program}))

    with pytest.raises(DataError, match=told):
        named_arrays(file)


def test_names_of_storages_are_words_and_never_spelled_out(tmp_path: Path) -> None:
    """A list of lists of lists, each twice the one before, would fill all memory as text."""
    doubled = b"]q\x00" + b"".join(
        b"](h%ch%ceq%c" % (level, level, level + 1) for level in range(60)
    )
    start = b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
    program = start + doubled + b"NK\x01tQ."

    with pytest.raises(DataError, match="storage that is not understood"):
        named_arrays(written(tmp_path, "net.pt", zipped({"archive/data.pkl": program})))


def test_a_pickle_cannot_change_a_storage_that_was_checked(tmp_path: Path) -> None:
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000NK\x01tQ"
    state = b"](X\x01\x00\x00\x00OX\x01\x00\x00\x000K\x01e"
    program = b"\x80\x02" + storage + state + b"b."

    with pytest.raises(DataError, match="is no whole state dict"):
        named_arrays(written(tmp_path, "net.pt", zipped({"archive/data.pkl": program})))


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    bomb = zipped({"archive/data.pkl": bytes(1 << 20)}, zipfile.ZIP_DEFLATED)

    with pytest.raises(DataError, match="is compressed"):
        named_arrays(written(tmp_path, "bomb.pth", bomb))


def test_a_file_without_tensors_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no state dict"):
        named_arrays(written(tmp_path, "list.pt", state_dict([1, 2])))
    with pytest.raises(DataError, match="no weights in it"):
        named_arrays(written(tmp_path, "numbers.pt", state_dict({"epoch": 3})))
