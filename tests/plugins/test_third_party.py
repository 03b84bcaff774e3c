"""A stranger's package is installed beside Prumo, and each of its plug-ins is used by a user."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from PIL import Image

from prumo_endpoint.exchange import PING, Address, exchange, free_port
from support.model_packages import ColourNetwork, write_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
STUDY = """
name: sorted
workload: {kind: sorting}
factors: {rows: [10, 1000]}
fixed: {columns: 2}
replications: 2
"""
BROKEN_ENTRIES = """
[prumo.commands]
broken = no_such_module:command
hollow = os:sep

[prumo.workloads]
broken = no_such_module:Workload

[prumo.price_sources]
broken = no_such_module:Prices

[prumo.tasks]
broken = no_such_module:TASK

[prumo.targets]
broken = no_such_module:Target

[prumo.executors]
broken = no_such_module:Executor
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with Prumo, its dependencies borrowed, and the package."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True, timeout=120
    )
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    packages = [path for path in sys.path if path.endswith("-packages")]
    (site / "borrowed.pth").write_text("\n".join([str(REPOSITORY / "src"), *packages]) + "\n")
    _install(HERE / "stranger", site)
    return folder / "venv"


@pytest.fixture
def prumo(environment: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Prumo in the environment, in a folder and with a cache of the test's own."""

    def call(*words: object, path: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [environment / "bin/python", "-m", "prumo", *map(str, words)],
            cwd=tmp_path,
            env=_variables(tmp_path, path),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return call


def test_its_author_runs_the_contracts(environment: Path, tmp_path: Path) -> None:
    shutil.copy(HERE / "stranger" / "test_contracts.py", tmp_path)

    done = subprocess.run(
        [environment / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=_variables(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )

    assert done.returncode == 0, done.stdout


def test_a_study_of_its_workload_is_run_and_reported(prumo: Any, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)

    ran = prumo("run", "study.yaml", "--executor", "logged")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    log = (tmp_path / "results/sorted/finished.log").read_text().splitlines()
    assert len(log) == 4
    assert all(line.endswith("finished") for line in log)

    report = prumo("report", "results/sorted")
    assert report.returncode == 0, report.stderr
    assert "sort_seconds" in report.stdout + (tmp_path / "results/sorted/report.html").read_text()


def test_a_mistake_in_such_a_study_is_found_like_our_own(prumo: Any, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.replace("[10, 1000]", "[10, none]"))

    done = prumo("plan", "study.yaml")

    assert done.returncode == 2
    assert "study.yaml:4: factors.rows[1]: should be a whole number" in done.stderr


def test_its_prices_are_imported_and_shown(prumo: Any, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text('{"orchard_prices": {"small": 0.5}}')

    imported = prumo("price", "import", "list.json", "--as-of", "2026-11-14")
    assert imported.returncode == 0, imported.stderr

    shown = prumo("price", "show", "orchard/small@home", "--json")
    assert shown.returncode == 0, shown.stderr
    assert '"on_demand": 0.5' in shown.stdout
    assert "Orchard Cloud's price list" in shown.stdout


def test_a_model_with_its_task_is_packaged_and_answers(
    prumo: Any, environment: Path, tmp_path: Path
) -> None:
    write_network(tmp_path / "network.onnx", ColourNetwork(outputs=2))
    packaged = prumo(
        *("model", "package", "network.onnx", "--out", "package", "--task", "ripeness"),
        *("--normalization", "0..1"),
    )
    assert packaged.returncode == 0, packaged.stderr
    assert "whether a fruit is ripe" in prumo("model", "show", "package").stdout

    with _served(environment, tmp_path) as address:
        request = Request(  # noqa: S310 (the server of this test)
            f"{address}/invocations", _green_image(), {"Content-Type": "image/png"}
        )
        with urlopen(request, timeout=60) as reply:  # noqa: S310 (as above)
            answer = json.load(reply)

    assert answer["label"] == "ripe"
    assert answer["pick"] is True


def test_its_target_is_checked(prumo: Any) -> None:
    done = prumo("endpoint", "check", "wsgi://orchard.serve_wsgi:application", "--json")

    rules = {rule["name"]: rule["verdict"] for rule in json.loads(done.stdout)["rules"]}
    assert rules["start-up"] == rules["ping"] == rules["stop"] == "pass"
    refused = prumo("endpoint", "check", "wsgi://orchard")
    assert refused.returncode == 2
    assert "right is wsgi://MODULE:NAME" in refused.stderr


def test_its_command_group_is_listed_and_called(prumo: Any) -> None:
    listed = prumo("--help").stdout
    assert "Ask the orchard." in listed.partition("Models and endpoints")[2]
    assert prumo("orchard", "season", "mango").stdout == "October to January\n"


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        (("broken",), "command group 'broken'"),
        (("run", "study.yaml"), "workload 'broken'"),
        (("price", "import", "list.csv", "--from", "broken"), "price source 'broken'"),
        (("endpoint", "check", "broken://x"), "target 'broken'"),
        (("run", "good.yaml", "--executor", "broken"), "executor 'broken'"),
        (("model", "package", "n.onnx", "--out", "p", "--task", "broken"), "task 'broken'"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_named(
    prumo: Any, tmp_path: Path, words: tuple[str, ...], entry: str
) -> None:
    _write_broken_package(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY.replace("sorting", "broken"))
    (tmp_path / "good.yaml").write_text(STUDY)
    (tmp_path / "list.csv").write_text("provider,sku,region,on_demand\na,b,c,1\n")
    write_network(tmp_path / "n.onnx", ColourNetwork(outputs=2))

    done = prumo(*words, path=str(tmp_path / "site"))

    assert done.returncode == 2, done.stdout + done.stderr
    assert f"the {entry} of the package rotten cannot be loaded" in done.stderr
    assert "no_such_module" in done.stderr
    assert "Traceback" not in done.stderr


def test_broken_plugins_do_not_break_the_rest(prumo: Any, tmp_path: Path) -> None:
    _write_broken_package(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "list.json").write_text('{"orchard_prices": {"small": 0.5}}')
    site = str(tmp_path / "site")

    helped = prumo("--help", path=site)
    assert helped.returncode == 0, helped.stderr
    assert "cannot be loaded" in helped.stdout
    assert "Ask the orchard." in helped.stdout
    hollow = prumo("hollow", path=site)
    assert hollow.returncode == 2
    assert "'hollow' is not a click command" in hollow.stderr
    assert prumo("plan", "study.yaml", path=site).returncode == 0
    assert "sorting" in prumo("schema", path=site).stdout
    assert prumo("price", "import", "list.json", "--as-of", "2026-11-14", path=site).returncode == 0


def _green_image() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (16, 16), (0, 255, 0)).save(file, "PNG")
    return file.getvalue()


def _install(source: Path, site: Path) -> None:
    """Build and install without a network; by hand where the build backend is not installed."""
    copy = site.parent / "source"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", str(site))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(copy)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode != 0:
        shutil.copytree(copy / "orchard", site / "orchard")
        _write_metadata(site, "orchard", _entry_points(copy / "pyproject.toml"))


def _entry_points(file: Path) -> str:
    groups = tomllib.loads(file.read_text("utf-8"))["project"]["entry-points"]
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in groups.items()
    )


def _write_metadata(site: Path, name: str, entry_points: str) -> None:
    information = site / f"{name}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(entry_points)


def _write_broken_package(folder: Path) -> None:
    _write_metadata(folder / "site", "rotten", BROKEN_ENTRIES)


def _variables(folder: Path, path: str = "") -> dict[str, str]:
    cache = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
    return {**os.environ, **cache, "PYTHONPATH": path, "COLUMNS": "200"}


@contextmanager
def _served(environment: Path, folder: Path) -> Iterator[Address]:
    address = Address("127.0.0.1", free_port())
    words = ("serve", "package", "--port", str(address.port), "--workers", "1")
    with subprocess.Popen(
        [environment / "bin/python", "-m", "prumo", *words],
        cwd=folder,
        env=_variables(folder),
        stderr=(folder / "log").open("w"),
    ) as server:
        try:
            until = time.monotonic() + 60
            while exchange(address, PING, 10).status != 200:
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until
                time.sleep(0.1)
            yield address
        finally:
            server.terminate()
