"""The text of a file that a user wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.errors import StudyError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST_BYTES = 4_000_000


def read_text(file: Path, purpose: str) -> str:
    """The file's text; StudyError says why there is none, with `purpose` as in "a study"."""
    try:
        if file.is_dir():
            raise StudyError(f"is a folder, not the file of {purpose}", file=file)
        with file.open("rb") as stream:
            content = stream.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise StudyError(f"no such file{_near(file)}", file=file) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StudyError(f"cannot be read: {reason}", file=file) from None
    if len(content) > _LARGEST_BYTES:
        raise StudyError(f"is too large for {purpose}", file=file)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError("is not a text file in UTF-8", file=file) from None


def _near(file: Path) -> str:
    """Name a file beside the missing one, if there is one with nearly its name."""
    try:
        beside = [other.name for end in ("y*ml", "py") for other in file.parent.glob(f"*.{end}")]
    except (OSError, ValueError):
        return ""
    hint = did_you_mean(file.name, beside)
    return f"; {hint}" if "did you mean" in hint else ""
