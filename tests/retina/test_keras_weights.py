"""Weights in files of Keras: what is read of them, and what is refused."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from prumo.errors import DataError
from prumo_retina.weights import named_arrays
from support.weight_files import BIAS, KERNEL, assert_same, hdf5, keras_archive, written, zipped

if TYPE_CHECKING:
    from pathlib import Path


def test_the_newer_layout_numbers_the_variables_of_named_layers(tmp_path: Path) -> None:
    weights = hdf5(
        {
            "layers/functional/layers/conv2d/vars/0": KERNEL,
            "layers/functional/layers/conv2d/vars/1": BIAS,
            "layers/dropout/seed_generator/vars/0": BIAS,
            "optimizer/vars/0": KERNEL,
        },
        names={"layers/functional/layers/conv2d/vars": "block1_conv1"},
    )
    expected = {"block1_conv1/0": KERNEL, "block1_conv1/1": BIAS}

    bare = written(tmp_path, "net.weights.h5", weights)
    archive = written(tmp_path, "net.keras", keras_archive(weights))

    assert_same(named_arrays(bare).arrays, expected)
    assert_same(named_arrays(archive).arrays, expected)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("conv1/conv1/kernel:0", "conv1/kernel"),
        ("model_weights/conv1/conv1/kernel", "conv1/kernel"),
        ("model_weights/vgg19/block1_conv1/kernel:0", "block1_conv1/kernel"),
        ("vgg19/vgg19/block1_conv1/kernel", "block1_conv1/kernel"),
        ("conv1/bn/conv1/bn/moving_mean:0", "conv1_bn/moving_mean"),
        ("block1_conv1/block1_conv1_W_1:0", "block1_conv1/kernel"),
        ("block1_conv1/block1_conv1_b_1:0", "block1_conv1/bias"),
        ("conv_dw_1/conv_dw_1/depthwise_kernel:0", "conv_dw_1/kernel"),
    ],
)
def test_older_layouts_give_the_same_names(tmp_path: Path, path: str, name: str) -> None:
    file = written(tmp_path, "old.h5", hdf5({path: KERNEL}))

    assert_same(named_arrays(file).arrays, {name: KERNEL})


def test_a_file_without_names_of_layers_says_how_to_save_it(tmp_path: Path) -> None:
    file = written(tmp_path, "early.weights.h5", hdf5({"layers/conv2d/vars/0": KERNEL}))

    with pytest.raises(DataError, match=r"early\.weights\.h5: does not name its layers.*\.h5"):
        named_arrays(file)


def test_a_link_to_another_file_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path, "secret.h5", hdf5({"kernel": KERNEL}))
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["conv1/conv1/kernel"] = h5py.ExternalLink(tmp_path / "secret.h5", "kernel")

    with pytest.raises(DataError, match="no weights in it"):
        named_arrays(tmp_path / "linked.h5")


def test_an_array_that_lies_in_another_file_is_refused(tmp_path: Path) -> None:
    secret = written(tmp_path, "secret.raw", bytes(40))
    with h5py.File(tmp_path / "outside.h5", "w") as file:
        file.create_dataset("conv1/bias", (10,), "f4", external=[(str(secret), 0, 40)])

    with pytest.raises(DataError, match="keeps conv1/bias in another file"):
        named_arrays(tmp_path / "outside.h5")


@pytest.mark.parametrize("name", ["net.h5", "net.weights.h5", "net.keras"])
def test_what_is_cut_off_or_foreign_is_told(tmp_path: Path, name: str) -> None:
    whole = hdf5({"conv1/conv1/kernel": KERNEL})
    content = keras_archive(whole) if name.endswith(".keras") else whole
    for broken in (content[: len(content) // 2], b"not weights at all", b""):
        with pytest.raises(DataError, match=rf"{name}: is no whole (HDF5 file|\.keras)"):
            named_arrays(written(tmp_path, name, broken))


def test_a_file_that_would_swell_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_dataset("conv1/kernel", (1 << 40,), "f4", chunks=(1 << 20,))
    with h5py.File(tmp_path / "packed.h5", "w") as file:
        file.create_dataset("conv1/kernel", data=KERNEL, compression="gzip")
    bomb = zipped({"model.weights.h5": bytes(1 << 20)}, zipfile.ZIP_DEFLATED)
    written(tmp_path, "bomb.keras", bomb)

    with pytest.raises(DataError, match="arrays that are larger than the file"):
        named_arrays(tmp_path / "empty.h5")
    with pytest.raises(DataError, match="has conv1/kernel compressed"):
        named_arrays(tmp_path / "packed.h5")
    with pytest.raises(DataError, match="is compressed"):
        named_arrays(tmp_path / "bomb.keras")


def test_parts_of_an_archive_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("model.weights.h5", bytes(10_000))
        file.filelist *= 2

    with pytest.raises(DataError, match="parts are larger than itself"):
        named_arrays(written(tmp_path, "overlapping.keras", archive.getvalue()))


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    twins = hdf5({"left/conv1/conv1/kernel": KERNEL, "right/conv1/conv1/kernel": KERNEL + 1})

    with pytest.raises(DataError, match="two arrays that are both called conv1/kernel"):
        named_arrays(written(tmp_path, "twins.h5", twins))


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    words = hdf5({"conv1/conv1/kernel": np.array([b"secret"])})

    with pytest.raises(DataError, match=r"'conv1/kernel' is of .* not of plain numbers"):
        named_arrays(written(tmp_path, "words.h5", words))


def test_an_archive_of_something_else_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no model of Keras: no model\.weights\.h5"):
        named_arrays(written(tmp_path, "foreign.keras", zipped({"data.pkl": b""})))
