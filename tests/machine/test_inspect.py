from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from click.testing import CliRunner

from prumo.cli.inspect import ALL_CLEAR, command
from prumo.machine.machine import machine_facts
from prumo.report.machine import describe

if TYPE_CHECKING:
    from pathlib import Path


def test_json_holds_every_fact_and_the_advice(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--json", "--quick", "--path", str(tmp_path)])
    assert result.exit_code == 0
    told = json.loads(result.output)
    assert {"host", "cpu", "memory", "gpus", "disk", "noise", "advice"} == set(told)
    assert told["disk"]["path"] == str(tmp_path)
    assert told["noise"]["steadiness"] is None


def test_without_quick_the_steadiness_is_measured() -> None:
    told = json.loads(CliRunner().invoke(command, ["--json"]).output)
    assert told["noise"]["steadiness"]["repeats"] >= 10


def test_plain_text_when_piped_ends_with_advice_or_the_all_clear() -> None:
    result = CliRunner().invoke(command, ["--quick"])
    assert result.exit_code == 0
    assert "\nProcessor\n  model: " in result.output
    last = result.output.splitlines()[-1]
    assert last == ALL_CLEAR or last.startswith("! ")
    assert "\x1b[" not in result.output


def test_tables_on_a_terminal() -> None:
    terminal, worker_side = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-m", "prumo", "inspect", "--quick"],
        stdout=worker_side,
        env=environment,
    ) as process:
        os.close(worker_side)
        output = _read_all(terminal)
    assert process.returncode == 0
    assert "Processor" in output
    assert "│" in output


def test_a_description_names_every_section_of_the_machine() -> None:
    titles = [*describe(machine_facts())]
    assert titles == ["Machine", "Processor", "Memory", "GPU", "Disk", "Noise"]


def test_facts_survive_a_round_through_json() -> None:
    facts = asdict(machine_facts())
    assert json.loads(json.dumps(facts))["cpu"]["usable_cores"] == facts["cpu"]["usable_cores"]


def _read_all(terminal: int) -> str:
    chunks = []
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            # Linux reports the end of a terminal as an input error.
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(terminal)
    return b"".join(chunks).decode()
