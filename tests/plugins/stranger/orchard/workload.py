"""A workload: sorting rows of random numbers."""

from typing import Annotated, Literal

from pydantic import Field

from prumo.study import Workload
from prumo.study.section import Section, WholeNumber


class SortingParameters(Section):
    """What a study varies or fixes."""

    rows: Annotated[WholeNumber, Field(ge=1)] = 1000
    """How many rows are sorted."""
    columns: Annotated[WholeNumber, Field(ge=1)] = 1
    """How many numbers a row has."""


class Sorting(Workload):
    """Sort rows of random numbers."""

    kind: Literal["sorting"]
    """Says that this workload sorts."""

    parameters = SortingParameters
    reported_metrics = ("sort_seconds",)
    launcher = "orchard.launcher:SortingLauncher"
