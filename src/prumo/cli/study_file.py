"""The study that a command is about: its file, at one of its scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prumo.study import load

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.study import Study

scale_option = click.option(
    "--scale", metavar="NAME", help="One of the study's `scales`, such as small."
)


def load_study(file: Path, scale: str | None) -> Study:
    """Read a study, and scale it where a scale is named."""
    study = load(file)
    return study.scaled(scale) if scale else study
