"""Things of which each thread needs one of its own while it computes."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING, Generic, TypeVar

from prumo.model.runtimes.failure import closed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Thing = TypeVar("Thing")


class Lent(Generic[Thing]):
    """At most so many things, made when they are first needed, lent to one thread at a time."""

    def __init__(self, make: Callable[[], Thing], most: int) -> None:
        self._make = make
        self._change = Condition()
        self._unmade = most - 1
        # The first one is made at once, so that what cannot be made is known at once.
        self._free = [make()]
        self.is_open = True

    @contextmanager
    def one(self) -> Iterator[Thing]:
        """Borrow one; whoever comes when all are lent waits.

        Raises:
            NetworkError: They have been given up.
        """
        thing = self._taken()
        try:
            yield thing
        finally:
            with self._change:
                if self.is_open:
                    self._free.append(thing)
                self._change.notify()

    def close(self) -> None:
        """Let all of them go; those that are lent go when they come back."""
        with self._change:
            self.is_open = False
            self._free.clear()
            self._change.notify_all()

    def _taken(self) -> Thing:
        with self._change:
            self._change.wait_for(lambda: self._free or self._unmade or not self.is_open)
            if not self.is_open:
                raise closed()
            if self._free:
                return self._free.pop()
            self._unmade -= 1
        try:
            return self._make()
        except BaseException:
            with self._change:
                self._unmade += 1
                self._change.notify()
            raise
