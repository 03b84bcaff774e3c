"""Schemathesis against the OpenAPI document that a running server publishes of itself.

Whatever is sent, right by the document or wrong on purpose: no error of the server's, no status and
no body that the document does not describe, and nothing accepted that it forbids.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.model_packages import ColourNetwork, write_colour_package
from support.served_process import PATIENCE_SECONDS, served_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.served_process import ServedProcess

SEED = "20240611"
# An image that decoders refuse is right by the document, so that acceptance cannot be asked for.
CONFIGURATION = """
[checks]
positive_data_acceptance.enabled = false
negative_data_rejection.expected-statuses = [400, 404, 405, 411, 413, 415, 422]

[generation]
database = "none"
"""
HUNDREDS = 300
THOUSANDS = 10_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("fuzzed")
    # So small that the fuzzer can write down a whole tensor.
    write_colour_package(folder / "package", network=ColourNetwork(size=4), heat_map=False)
    options = ("--max-pixels", "1000000", "--max-body-mb", "1")
    with served_process(folder / "package", folder / "log", *options) as running:
        running.await_ready()
        yield running


def test_hundreds_of_requests_are_answered_as_described(
    server: ServedProcess, tmp_path: Path
) -> None:
    assert fuzzed(server, tmp_path, examples=5) >= HUNDREDS


@pytest.mark.slow
def test_ten_thousand_requests_are_answered_as_described(
    server: ServedProcess, tmp_path: Path
) -> None:
    assert fuzzed(server, tmp_path, examples=2100) >= THOUSANDS


def fuzzed(server: ServedProcess, folder: Path, examples: int) -> int:
    """How many requests the server has answered, all of them well."""
    configuration = folder / "schemathesis.toml"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    before = answered_requests(server)
    words = ["--config-file", str(configuration), "run", "--seed", SEED]
    words += ["--phases", "coverage,fuzzing", "--max-examples", str(examples)]
    words += ["--request-timeout", str(PATIENCE_SECONDS), "--suppress-health-check", "all"]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            *words,
            f"http://127.0.0.1:{server.port}/openapi.json",
        ],
        env=dict(os.environ)
        | {
            "PYTHONPATH": str(Path(__file__).parent.parent),
            "SCHEMATHESIS_HOOKS": "support.fuzzed_media",
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert server.ask("GET", "/ping").status == 200
    assert "defect" not in server.log
    return answered_requests(server) - before


def answered_requests(server: ServedProcess) -> int:
    text = server.ask("GET", "/metrics").body.decode()
    counts = re.findall(r"^prumo_requests_total\{.*\} (\S+)$", text, re.MULTILINE)
    return int(sum(map(float, counts)))
