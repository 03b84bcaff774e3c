"""The progress of set-ups, preparations and checks, as events of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.execute.event import Activity, Remark

if TYPE_CHECKING:
    from prumo.execute.event import Listener


class ListenerProgress:
    """Passes progress on to whoever listens to the study."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def say(self, text: str) -> None:
        """Tell it as a remark."""
        self._listener(Remark(text))

    def show(self, text: str, detail: str = "") -> None:
        """Tell it as an activity."""
        self._listener(Activity(text, detail))
