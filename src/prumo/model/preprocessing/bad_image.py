"""Images that cannot be used, with reasons that can be told in any language."""

from __future__ import annotations

from typing import ClassVar

from prumo.errors import DataError
from prumo.message import Message


class BadImageError(DataError):
    """An image that cannot be read; whoever gave it knows which one it is."""

    kind: ClassVar[str] = "unreadable_image"

    def __init__(self, reason: Message) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def sentence(self) -> Message:
        """The reason as a whole sentence."""
        return Message("the image {reason}", {"reason": self.reason})

    def __str__(self) -> str:
        return str(self.sentence)


class TooManyPixelsError(BadImageError):
    """An image that would fill the memory, refused before it is decoded."""

    kind = "too_large"
