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

GROUND = {
    "backoff",
    "cache",
    "errors",
    "exit_codes",
    "files",
    "http",
    "images",
    "message",
    "plugins",
    "progress",
    "protobuf",
    "quantity",
    "version",
}
BELOW_RUN = {"environments", "datasets", "supervise", "machine", "results", "statistics", "study"}
MAY_IMPORT = {
    "cli": {"report", "forecast", "foreign", "money", "run"} | BELOW_RUN,
    "testing": {"report", "forecast", "foreign", "money", "run"} | BELOW_RUN,
    "report": {"forecast", "foreign", "money", "results", "statistics", "machine", "study"},
    "forecast": {"run", "money"} | BELOW_RUN,
    "foreign": {"run", "money", "results", "statistics", "study"},
    "run": {"money"} | BELOW_RUN,
    "money": {"results", "statistics", "study"},
    "statistics": {"results", "study"},
    "results": {"study"},
    "environments": {"supervise", "machine", "study"},
    "datasets": {"machine", "study"},
    "supervise": {"machine"},
    "machine": set[str](),
    "study": set[str](),
}
# The package itself and what opens it are above all rooms.
DOORS = {"__init__", "__main__", "notebook"}
# Products on the instrument: which other packages each may import, whole or in part.
MAY_USE = {
    "prumo_retina": {"prumo_retina", "prumo_serve", "prumo", "prumo_worker"},
    "prumo_serve": {"prumo_serve", "prumo", "prumo_worker"},
    "prumo_endpoint": {"prumo_endpoint", "prumo", "prumo_worker"},
    "prumo": {"prumo", "prumo_worker"},
    "prumo_worker": {"prumo_worker"},
}
# The instrument's modules that products use, and a plug-in may use as well; see docs/plugins.md.
PUBLIC = {
    "prumo.backoff",
    "prumo.cache",
    "prumo.cli.console",
    "prumo.cli.group",
    "prumo.cli.numbers",
    "prumo.cli.options",
    "prumo.datasets.formats.tfrecord",
    "prumo.datasets.source",
    "prumo.environments.frameworks",
    "prumo.environments.pip",
    "prumo.environments.session",
    "prumo.environments.setup",
    "prumo.environments.store",
    "prumo.errors",
    "prumo.exit_codes",
    "prumo.files",
    "prumo.images",
    "prumo.machine.accelerators",
    "prumo.machine.cgroup",
    "prumo.machine.cpu",
    "prumo.machine.kernel",
    "prumo.machine.machine",
    "prumo.message",
    "prumo.money.billing",
    "prumo.money.catalog",
    "prumo.money.cost",
    "prumo.money.pareto",
    "prumo.money.price",
    "prumo.money.study_prices",
    "prumo.plugins",
    "prumo.progress",
    "prumo.protobuf",
    "prumo.quantity",
    "prumo.report.content",
    "prumo.report.cost_sentences",
    "prumo.report.figures.figure",
    "prumo.report.figures.pareto",
    "prumo.report.figures.scenarios",
    "prumo.report.file",
    "prumo.report.formats.documents",
    "prumo.report.label",
    "prumo.report.language",
    "prumo.report.sections.section",
    "prumo.report.traffic",
    "prumo.results.folder",
    "prumo.results.record",
    "prumo.results.tables",
    "prumo.run.journal",
    "prumo.run.preflight",
    "prumo.run.worker",
    "prumo.run.workloads",
    "prumo.statistics.comparison",
    "prumo.statistics.interval",
    "prumo.study",
    "prumo.study.model",
    "prumo.study.plan",
    "prumo.study.scenario",
    "prumo.study.section",
    "prumo.study.training",
    "prumo.study.workload",
    "prumo.supervise.child",
    "prumo.supervise.guard",
    "prumo.supervise.interruption",
    "prumo.supervise.parent_death",
    "prumo.version",
}
WORKER_PARTS = {
    "prumo_worker.conversion.facts",
    "prumo_worker.networks",
    "prumo_worker.data.CATALOG",
    "prumo_worker.data.Card",
    "prumo_worker.data.GENERATED",
    "prumo_worker.data.CARD_FILE",
    "prumo_worker.data.IMAGES_FILE",
    "prumo_worker.data.LABELS_FILE",
    "prumo_worker.frameworks.NAMES",
    "prumo_worker.journal",
    "prumo_worker.recipe",
    "prumo_worker.predictor",
    "prumo_worker.processor",
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
def test_the_ground_stands_on_nothing_but_ground(name: str) -> None:
    imported = _imports(SOURCE / "prumo" / f"{name}.py")

    assert not [
        module for module in imported if _is_of("prumo", module) and _room(module) not in GROUND
    ]


def test_every_room_has_its_place() -> None:
    found = {
        path.stem
        for path in (SOURCE / "prumo").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }

    assert found == MAY_IMPORT.keys() | GROUND | DOORS


@pytest.mark.parametrize("package", MAY_USE)
def test_imports_point_from_products_to_the_instrument(package: str) -> None:
    assert not [
        f"{file.relative_to(SOURCE)} imports {module}"
        for file in (SOURCE / package).rglob("*.py")
        for module in _imports(file)
        if module.split(".")[0] in MAY_USE
        and not any(_is_of(part, module) for part in MAY_USE[package])
    ]


@pytest.mark.parametrize("package", ["prumo_retina", "prumo_serve", "prumo_endpoint"])
def test_a_product_reaches_the_instrument_only_through_public_names(package: str) -> None:
    assert not [
        f"{file.relative_to(SOURCE)} imports {module}"
        for file in (SOURCE / package).rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo", module) and re.search(r"\._(?!_)", module)
    ]


def test_products_use_only_the_modules_of_the_instrument_that_are_public() -> None:
    used = {
        _file_of(module)
        for package in ("prumo_retina", "prumo_serve", "prumo_endpoint")
        for file in (SOURCE / package).rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo", module)
    }

    assert used == PUBLIC


def test_money_returns_amounts_and_no_sentences() -> None:
    assert not [
        f"{file.name} imports {module}"
        for file in (SOURCE / "prumo" / "money").rglob("*.py")
        for module in _imports(file)
        if _is_of("prumo.message", module)
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


def _file_of(module: str) -> str:
    """The module itself, where the name is that of something in it."""
    path = SOURCE.joinpath(*module.split("."))
    if path.is_dir() or path.with_suffix(".py").is_file():
        return module
    return module.rpartition(".")[0]


def _is_of(package: str, module: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _room(module: str) -> str:
    """The room of a module; one that names none imports the door, which is above them all."""
    return module.split(".")[1] if "." in module else ""
