"""A script of the tests, run in the real environment of a framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent


def run_script(
    python: Path, script: str, *arguments: Any, variables: dict[str, str] | None = None
) -> Any:
    """What a script tells when it is given these arguments, all of them as JSON."""
    done = subprocess.run(
        [python, script, *map(json.dumps, arguments)],
        env={
            **os.environ,
            "PYTHONPATH": f"{TESTS.parent / 'src'}:{TESTS}",
            **(variables or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def arguments() -> list[Any]:
    """What the script was given."""
    return [json.loads(argument) for argument in sys.argv[1:]]


def tell(answer: Any) -> None:
    """Answer in a line of its own, as frameworks print too."""
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
