"""The tree is the architecture: every room imports only from the rooms below it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent.parent / "src"

GROUND = {"errors", "message", "progress", "quantity", "version", "http_answer", "whole_file"}
STORES = {"results", "environment", "data", "cache", "machine"}
MAY_IMPORT = {
    "cli": {
        "endpoint",
        "serve",
        "model",
        "retina",
        "report",
        "execute",
        "analyse",
        "measure",
        "price",
        "study",
    }
    | STORES,
    "endpoint": {"machine", "measure", "report"},
    "serve": {"model", "retina", "report", "machine"},
    "model": {"retina", "report", "analyse", "measure"} | STORES,
    "retina": {"report", "analyse", "measure", "study"} | STORES,
    "report": {"analyse", "price", "study"} | STORES,
    "execute": {"analyse", "measure", "price", "study"} | STORES,
    "analyse": {"price", "study"} | STORES,
    "measure": {"study"} | STORES,
    "results": {"price", "study"},
    "price": {"cache", "study"},
    "environment": {"cache", "machine", "study"},
    "data": {"cache", "machine", "study"},
    "cache": set[str](),
    "machine": set[str](),
    "study": set[str](),
}
# The package itself and what opens it are above all rooms.
DOORS = {"__init__", "__main__", "notebook"}
WORKER_PARTS = {
    "prumo_worker.conversion.drawn_images",
    "prumo_worker.networks",
    "prumo_worker.data.catalog",
    "prumo_worker.data.prepared",
    "prumo_worker.frameworks.NAMES",
    "prumo_worker.journal",
    "prumo_worker.recipe",
    "prumo_worker.metric_names",
    "prumo_worker.predictor.frames",
    "prumo_worker.retina.backbones.names",
}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_from_rooms_below_it(room: str) -> None:
    allowed = {room} | MAY_IMPORT[room] | GROUND
    upwards = [
        f"{file.relative_to(SOURCE)} imports {module}"
        for file in (SOURCE / "prumo" / room).rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo", module) and _room(module) not in allowed
    ]

    assert upwards == []


@pytest.mark.parametrize("name", sorted(GROUND))
def test_the_ground_stands_on_nothing(name: str) -> None:
    imported = _imports(SOURCE / "prumo" / f"{name}.py")

    assert not [module for module in imported if _is_of("prumo", module)]


def test_every_room_has_its_place() -> None:
    found = {
        path.stem
        for path in (SOURCE / "prumo").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }

    assert found == MAY_IMPORT.keys() | GROUND | DOORS


def test_a_worker_knows_nothing_of_the_controller() -> None:
    assert not [
        f"{file.name} imports {module}"
        for file in (SOURCE / "prumo_worker").rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo", module)
    ]


def test_the_controller_uses_only_the_parts_of_a_worker_that_are_pure() -> None:
    used = {
        module
        for file in (SOURCE / "prumo").rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo_worker", module)
    }

    assert not {module for module in used if not any(_is_of(part, module) for part in WORKER_PARTS)}


def test_statistics_return_numbers_and_no_prose() -> None:
    above = {"message", "report", "run", "money", "forecast", "foreign", "cli"}

    assert not [
        f"{file.name} imports {module}"
        for file in (SOURCE / "prumo" / "statistics").rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo", module) and _room(module) in above
    ]


@pytest.mark.parametrize("room", ["forecast", "foreign"])
def test_sentences_are_made_in_report(room: str) -> None:
    assert not [
        f"{file.name} imports {module}"
        for file in (SOURCE / "prumo" / room).rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo", module) and _room(module) in {"message", "report"}
    ]


def test_the_instrument_does_not_know_the_application_on_top() -> None:
    application = re.compile("retina|fundus|referral", re.IGNORECASE)

    assert not [
        f"{file.relative_to(SOURCE)}:{number}"
        for file in sorted((SOURCE / "prumo").rglob("*.*"))
        if file.is_file() and file.suffix != ".pyc"
        for number, line in enumerate(file.read_text("utf-8", "ignore").splitlines(), start=1)
        if application.search(line)
    ]


def _imports(file: Path) -> Iterator[str]:
    """Every module that a file names in an import, also for types only or inside a function."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_of(package: str, module: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _room(module: str) -> str:
    """The room of a module; one that names none imports the door, which is above them all."""
    return module.split(".")[1] if "." in module else ""
