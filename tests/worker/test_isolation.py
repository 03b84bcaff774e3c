"""The worker lives in environments that have neither Prumo nor its dependencies."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.worker_process import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = sorted((SOURCES / "prumo_worker").rglob("*.py"))
ROOM = SOURCES / "prumo_worker" / "frameworks"
FRAMEWORKS = {
    "caffe": {"caffe", "google"},
    "jax": {"jax", "jaxlib"},
    "mxnet": {"mxnet"},
    "pytorch": {"torch"},
    "tensorflow": {"tensorflow"},
}
# Only ever run in the environment of one framework; TensorFlow's brings Keras, and companions the
# packages that write ONNX.
APART = {
    SOURCES / "prumo_worker" / "retina": {"tensorflow", "keras"},
    SOURCES / "prumo_worker" / "conversion": {
        "tensorflow",
        "keras",
        "torch",
        "onnx",
        "onnxscript",
        "tf2onnx",
    },
    SOURCES / "prumo_worker" / "predictor": {"tensorflow", "torch"},
}


def test_worker_files_are_python_3_9() -> None:
    assert FILES
    for file in FILES:
        ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 9))


@pytest.mark.frameworks
def test_the_oldest_python_of_all_imports_every_module_that_frameworks_share(
    framework_python: Callable[[str], Path],
) -> None:
    apart = [file for file in FILES if file.is_relative_to(ROOM) and file.parent != ROOM]
    apart += [file for file in FILES if any(map(file.is_relative_to, APART))]
    shared = [file for file in FILES if file not in apart]
    places = [file.parent if file.stem == "__init__" else file for file in shared]
    modules = [".".join(place.relative_to(SOURCES).with_suffix("").parts) for place in places]
    program = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    done = subprocess.run(
        [framework_python("caffe"), "-c", program, *modules],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_worker_files_import_only_what_their_environments_have() -> None:
    foreign = {
        str(file.relative_to(SOURCES)): packages
        for file in FILES
        if (packages := imported_packages(file) - allowed_packages(file))
    }
    assert not foreign


def imported_packages(file: Path) -> set[str]:
    packages: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            packages.add(node.module.partition(".")[0])
    return packages


def allowed_packages(file: Path) -> set[str]:
    allowed = {"prumo_worker", "numpy"} | set(sys.stdlib_module_names)
    if file.is_relative_to(ROOM):
        framework = file.relative_to(ROOM).parts[0].removesuffix(".py")
        allowed |= FRAMEWORKS.get(framework, set())
    for folder, packages in APART.items():
        if file.is_relative_to(folder):
            allowed |= packages
    return allowed
