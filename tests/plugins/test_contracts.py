"""Every implementation of Prumo's own passes the contract of its plug-in point."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo import plugins, testing
from prumo.money.sources import find_source
from prumo.plugins import (
    COMMANDS,
    EXECUTORS,
    PRICE_SOURCES,
    RUNTIMES,
    TASKS,
    TRANSLATIONS,
    WORKLOADS,
    PluginPoint,
)
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port
from prumo_endpoint.targets import Boot, Server, Target, TargetOptions
from prumo_endpoint.targets.process import ProcessTarget
from prumo_endpoint.targets.serverless import ServerlessTarget
from prumo_endpoint.targets.url import UrlTarget
from support import price_lists
from support.endpoint_server import served
from support.fundus_factory import fundus
from support.model_packages import write_colour_package
from support.runtime_networks import drawn_batch, write_onnx, write_openvino

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from prumo_serve.manifest import Manifest

SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
STUDIES: dict[str, dict[str, Any]] = {
    "command": {
        "workload": {"kind": "command", "command": ["true", "{level}"]},
        "factors": {"level": [1, 2]},
    },
    "imported": {"workload": {"kind": "imported"}, "factors": {"gpu": ["T4", "V100"]}},
    "training": {
        "workload": {"kind": "training"},
        "factors": {"framework": ["pytorch"], "network": ["rede1", "lenet5"]},
    },
    "requests": {
        "workload": {"kind": "requests"},
        "factors": {"experiment": ["warm-up", "cold-start"]},
        "fixed": {"target": "url", "address": "http://localhost:8080"},
    },
    "retina": {
        "workload": {"kind": "retina"},
        "factors": {"network": ["mobilenet", "inception_v3"]},
    },
}
"""A study of each kind of workload."""
SCORES = {"classification": (0.1, 2.0, 0.3), "grade": (0.1, 0.2, 3.0, 0.3, 0.1), "referral": (1.5,)}
"""A row of scores for the manifest of each task."""


ENDINGS = {"onnxruntime": ".onnx", "openvino": ".xml"}
NETWORK_WRITERS = {"onnxruntime": write_onnx, "openvino": write_openvino}
"""Of runtimes that need no framework's environment; tests/model has the same checks for all."""


@cache
def _network_file(runtime: str) -> Path:
    return NETWORK_WRITERS[runtime](Path(tempfile.mkdtemp()) / f"network{ENDINGS[runtime]}")


@cache
def _manifest(task: str) -> Manifest:
    with tempfile.TemporaryDirectory() as folder:
        return write_colour_package(Path(folder) / "package", task)


def _image(task: str) -> np.ndarray:
    """Noise, or a fundus photograph for retina's tasks."""
    if task == "classification":
        return testing.TaskContract().image()
    return fundus(400, 400).pixels


def _contract(point: PluginPoint, name: str, contract: type, /, **facts: object) -> None:
    """Make a class that pytest finds."""
    title = f"Test{point.noun.title().replace(' ', '')}{name.title().replace('_', '')}"
    globals()[title] = type(title, (contract,), {"__module__": __name__, **facts})


for _name in PRICE_SOURCES.names():
    _file, _text = price_lists.EXAMPLES[_name]
    _contract(
        PRICE_SOURCES,
        _name,
        testing.PriceSourceContract,
        source=find_source(_name),
        sample=_text,
        document_name=_file,
    )
for _name in WORKLOADS.names():
    _contract(
        WORKLOADS,
        _name,
        testing.WorkloadContract,
        name=_name,
        workload=WORKLOADS.load(_name),
        study={"name": "contract", **STUDIES[_name]},
        is_run=_name == "command",
    )
for _name in TASKS.names():
    _contract(
        TASKS,
        _name,
        testing.TaskContract,
        task=TASKS.load(_name),
        scores=SCORES[_name],
        manifest=lambda _self, name=_name: _manifest(name),
        image=lambda _self, name=_name: _image(name),
    )
for _name in NETWORK_WRITERS:
    _contract(
        RUNTIMES,
        _name,
        testing.RuntimeContract,
        runtime=RUNTIMES.load(_name),
        batch=drawn_batch(3),
        engine=_name,
        network_file=lambda _self, name=_name: _network_file(name),
    )
for _name in EXECUTORS.names():
    _contract(EXECUTORS, _name, testing.ExecutorContract, executor=EXECUTORS.load(_name))
for _name in COMMANDS.names():
    _entry = COMMANDS._entries[_name]
    _contract(
        COMMANDS,
        _name,
        testing.CommandContract,
        command=COMMANDS.load(_name),
        entry_module=_entry.module,
    )

for _name in TRANSLATIONS.names():
    _contract(TRANSLATIONS, _name, testing.TranslationContract, package=TRANSLATIONS.load(_name))


class TestTargetProcess(testing.TargetContract):
    kind = ProcessTarget

    def target(self) -> Target:
        return ProcessTarget.from_words([sys.executable, "-SE", str(SERVER)])


@pytest.mark.root
class TestTargetServerless(testing.TargetContract):
    kind = ServerlessTarget

    def target(self) -> Target:
        words = [sys.executable, "-SE", str(SERVER)]
        return ServerlessTarget.from_words(words, TargetOptions(memory_mb=256, cpus=1.0))


class TestTargetUrl(testing.TargetContract):
    kind = UrlTarget

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with served() as url:
            self.url = url
            yield

    def target(self) -> Target:
        return UrlTarget.from_words([self.url])


class OnDemandTarget(Target):
    """The shape of a serverless endpoint: a front that starts its server when it is asked."""

    noun = "a server on demand"

    def __init__(self, words: Sequence[str]) -> None:
        self.name = words[0]

    @classmethod
    def from_words(cls, words: Sequence[str], options: TargetOptions) -> OnDemandTarget:
        del options
        return cls(words)

    @contextmanager
    def running(self) -> Iterator[Server]:
        instances = _Instances()
        front = ThreadingHTTPServer((LOCAL_HOST, free_port()), instances.handler())
        threading.Thread(target=front.serve_forever, daemon=True).start()
        try:
            port = front.server_port
            yield Server(Address(LOCAL_HOST, port), port, instances=instances)
        finally:
            front.shutdown()
            front.server_close()
            instances.stop_idle()


class _Instances:
    def __init__(self) -> None:
        self._boots: list[Boot] = []
        self._process: subprocess.Popen[bytes] | None = None

    def boots(self) -> Sequence[Boot]:
        return tuple(self._boots)

    def stop_idle(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
            self._process = None

    def wake(self) -> None:
        if self._process is None:
            began = time.monotonic()
            self._process = subprocess.Popen(["sleep", "1000"])
            self._boots.append(Boot(uuid.uuid4().hex, time.monotonic() - began))

    def handler(self) -> type[BaseHTTPRequestHandler]:
        instances = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                instances.wake()
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class TestTargetOnDemand(testing.TargetContract):
    kind = OnDemandTarget

    def target(self) -> Target:
        return OnDemandTarget(["a function"])

    def test_words_that_name_none_are_refused(self) -> None:
        with pytest.raises(AssertionError, match="refuses no words with an InputError, not Index"):
            super().test_words_that_name_none_are_refused()


@pytest.mark.parametrize("group", [point for point in vars(plugins) if point.isupper()])
def test_every_point_has_implementations_of_prumos_own(group: str) -> None:
    assert getattr(plugins, group).names()
