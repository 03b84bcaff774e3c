"""The networks that are served: drawn in TensorFlow's environment, packaged by Prumo, kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import prumo_serve
import prumo_worker
from benchmarks.serving.installation import FOLDER
from benchmarks.serving.photographs import SIZE, write_photographs
from prumo.cache import made_folder
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.errors import SetupError

NetworkName = Literal["mobilenet", "vgg19"]
NETWORKS: tuple[NetworkName, ...] = ("mobilenet", "vgg19")
LABELS = "none,mild,moderate,severe,proliferative"
_DRAWING = Path(__file__).with_name("drawn_networks.py")
_CALIBRATION_PHOTOGRAPHS = 32
_SHOWN_CHARACTERS = 2000


@dataclass(frozen=True)
class ServedNetwork:
    """One network in every form that a server of the comparison takes."""

    name: NetworkName
    keras: Path
    onnx: Path
    """At full precision: what every server with ONNX Runtime takes."""
    fp32: Path
    """Prumo's package of the same file."""
    int8: Path


def served_network(name: NetworkName) -> ServedNetwork:
    """Draw, convert and quantize a network, unless an earlier run with the same source has."""
    folder = made_folder(FOLDER) / f"networks-{_source_hash()}"
    for other in set(folder.parent.glob("networks-*")) - {folder}:
        shutil.rmtree(other)
    folder.mkdir(exist_ok=True)
    keras, fp32, int8 = (folder / f"{name}{end}" for end in (".keras", "-fp32", "-int8"))
    if not keras.exists():
        _draw(name, keras)
    if not fp32.exists():
        _prumo(
            *("model", "package", keras, "--out", fp32, "--name", name, "--labels", LABELS),
            *("--size", SIZE, "--normalization", "0..1"),
        )
    if not int8.exists():
        photographs = folder / "calibration"
        write_photographs(photographs, _CALIBRATION_PHOTOGRAPHS)
        _prumo(
            *("model", "convert", fp32, "--out", int8, "--precision", "int8"),
            *("--calibration", photographs),
        )
    return ServedNetwork(name, keras, fp32 / "network.onnx", fp32, int8)


def _source_hash() -> str:
    """Of all that decides what the networks and their packages are."""
    digest = sha256(_DRAWING.read_bytes())
    for package in (prumo_serve, prumo_worker):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def _draw(name: NetworkName, path: Path) -> None:
    whole = path.with_name(f"new-{path.name}")
    _run([ensure(find_framework("tensorflow")).python, _DRAWING, name, whole])
    whole.rename(path)


def _prumo(*words: object) -> None:
    _run([sys.executable, "-m", "prumo", *words])


def _run(command: list[object]) -> None:
    words = [str(word) for word in command]
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=quiet)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-_SHOWN_CHARACTERS:]
        raise SetupError(f"{' '.join(words)} failed: {said}")
