"""The option of commands whose answers have intervals."""

from __future__ import annotations

import click

from prumo.analyse.interval import DEFAULT_CONFIDENCE

confidence_option = click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=DEFAULT_CONFIDENCE,
    show_default=True,
    help="Confidence of intervals and verdicts.",
)
