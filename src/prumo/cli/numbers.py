"""Types of options that are numbers. Light to import, unlike the shared options themselves."""

from __future__ import annotations

from math import isfinite

import click
from click.types import FloatParamType


class FiniteFloat(FloatParamType):
    """A number; click's own float also takes `nan` and `inf`."""

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, if it is one."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


class FiniteFloatRange(click.FloatRange):
    """A number in a range; click's own lets `nan` pass, which is neither below nor above it."""

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, if it is one of the range."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


def _finite(
    kind: click.ParamType, number: float, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    if not isfinite(number):
        kind.fail(f"{number} is not a finite number.", param, ctx)
    return number
