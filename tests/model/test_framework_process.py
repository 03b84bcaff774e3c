"""How a framework's process lives and dies, whichever framework it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pytest

from prumo.errors import InputError, PrumoError, UnavailableError
from prumo_serve.runtimes import NetworkError, Resources, framework_network
from prumo_serve.runtimes.framework_network import FrameworkNetwork
from support.stand_in_framework import NAME, REFUSED, written_interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE_SECONDS = 60.0
BATCH = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a network that can be loaded."""
    interpreter = str(written_interpreter(tmp_path))
    monkeypatch.setattr(framework_network, "_interpreter", lambda _framework: interpreter)
    network = tmp_path / "network"
    network.write_text("whole", encoding="utf-8")
    return network


@pytest.fixture
def network(path: Path) -> Iterator[FrameworkNetwork]:
    loaded = FrameworkNetwork(NAME, path, Resources())
    yield loaded
    loaded.close()


def test_a_killed_framework_is_told_and_started_again(network: FrameworkNetwork) -> None:
    killed = network._process.popen.pid

    os.kill(killed, signal.SIGKILL)

    with pytest.raises(NetworkError, match=r"signal 9|started again"):
        network.run(BATCH, ["answers"])
    _await(lambda: network.is_ready)
    assert network._process.popen.pid != killed
    np.testing.assert_array_equal(network.run(BATCH, ["answers"])["answers"], 2 * BATCH)


def test_it_is_tried_again_until_the_network_can_be_loaded(
    network: FrameworkNetwork, path: Path
) -> None:
    path.write_text("broken", encoding="utf-8")
    os.kill(network._process.popen.pid, signal.SIGKILL)
    _await(path.with_name(REFUSED).exists)
    assert not network.is_ready

    path.write_text("whole", encoding="utf-8")

    _await(lambda: network.is_ready)
    np.testing.assert_array_equal(network.run(BATCH, ["answers"])["answers"], 2 * BATCH)


def test_a_batch_that_cannot_be_sent_does_not_spoil_the_next(network: FrameworkNetwork) -> None:
    with pytest.raises(ValueError, match="Object arrays"):
        network.run(np.array([None]), ["answers"])

    np.testing.assert_array_equal(network.run(BATCH, ["answers"])["answers"], 2 * BATCH)


@pytest.mark.parametrize(
    ("word", "error", "told"),
    [
        ("broken", InputError, "network is not a network that stand-in can load: ValueError"),
        ("absent", UnavailableError, "stand-in cannot be used here"),
        ("large", NetworkError, "not enough memory"),
        ("killed", NetworkError, "died on loading .*signal 9"),
    ],
)
def test_why_it_cannot_load_a_network_is_told(
    word: str, error: type[PrumoError], told: str, path: Path
) -> None:
    path.write_text(word, encoding="utf-8")

    with pytest.raises(error, match=told):
        FrameworkNetwork(NAME, path, Resources())


def test_it_ends_with_whoever_started_it(path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; "
        "from prumo_serve.runtimes import framework_network; "
        "framework_network._interpreter = lambda _: sys.argv[1]; "
        "process = framework_network.FrameworkProcess('stand-in', Path(sys.argv[2]), 1); "
        "print(process.popen.pid, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", script, str(path.with_name("interpreter")), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        framework = psutil.Process(int(parent.stdout.readline()))
        parent.kill()

    framework.wait(PATIENCE_SECONDS)


def _await(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
