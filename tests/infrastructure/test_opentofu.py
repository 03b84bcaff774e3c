"""Prumo works with OpenTofu where Terraform is not installed.

OpenTofu itself is not run: a stand-in named `tofu` hands everything on to Terraform.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from prumo.money.terraform_plan import read_plan
from prumo_endpoint.deploy.terraform import Terraform
from support.terraform import terraform_program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, with a stand-in for OpenTofu."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "tofu"
    program.write_text(
        f'#!/bin/sh\necho "$1" >> "{tmp_path}/asked"\nexec {terraform_program()} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_binary_plan_is_read_by_opentofu(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "nothing" {}\n')
    for words in (["init"], ["plan", "-out=plan"]):
        done = subprocess.run(
            [programs / "tofu", *words], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr

    plan = read_plan(tmp_path / "plan")

    assert plan.format_version.startswith("1.")
    assert (tmp_path / "asked").read_text().split() == ["init", "plan", "show"]


def test_opentofu_is_taken_where_terraform_is_missing_or_it_made_the_state(
    programs: Path, tmp_path: Path
) -> None:
    assert Terraform(tmp_path).name == "OpenTofu"
    (programs / "terraform").symlink_to(programs / "tofu")
    assert Terraform(tmp_path).name == "Terraform"
    (tmp_path / ".terraform/providers/registry.opentofu.org").mkdir(parents=True)
    assert Terraform(tmp_path).name == "OpenTofu"
    assert Terraform(tmp_path).program == str(programs / "tofu")
