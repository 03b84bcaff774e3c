"""Read a study from its file."""

from __future__ import annotations

from pathlib import Path

from prumo.errors import StudyError, did_you_mean
from prumo.study.document import read_document
from prumo.study.model import Origin, Study
from prumo.study.problem import shown

_LARGEST_BYTES = 4_000_000


def load(path: str | Path) -> Study:
    """Read and check a study file; StudyError names the file, the lines and the keys."""
    file = Path(path)
    text = _text(file)
    document = read_document(text, file)
    if not isinstance(document.data, dict):
        raise StudyError(f"should be a mapping of keys, not {shown(document.data)}", file=file)
    return Study.from_dict(document.data, Origin(file, text, document.lines))


def _text(file: Path) -> str:
    try:
        if file.is_dir():
            raise StudyError("is a folder, not a study file", file=file)
        with file.open("rb") as stream:
            content = stream.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise StudyError(f"no such file{_near(file)}", file=file) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StudyError(f"cannot be read: {reason}", file=file) from None
    if len(content) > _LARGEST_BYTES:
        raise StudyError("is too large for a study", file=file)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError("is not a text file in UTF-8", file=file) from None


def _near(file: Path) -> str:
    """Name a study beside the missing one, if there is one with nearly its name."""
    try:
        beside = [other.name for other in file.parent.glob("*.y*ml")]
    except OSError:
        return ""
    hint = did_you_mean(file.name, beside)
    return f"; {hint}" if "did you mean" in hint else ""
