"""The worker lives in environments that have neither Prumo nor its dependencies."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

from worker_process import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted((SOURCES / "prumo_worker").rglob("*.py"))
FRAMEWORKS = {"pytorch.py": {"torch"}}


def name(file: Path) -> str:
    return str(file.relative_to(SOURCES))


def imported_packages(tree: ast.Module) -> set[str]:
    packages: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            packages.add(node.module.partition(".")[0])
    return packages


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_worker_file_is_python_3_9(file: Path) -> None:
    ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_worker_file_imports_only_what_its_environment_has(file: Path) -> None:
    allowed = {"prumo_worker", "numpy"} | set(sys.stdlib_module_names)
    if file.parent.name == "frameworks":
        allowed |= FRAMEWORKS.get(file.name, set())
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert imported_packages(tree) <= allowed
