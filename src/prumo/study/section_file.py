"""A file that holds one section: read, checked, and its lines kept for later errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import ValidationError

from prumo.errors import StudyError
from prumo.study.document import read_document
from prumo.study.problem import KeyPath, Problem, problems_of, shown, study_error
from prumo.study.section import Section
from prumo.study.text import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SectionT = TypeVar("SectionT", bound=Section)


@dataclass(frozen=True)
class SectionFile(Generic[SectionT]):
    """What a file says, and in which line it says it."""

    file: Path
    section: SectionT
    lines: Mapping[KeyPath, int]

    def error(self, path: KeyPath, message: str) -> StudyError:
        """An error at a place of this file."""
        return study_error([Problem(path, message)], self.lines, self.file)


def read_section(
    file: Path, kind: type[SectionT], purpose: str, *, numbers_as_written: bool = False
) -> SectionFile[SectionT]:
    """Read a YAML file as a section; StudyError names the file, the lines and the keys.

    `purpose` says what the file is for, as in "the claims".
    """
    document = read_document(read_text(file, purpose), file, numbers_as_written=numbers_as_written)
    if not isinstance(document.data, dict):
        raise StudyError(f"should be a mapping of keys, not {shown(document.data)}", file=file)
    try:
        section = kind.model_validate(document.data)
    except ValidationError as error:
        raise study_error(problems_of(error), document.lines, file) from None
    return SectionFile(file, section, document.lines)
