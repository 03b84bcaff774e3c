"""Types of options that are numbers. Light to import, unlike the shared options themselves."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

import click
from click.types import FloatParamType


class FiniteFloat(FloatParamType):
    """A number; click's own float also takes `nan` and `inf`."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 (as in click)
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number, if it is one."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            raise click.BadParameter(f"{number} is not a finite number.", ctx, param)
        return number


class WholeRange(click.IntRange):
    """A whole number, also as 2e6; 2.000 is two to some readers and two thousand to others."""

    name = "whole number"

    def convert(
        self,
        value: Any,  # noqa: ANN401 (as in click)
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """The number, if it can be read in one way only."""
        if isinstance(value, str) and re.fullmatch(r"\d+e\+?\d", value):
            value = int(float(value))
        if isinstance(value, str) and not value.isdecimal():
            message = f"'{value}' is not a whole number; write two thousand as 2000"
            raise click.BadParameter(message, ctx, param)
        return int(super().convert(value, param, ctx))


class FiniteFloatRange(FiniteFloat, click.FloatRange):
    """A number in a range; click's own lets `nan` pass, which is neither below nor above it."""
