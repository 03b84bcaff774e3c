"""`prumo endpoint check` as a user calls it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.endpoint_server import served

if TYPE_CHECKING:
    from conftest import Prumo

SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
SERVE = (sys.executable, "-SE", SERVER, "--fault")


def test_a_good_server_is_reported_in_a_table(prumo_here: Prumo) -> None:
    with served() as url:
        done = prumo_here("endpoint", "check", "--payload-mb", 2, url)

    assert done.returncode == 0, done.stdout
    assert "takes a body of 2 MB" in done.stdout
    assert "No rule was found broken: 8 pass, 0 fail, 6 not checked." in done.stdout


def test_a_broken_rule_is_reported_as_json_and_by_the_exit_code(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    (tmp_path / "row.json").write_text('{"instances": [[1, 2]]}')
    command = " ".join(map(str, (*SERVE, "'no echo'")))

    done = prumo_here(
        "endpoint", "check", "--kind=serverless", "--body=row.json", "--command", command, "--json"
    )

    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert not report["kept"]
    assert report["counts"] == {"pass": 11, "fail": 1, "not checked": 2}
    rules = {rule["name"]: rule for rule in report["rules"]}
    assert rules["custom attributes"]["verdict"] == "fail"
    assert "missing" in rules["custom attributes"]["reason"]
    assert rules["invocations"]["reason"] == "answers 200 to application/json"
    assert rules["start-up"]["demand"] == "is ready within 3 minutes"
    assert rules["start-up"]["source"].endswith("/serverless-endpoints-invoke.html")
    assert rules["payload"]["measured"] == {"value": 4 * 2**20, "unit": "B"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one thing to check"),
        (
            ("http://localhost:1", "--content-type", "text/csv"),
            "--content-type is the type of a --body",
        ),
        (("http://localhost:1", "--body", "nowhere.jpg"), "cannot read nowhere.jpg"),
        (("http://localhost:1", "--payload-mb", "nan"), "'nan' is not a valid integer"),
        (("http://localhost:1",), "no server can be reached at http://localhost:1"),
        (("--command", "no-such-program"), "command not found: no-such-program"),
    ],
)
def test_bad_input_ends_with_two_and_a_sentence(
    prumo_here: Prumo, arguments: tuple[str, ...], message: str
) -> None:
    done = prumo_here("endpoint", "check", *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
