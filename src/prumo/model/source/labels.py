"""Labels as a user gives them."""

from __future__ import annotations

from pathlib import Path

from prumo.errors import InputError


def given_labels(text: str) -> tuple[str, ...]:
    """Names with commas between, or those in the lines of a file.

    >>> given_labels("cat, dog")
    ('cat', 'dog')
    """
    path = Path(text)
    try:
        is_file = bool(text) and path.is_file()
        parts = path.read_text("utf-8").splitlines() if is_file else text.split(",")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{text[:80]}: labels cannot be read: {error}") from error
    labels = tuple(part.strip() for part in parts if part.strip())
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"two classes have the same label: {', '.join(twice)}")
    return labels
