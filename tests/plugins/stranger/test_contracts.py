"""What a plug-in's author runs: the contract of each point, on the author's own plug-ins."""

from pathlib import Path

import numpy as np
import orchard.commands
import pytest
from orchard.executor import LoggedExecutor
from orchard.prices import OrchardPrices
from orchard.ripeness import TASK
from orchard.runtime import RUNTIME
from orchard.target import WsgiTarget
from orchard.workload import Sorting

from prumo import testing
from prumo_serve.manifest import ImagePreprocessing, Input, Manifest, NetworkFile, Origin, Output


class TestSorting(testing.WorkloadContract):
    name = "sorting"
    workload = Sorting
    study = {"name": "s", "workload": {"kind": "sorting"}, "factors": {"rows": [10, 100]}}


class TestLoggedExecutor(testing.ExecutorContract):
    executor = LoggedExecutor


class TestOrchardPrices(testing.PriceSourceContract):
    source = OrchardPrices()
    sample = '{"orchard_prices": {"small": 0.5, "large": 2.0}}'


class TestRipeness(testing.TaskContract):
    task = TASK
    scores = (0.5, 2.0)

    def manifest(self) -> Manifest:
        return Manifest(
            name="fruit",
            task="ripeness",
            labels=TASK.labels,
            input=Input(
                tensor="image",
                height=16,
                width=16,
                layout="NHWC",
                preprocessing=ImagePreprocessing(),
            ),
            output=Output(tensor="scores", kind="scores"),
            network=NetworkFile(file="network.onnx", runtime="onnxruntime"),
            origin=Origin(format="onnx", name="network.onnx", sha256="0" * 64),
            card="card.md",
        )


class TestMatrixRuntime(testing.RuntimeContract):
    runtime = RUNTIME
    batch = np.eye(3, 12, dtype=np.float32).reshape(3, 2, 2, 3)

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def network_file(self) -> Path:
        np.savez(self.folder / "network.npz", weights=np.ones((12, 2), np.float32))
        return self.folder / "network.npz"


class TestWsgiTarget(testing.TargetContract):
    kind = WsgiTarget

    def target(self) -> WsgiTarget:
        return WsgiTarget.from_words(["orchard.serve_wsgi:application"])


class TestCommand(testing.CommandContract):
    command = orchard.commands.command
    entry_module = "orchard.commands"


class TestTranslation(testing.TranslationContract):
    package = orchard
