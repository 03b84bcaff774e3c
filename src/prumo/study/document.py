"""Study files and others in YAML: read with the line of every key, or written as a starter."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from prumo.errors import StudyError, did_you_mean
from prumo.study.section import KeyPath, Problem, Section, problems_of, shown, study_error

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ruamel.yaml.nodes import Node


# Far above any study, far below what a bomb of aliases or brackets needs.
_DEEPEST = 12
_MOST_NODES = 200_000

_TAG = "tag:yaml.org,2002:"
_TYPED_SCALARS = {f"{_TAG}{name}" for name in ("null", "bool", "int", "float", "str")}
_TEXT_SCALARS = {f"{_TAG}{name}" for name in ("timestamp", "merge", "value")}
_NUMBERS = {f"{_TAG}int", f"{_TAG}float"}


@dataclass(frozen=True)
class Document:
    """The data of a YAML text and, for every place in it, its line."""

    data: Any
    lines: dict[KeyPath, int]


def read_document(text: str, file: Path | None, *, numbers_as_written: bool = False) -> Document:
    """Read a YAML text; what is not plain data is an error with its line.

    Numbers can be kept as the text that was written: 2.70 says more than 2.7 does.
    """
    yaml = YAML(typ="safe", pure=True)
    root = _composed(yaml, text, file)
    if root is None:
        raise StudyError("the file is empty", file=file)
    reader = _Reader(yaml, file, _TEXT_SCALARS | (_NUMBERS if numbers_as_written else set()))
    data = reader.value(root, ())
    if reader.problems:
        raise study_error(reader.problems, reader.lines, file)
    return Document(data, reader.lines)


def read_mapping(text: str, file: Path, *, numbers_as_written: bool = False) -> Document:
    """Read a YAML text that should be a mapping of keys."""
    document = read_document(text, file, numbers_as_written=numbers_as_written)
    if not isinstance(document.data, dict):
        raise StudyError(f"should be a mapping of keys, not {shown(document.data)}", file=file)
    return document


def _composed(yaml: YAML, text: str, file: Path | None) -> Node | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root: Node | None = yaml.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise StudyError(f"is not YAML: {error.problem}", file=file, line=line) from None
    except RecursionError:
        raise StudyError("is nested too deeply", file=file) from None
    except (YAMLError, ValueError, LookupError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it cannot be read"
        raise StudyError(f"is not YAML: {reason}", file=file) from None
    return root


@dataclass
class _Reader:
    """Turns nodes into data, keeping lines and problems on the way."""

    yaml: YAML
    file: Path | None
    texts: set[str]
    """Tags of scalars whose text is their value."""
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def value(self, node: Node, path: KeyPath) -> object:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if len(self.lines) > _MOST_NODES:
            raise StudyError("is too large for a study", file=self.file)
        if len(path) > _DEEPEST:
            raise StudyError("is nested too deeply", file=self.file)
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        if isinstance(node, SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path)
        self._note(path, f"the tag '{node.tag}' is not understood")
        return None

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, object]:
        data: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._note(path, "a key should be one word")
                continue
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in data:
                first = self.lines[*path, key]
                self.lines[*path, key] = line
                self._note((*path, key), f"is given twice, first in line {first}")
                continue
            self.lines[*path, key] = line
            data[key] = self.value(value_node, (*path, key))
        return data

    def _scalar(self, node: ScalarNode, path: KeyPath) -> object:
        if node.tag in self.texts:
            return node.value
        if node.tag not in _TYPED_SCALARS:
            self._note(path, f"the tag '{node.tag}' is not understood")
            return None
        try:
            return self.yaml.constructor.construct_object(node)
        except (YAMLError, ValueError, LookupError):
            self._note(path, f"'{node.value:.50}' cannot be read")
            return None

    def _note(self, path: KeyPath, message: str) -> None:
        self.problems.append(Problem(path, message))


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
    text = read_text(file, purpose)
    document = read_mapping(text, file, numbers_as_written=numbers_as_written)
    try:
        section = kind.model_validate(document.data)
    except ValidationError as error:
        raise study_error(problems_of(error), document.lines, file) from None
    return SectionFile(file, section, document.lines)
