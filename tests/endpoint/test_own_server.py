"""Prumo's own server keeps the rules that Prumo checks, in every stack."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from prumo.progress import Silent
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.check import examine
from prumo_endpoint.exchange import HEALTHY, PING, exchange
from prumo_endpoint.image.rehearsal import answers, differences, rehearsal
from prumo_endpoint.rule import KINDS, Verdict
from prumo_endpoint.targets.process import ProcessTarget
from prumo_serve.server.settings import STACKS
from support.model_packages import write_colour_package

if TYPE_CHECKING:
    from pathlib import Path

# The times are wide, so that a busy machine accuses nobody.
LIMITS = replace(KINDS["real-time"], accept_seconds=0.9, ping_seconds=20.0)
PROGRAM_FOLDERS = f"{os.environ['PATH']}:/usr/sbin"


@pytest.mark.parametrize("stack", STACKS)
def test_prumos_server_keeps_every_rule_that_concerns_a_command(stack: str, tmp_path: Path) -> None:
    if stack == "nginx" and shutil.which("nginx", path=PROGRAM_FOLDERS) is None:
        pytest.skip("NGINX is not installed")
    write_colour_package(tmp_path / "package")
    serve = [sys.executable, "-m", "prumo", "serve", str(tmp_path / "package"), "--workers", "1"]

    found = examine(ProcessTarget([*serve, "--stack", stack]), drawn_body(), LIMITS, Silent())

    not_kept = {
        each.rule.name: each.outcome.reason
        for each in found.findings
        if each.outcome.verdict is not Verdict.KEPT
    }
    assert not_kept.keys() == {"serve", "entry point"}, not_kept


@pytest.mark.slow
def test_prumos_server_answers_the_same_from_one_start_to_the_next(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "package")
    serve = [sys.executable, "-m", "prumo", "serve", str(tmp_path / "package"), "--workers", "1"]
    found = []
    for _ in range(2):
        with ProcessTarget(serve).running() as server:
            until = time.monotonic() + 60
            while exchange(server.address, PING, 2.0).status != HEALTHY:
                assert time.monotonic() < until
                time.sleep(0.05)
            found.append(answers(server.address, rehearsal([])))

    assert differences(*found) == []
    assert found[0]["JPEG"].status == HEALTHY
    assert "predictions" in found[0]["JSON of several"].content
