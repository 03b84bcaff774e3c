"""Every runtime keeps the same contract, whatever computes the network."""

from __future__ import annotations

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pytest

from prumo.errors import InputError, UnavailableError
from prumo.plugins import RUNTIMES
from prumo_serve.runtimes import LoadedNetwork, NetworkError, Resources, load_network
from prumo_serve.runtimes.framework_network import FrameworkNetwork
from prumo_serve.runtimes.onnx_runtime import OnnxNetwork
from prumo_serve.source.pytorch_export import write_harmless
from support.runtime_networks import (
    drawn_batch,
    expected,
    write_in_framework,
    write_onnx,
    write_openvino,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import FrameworkPython
    from prumo_serve.choices import RuntimeName

    NetworkFiles = Callable[[RuntimeName], Path]

MARKS = {
    "litert": pytest.mark.frameworks,
    "tensorflow": pytest.mark.frameworks,
    "pytorch": pytest.mark.torch,
}
NAMES = [pytest.param(name, marks=MARKS.get(name, ())) for name in RUNTIMES.names()]
OUTPUTS = {"pytorch": {"answers": "scores"}}
"""Of an export's only output the name is lost; all other formats keep those of the network."""
SAME = {"scores": "scores", "features": "features"}


@pytest.fixture(scope="module")
def network_files(
    framework_python: FrameworkPython, tmp_path_factory: pytest.TempPathFactory
) -> NetworkFiles:
    """The network in a runtime's format, written once."""

    @cache
    def written_by(framework: str) -> Path:
        folder = tmp_path_factory.mktemp(framework)
        return write_in_framework(framework_python(framework), framework, folder)

    @cache
    def file(runtime: RuntimeName) -> Path:
        if runtime == "tensorflow":
            return written_by("tensorflow") / "saved"
        if runtime == "litert":
            return written_by("tensorflow") / "network.tflite"
        if runtime == "pytorch":
            harmless = tmp_path_factory.mktemp("harmless") / "network.pt2"
            write_harmless(written_by("pytorch") / "network.pt2", harmless)
            return harmless
        folder = tmp_path_factory.mktemp(runtime)
        if runtime == "openvino":
            return write_openvino(folder / "network.xml")
        return write_onnx(folder / "network.onnx")

    return file


@pytest.fixture(scope="module", params=NAMES)
def runtime(request: pytest.FixtureRequest) -> RuntimeName:
    name: RuntimeName = request.param
    return name


@pytest.fixture(scope="module")
def network(runtime: RuntimeName, network_files: NetworkFiles) -> Iterator[LoadedNetwork]:
    """Loaded once for all tests; the last one closes it."""
    loaded = load_network(network_files(runtime), runtime, Resources(threads=1, callers=2))
    yield loaded
    loaded.close()


@pytest.mark.parametrize("images", [1, 3, 8])
def test_a_batch_of_any_size_is_answered(
    network: LoadedNetwork, runtime: RuntimeName, images: int
) -> None:
    batch = drawn_batch(images)

    answer = network.run(batch, network.output_names)

    for name, meant in OUTPUTS.get(runtime, SAME).items():
        np.testing.assert_allclose(answer[name], expected(batch)[meant], rtol=1e-4, atol=1e-5)


def test_it_says_what_it_takes_and_gives(network: LoadedNetwork, runtime: RuntimeName) -> None:
    assert network.input_names == ("images",)
    assert set(network.output_names) == set(OUTPUTS.get(runtime, SAME))
    assert network.is_ready


def test_only_the_wanted_outputs_are_given(network: LoadedNetwork, runtime: RuntimeName) -> None:
    wanted = min(OUTPUTS.get(runtime, SAME))

    assert list(network.run(drawn_batch(2), [wanted])) == [wanted]


def test_an_output_that_it_does_not_give_is_told(network: LoadedNetwork) -> None:
    with pytest.raises(NetworkError, match=network.output_names[0]):
        network.run(drawn_batch(1), ["nothing"])


def test_threads_that_ask_at_the_same_time_get_their_own_answers(
    network: LoadedNetwork, runtime: RuntimeName
) -> None:
    name, meant = min(OUTPUTS.get(runtime, SAME).items())
    batches = [drawn_batch(1 + seed % 4, seed) for seed in range(40)]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda batch: network.run(batch, [name])[name], batches))

    for batch, answer in zip(batches, answers, strict=True):
        np.testing.assert_allclose(answer, expected(batch)[meant], rtol=1e-4, atol=1e-5)


def test_an_answer_stays_when_the_next_batch_is_asked(network: LoadedNetwork) -> None:
    name = network.output_names[0]
    first = network.run(drawn_batch(2, seed=1), [name])[name]
    kept = first.copy()

    network.run(drawn_batch(2, seed=2), [name])

    np.testing.assert_array_equal(first, kept)


def test_after_a_batch_of_a_wrong_shape_the_next_one_is_answered(
    network: LoadedNetwork, runtime: RuntimeName
) -> None:
    name, meant = min(OUTPUTS.get(runtime, SAME).items())

    with pytest.raises(NetworkError, match="could not compute"):
        network.run(np.zeros((2, 3), np.float32), [name])

    answer = network.run(drawn_batch(1), [name])[name]
    np.testing.assert_allclose(answer, expected(drawn_batch(1))[meant], rtol=1e-4, atol=1e-5)


def test_a_closed_network_is_not_ready_and_says_so(network: LoadedNetwork) -> None:
    network.close()

    assert not network.is_ready
    with pytest.raises(NetworkError, match="closed"):
        network.run(drawn_batch(1), network.output_names)
    if isinstance(network, FrameworkNetwork):
        assert not psutil.pid_exists(network._process.popen.pid)


# TensorFlow would have to be started for this alone; what its process says is tested without it.
@pytest.mark.parametrize(
    "runtime", [name for name in NAMES if name.values != ("tensorflow",)], indirect=True
)
def test_a_broken_file_is_refused(
    runtime: RuntimeName, network_files: NetworkFiles, tmp_path: Path
) -> None:
    whole = network_files(runtime)
    broken = tmp_path / whole.name
    broken.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])

    with pytest.raises(InputError, match=whole.name):
        load_network(broken, runtime, Resources())


@pytest.mark.parametrize("name", RUNTIMES.names())
def test_a_file_that_is_not_there_is_named(name: RuntimeName, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no network .*absent"):
        load_network(tmp_path / "absent", name, Resources())


@pytest.mark.parametrize(
    ("name", "module", "advice"),
    [
        ("onnxruntime", "onnxruntime", r"pip install 'prumo\[serve\]'"),
        ("openvino", "openvino", r"pip install 'prumo\[openvino\]'"),
        ("litert", "ai_edge_litert.interpreter", r"pip install 'prumo\[litert\]'"),
    ],
)
def test_a_runtime_that_is_not_installed_says_how_to_install_it(
    name: RuntimeName,
    module: str,
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(UnavailableError, match=advice):
        load_network(tmp_path, name, Resources())


def test_a_framework_that_is_not_set_up_says_how_to_set_it_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))

    with pytest.raises(UnavailableError, match="prumo setup tensorflow"):
        load_network(tmp_path, "tensorflow", Resources())


@pytest.mark.parametrize(
    ("name", "file", "write"),
    [
        ("onnxruntime", "network.onnx", write_onnx),
        ("openvino", "network.xml", write_openvino),
    ],
)
def test_a_network_for_batches_of_two_answers_every_other_size_too(
    name: RuntimeName, file: str, write: Callable[[Path, int], Path], tmp_path: Path
) -> None:
    network = load_network(write(tmp_path / file, 2), name, Resources())

    for images in (1, 2, 3, 8):
        answer = network.run(drawn_batch(images), ["scores"])["scores"]
        np.testing.assert_allclose(answer, expected(drawn_batch(images))["scores"], rtol=1e-4)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_session_has_as_many_threads_as_it_may(threads: int, tmp_path: Path) -> None:
    path = write_onnx(tmp_path / "network.onnx")
    before = psutil.Process().num_threads()

    network = load_network(path, "onnxruntime", Resources(threads=threads))

    # Whoever asks is one of them.
    assert psutil.Process().num_threads() - before == threads - 1
    network.close()


def test_a_closed_session_is_gone(tmp_path: Path) -> None:
    network = load_network(write_onnx(tmp_path / "network.onnx"), "onnxruntime", Resources())
    assert isinstance(network, OnnxNetwork)
    session = weakref.ref(network._session)

    network.close()
    gc.collect()

    assert session() is None
