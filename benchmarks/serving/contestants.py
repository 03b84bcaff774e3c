"""The servers that are compared: how each is started and what it is sent."""

from __future__ import annotations

import base64
import json
import os
import sys
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.serving.installation import companion, virtual_environment
from benchmarks.serving.load import post
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.machine.cpu import read_cpu

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.serving.networks import ServedNetwork

PATH = "/invocations"
WORKERS = read_cpu().usable_cores
"""Of every server that has workers: one for each core, as Prumo has by itself."""
_PLAIN_SERVERS = Path(__file__).with_name("plain_servers")
_FASTAPI = ("fastapi", "pillow", "uvicorn", "httptools", "uvloop")
# The same for all, or the runtimes would be compared and not the servers.
_ONNX_RUNTIME = f"onnxruntime=={version('onnxruntime')}"


@dataclass(frozen=True)
class Contestant:
    """One server of one network, not started yet."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    body: Literal["jpeg", "base64"] = "jpeg"
    is_int8: bool = False
    """Whether its network was quantized, so that its answers are not exactly those of others."""

    def request(self, photograph: bytes) -> bytes:
        """What asks it for the class of a photograph."""
        if self.body == "jpeg":
            return post(PATH, photograph, "image/jpeg")
        document = {"image": base64.b64encode(photograph).decode()}
        return post(PATH, json.dumps(document).encode(), "application/json")


def keras(network: ServedNetwork, port: int) -> Contestant:
    python = ensure(find_framework("tensorflow")).python
    packages = companion("keras-fastapi", (*_FASTAPI, "gunicorn", "uvicorn-worker"), python)
    gunicorn = ("-m", "gunicorn", "--workers", str(WORKERS), "--timeout", "120")
    address = ("--bind", f"127.0.0.1:{port}", "keras_fastapi:app")
    return Contestant(
        "FastAPI, Gunicorn, Keras predict",
        (str(python), *gunicorn, "--worker-class", "uvicorn_worker.UvicornWorker", *address),
        _plain_environment(network.keras, packages),
    )


def fastapi(network: ServedNetwork, port: int) -> Contestant:
    python = virtual_environment("onnx-fastapi", (*_FASTAPI, _ONNX_RUNTIME))
    command = ("-m", "uvicorn", "--port", str(port), "--no-access-log", "onnx_fastapi:app")
    return Contestant(
        "FastAPI, ONNX Runtime", (str(python), *command), _plain_environment(network.onnx)
    )


def litserve(network: ServedNetwork, port: int) -> Contestant:
    python = virtual_environment("onnx-litserve", ("litserve", _ONNX_RUNTIME, "pillow"))
    script = str(_PLAIN_SERVERS / "onnx_litserve.py")
    return Contestant(
        "LitServe, ONNX Runtime",
        (str(python), script, str(port)),
        _plain_environment(network.onnx),
        body="base64",
    )


def bentoml(network: ServedNetwork, port: int) -> Contestant:
    python = virtual_environment("onnx-bentoml", ("bentoml", _ONNX_RUNTIME, "pillow"))
    command = ("-m", "bentoml", "serve", "onnx_bentoml:Classifier", "--port", str(port))
    return Contestant(
        "BentoML, ONNX Runtime",
        (str(python), *command),
        _plain_environment(network.onnx) | {"BENTOML_DO_NOT_TRACK": "True"},
    )


def prumo(
    network: ServedNetwork,
    port: int,
    stack: Literal["lean", "nginx"],
    precision: Literal["fp32", "int8"],
) -> Contestant:
    package = network.fp32 if precision == "fp32" else network.int8
    command = ("-m", "prumo", "serve", str(package), "--stack", stack, "--port", str(port))
    return Contestant(
        f"Prumo {stack}, {precision}",
        (sys.executable, *command),
        is_int8=precision == "int8",
    )


MAKERS: dict[str, Callable[[ServedNetwork, int], Contestant]] = {
    "keras": keras,
    "fastapi": fastapi,
    "litserve": litserve,
    "bentoml": bentoml,
    "lean-fp32": partial(prumo, stack="lean", precision="fp32"),
    "lean-int8": partial(prumo, stack="lean", precision="int8"),
    "nginx-fp32": partial(prumo, stack="nginx", precision="fp32"),
    "nginx-int8": partial(prumo, stack="nginx", precision="int8"),
}


def _plain_environment(network: Path, *folders: Path) -> dict[str, str]:
    path = os.pathsep.join(map(str, [_PLAIN_SERVERS, *folders]))
    return dict(os.environ) | {
        "NETWORK": str(network),
        "WORKERS": str(WORKERS),
        "PYTHONPATH": path,
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
