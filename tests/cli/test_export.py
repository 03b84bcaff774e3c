from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from click.testing import CliRunner

from prumo.cli.export import command
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT_MLFLOW = (
    "import sys; sys.modules['mlflow'] = None; "
    "from prumo.cli import main; sys.argv[0] = 'prumo'; main()"
)


def test_the_command_says_how_many_runs_it_handed_over(tmp_path: Path) -> None:
    folder = ResultFactory(tmp_path / "demo").study_of(1).path
    arguments = ["mlflow", str(folder), "--tracking-uri", str(tmp_path / "store")]

    first = CliRunner().invoke(command, arguments)
    again = CliRunner().invoke(command, [*arguments, "--json"])

    assert "4 runs added, 0 replaced, 0 there already: experiment 'demo'" in first.stdout
    report = json.loads(again.stdout)
    assert (report["added"], len(report["kept"])) == ([], 4)
    assert report["experiment"] == "demo"


def test_without_mlflow_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    folder = ResultFactory(tmp_path / "demo").study_of(1).path

    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_MLFLOW, "export", "mlflow", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert "pip install 'prumo[mlflow]'" in ended.stderr
    assert "Traceback" not in ended.stderr
