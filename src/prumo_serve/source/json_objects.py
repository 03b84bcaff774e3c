"""Every object of a JSON document, however deep a stranger has hidden it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def objects_in(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 (any JSON value)
    """All objects, without recursion: depth costs nothing.

    >>> [found["name"] for found in objects_in([{"name": "outer", "in": {"name": "inner"}}])]
    ['outer', 'inner']
    """
    left = [value]
    while left:
        current = left.pop()
        if isinstance(current, dict):
            yield current
            left.extend(current.values())
        elif isinstance(current, list):
            left.extend(current)
