"""What all tests share: the rule on skips, the frameworks' environments, throw-away studies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from prumo.cli import main
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.errors import UnavailableError

ABSENT_HARDWARE = "absent hardware"

ROOT = Path(__file__).parent.parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skip for a missing part is a failure; only hardware may be absent there."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
        if ABSENT_HARDWARE not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped in CI: {reason}"
    return report


@pytest.fixture(autouse=True)
def _root_only(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root")


FrameworkPython = Callable[[str], Path]


@pytest.fixture(scope="session")
def framework_python() -> FrameworkPython:
    """The interpreter of a framework's real environment, made once and kept in the user's cache.

    A framework is named as in a study: `tensorflow`, or `tensorflow@2.14.0`.
    """

    @cache
    def python(name: str) -> Path:
        try:
            return ensure(find_framework(name)).python
        except UnavailableError as error:
            pytest.skip(f"{name} cannot be set up here: {error}")

    return python


@pytest.fixture(scope="session")
def pytorch_python(framework_python: FrameworkPython) -> Path:
    """The interpreter of the real PyTorch environment."""
    return framework_python("pytorch")


Prumo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def prumo_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Prumo:
    """The command line as a user calls it, in this process: quicker than one of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = ["prumo", *map(str, arguments)]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        return subprocess.CompletedProcess(
            words, int(ended.value.code or 0), output.out, output.err
        )

    return call


@pytest.fixture
def prumo(tmp_path: Path) -> Prumo:
    """The command line as a user calls it, in a folder of its own."""

    def call(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "prumo", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            **options,
        )

    return call
