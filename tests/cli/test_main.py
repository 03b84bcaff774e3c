"""The command line itself: help, version, misspelt commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click
import pytest

from prumo.cli import COMMANDS, group, main
from prumo.cli.options import CONFIDENCE
from prumo.exit_codes import ExitCode
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Prumo = Callable[..., subprocess.CompletedProcess[str]]

HEAVY = {"pydantic", "polars", "numpy", "scipy", "altair", "rich", "ruamel", "jinja2", "torch"}


def test_the_version_is_told(prumo: Prumo) -> None:
    assert __version__ in prumo("--version").stdout


def test_every_command_has_help_with_an_example() -> None:
    shown = dict(_help(group, "prumo"))
    assert {f"prumo {name}" for name in (*COMMANDS, "serve", "model", "endpoint")} <= shown.keys()
    lacking = [path for path, text in shown.items() if path not in text.partition("Example")[2]]
    assert lacking == []


def test_the_list_of_commands_fits_eighty_columns() -> None:
    context = click.Context(group, info_name="prumo", terminal_width=80, **group.context_settings)
    listed = group.get_help(context).partition("The flow:")[2].splitlines()
    wrapped = [line for line in listed if line.startswith("    ")]
    assert wrapped == []


def test_the_confidence_of_options_is_that_of_statistics() -> None:
    assert CONFIDENCE == DEFAULT_CONFIDENCE


def test_a_misspelt_command_names_the_nearest(prumo: Prumo) -> None:
    told = prumo("rnu")
    assert told.returncode == 2
    assert "'run'" in told.stderr


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_who_has_gone_ends_a_command_quietly(form: list[str]) -> None:
    words = [sys.executable, "-m", "prumo", "price", "list", *form]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (ExitCode.BROKEN_PIPE, b"")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_import_nothing_heavy(option: str) -> None:
    code = (
        "import sys, json\n"
        "from prumo.cli import main\n"
        f"sys.argv = ['prumo', {option!r}]\n"
        "try: main()\n"
        "except SystemExit: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    roots = {name.partition(".")[0] for name in json.loads(told.stderr)}
    assert not roots & HEAVY


def test_the_controller_needs_no_framework() -> None:
    code = (
        "import importlib.util as u; print([n for n in ('torch', 'tensorflow') if u.find_spec(n)])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: wide\nworkload: {kind: command, command: 'true {a}'}\n"
        f"factors: {{a: {list(range(100))}, b: {list(range(100))}}}\n"
    )
    told = subprocess.run(
        f"{sys.executable} -m prumo plan {study} --csv | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "scenario,a,b\n"
    assert told.stderr == ""


def test_a_defect_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr("prumo.cli.group.main", broken)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 70
    told = capsys.readouterr().err
    assert "IndexError" in told
    assert "Traceback" not in told


def _help(
    command: click.Command, name: str, above: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """Each command's words and its help, those of plug-ins too."""
    context = click.Context(command, above, name, **command.context_settings)
    yield context.command_path, " ".join(command.get_help(context).split())
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _help(found, below, context)
