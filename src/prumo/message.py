"""A sentence for a reader, kept apart from its values so that it can be translated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Message:
    """An English text with `{names}` and the values that stand for them.

    >>> str(Message("{count} of {total} runs finished.", {"count": 3, "total": 4}))
    '3 of 4 runs finished.'
    """

    text: str
    values: Mapping[str, object] = field(default_factory=dict)
    plural: str = ""
    """The text where the value `count` is not one; empty where the text fits every count."""

    @property
    def count(self) -> int:
        """The number that decides between text and plural."""
        count = self.values["count"]
        if not isinstance(count, int):
            raise TypeError(f"a message with a plural counts with {count!r}")
        return count

    def __str__(self) -> str:
        is_plural = self.plural and self.count != 1
        return (self.plural if is_plural else self.text).format_map(self.values)


@dataclass(frozen=True)
class Series:
    """Words or messages one after the other, each translated by itself.

    >>> str(Series(("C1", Message("{count} more", {"count": 2}))))
    'C1, 2 more'
    """

    parts: tuple[object, ...]
    separator: str = ", "

    def __iter__(self) -> Iterator[object]:
        return iter(self.parts)

    def __str__(self) -> str:
        return self.separator.join(map(str, self.parts))


NAMES_SHOWN = 8


def counted(number: int, noun: str) -> Message:
    """A number of things.

    >>> str(counted(1, "run")), str(counted(2, "run"))
    ('1 run', '2 runs')
    """
    return Message(f"{{count}} {noun}", {"count": number}, f"{{count}} {noun}s")


def listed(names: Sequence[object]) -> Message | Series:
    """The first names of a list, and how many there are more."""
    shown = Series(tuple(names[:NAMES_SHOWN]))
    left = len(names) - NAMES_SHOWN
    return (
        Message("{names} and {count} more", {"names": shown, "count": left}) if left > 0 else shown
    )
