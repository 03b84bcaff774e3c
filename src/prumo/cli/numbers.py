"""Types of options that are numbers. Light to import, unlike the shared options themselves."""

from __future__ import annotations

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


class FiniteFloatRange(FiniteFloat, click.FloatRange):
    """A number in a range; click's own lets `nan` pass, which is neither below nor above it."""
