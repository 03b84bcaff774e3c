"""How photographs are made alike. It travels with a model, so that no other is used with it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Method = Literal["voets", "rim"]
Enhancement = Literal["none", "graham", "clahe"]
JUDGED_SIZE = 299
"""Quality is judged at this diameter, whatever size is asked for, so that verdicts stay."""


class Preparation(BaseModel):
    """What decides the pixels of a prepared photograph."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    """Goes up when the same settings would give other pixels."""
    size: Annotated[int, Field(ge=16, le=4096)] = 299
    """Side of the square in pixels, which is the fundus's diameter."""
    method: Method = "rim"
    """How the fundus is found."""
    enhance: Enhancement = "none"

    @property
    def wanted_pixels(self) -> int:
        """Shorter side that a scaled decode must leave: even half of it holds the whole fundus."""
        return 2 * max(self.size, JUDGED_SIZE)
