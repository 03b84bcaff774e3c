"""Labels of photographs from a CSV file, whatever its columns and its dialect are called."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from prumo.errors import DataError, did_you_mean
from prumo_retina.grade import Grade


@dataclass(frozen=True)
class Columns:
    """Which column says what; an empty name is looked for by the names that are usual."""

    image: str = ""
    grade: str = ""
    patient: str = ""
    eye: str = ""
    camera: str = ""
    site: str = ""

    def __str__(self) -> str:
        known = ((role, name) for role, name in asdict(self).items() if name)
        return ", ".join(f"{role} from '{name}'" for role, name in known)


@dataclass(frozen=True)
class Label:
    """What one line says about one photograph."""

    image: str = ""
    """As it is written there: a path, a file name, or a name without extension."""
    grade: Grade | None = None
    patient: str = ""
    eye: str = ""
    camera: str = ""
    site: str = ""
    line: int = 0
    problem: str = ""
    """What is wrong with the line, such as a grade that does not exist."""


@dataclass(frozen=True)
class LabelFile:
    """All labels of a file, and the columns that they came from."""

    path: Path
    columns: Columns
    labels: tuple[Label, ...]


# As public data sets and Brazilian ones name them, the surest first; compared without case,
# accents, spaces and signs.
USUAL_NAMES = {
    "image": (
        *("image", "imagename", "imageid", "imagefile", "imagepath", "idcode", "filename", "file"),
        *("filepath", "path", "photograph", "photo", "imagem", "nomedaimagem", "idimagem"),
        *("arquivo", "nomedoarquivo", "foto", "id"),
    ),
    "grade": (
        *("grade", "drgrade", "retinopathygrade", "adjudicateddrgrade", "dricdr", "finalicdr"),
        *("icdr", "level", "drlevel", "diagnosis", "label", "class"),
        *("grau", "grauderetinopatia", "nivel", "diagnostico", "rotulo", "classe"),
    ),
    "patient": (
        *("patient", "patientid", "patientcode", "subject", "subjectid"),
        *("paciente", "idpaciente", "pacienteid", "prontuario"),
    ),
    "eye": ("eye", "laterality", "exameye", "eyeside", "olho", "lateralidade"),
    "camera": ("camera", "cameramodel", "device", "devicemodel", "camara", "equipamento"),
    "site": ("site", "hospital", "clinic", "centre", "center", "unidade", "clinica", "centro"),
}
EYES = {
    **dict.fromkeys(("l", "left", "os", "oe", "esquerdo", "esquerda", "olhoesquerdo"), "L"),
    **dict.fromkeys(("r", "right", "od", "direito", "direita", "olhodireito"), "R"),
}
# Not `none`: programs write that where a grade is missing.
GRADE_NAMES = {
    **dict.fromkeys(("nodr", "normal", "semrd", "ausente", "normais"), Grade.NONE),
    **dict.fromkeys(("mild", "mildnpdr", "leve", "rdnpleve"), Grade.MILD),
    **dict.fromkeys(("moderate", "moderatenpdr", "moderada", "rdnpmoderada"), Grade.MODERATE),
    **dict.fromkeys(("severe", "severenpdr", "grave", "rdnpgrave"), Grade.SEVERE),
    **dict.fromkeys(
        ("proliferative", "proliferatedr", "proliferativedr", "pdr", "proliferativa", "rdp"),
        Grade.PROLIFERATIVE,
    ),
    **{"".join(filter(str.isalnum, grade.title)): grade for grade in Grade},
}
_SEPARATORS = ",;\t|"
_WORKBOOK = b"PK\x03\x04"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_labels(path: Path, asked: Columns) -> LabelFile:
    """Every line of a labels file; columns that were asked for or that have a usual name."""
    header, rows = _table(path)
    columns = _found_columns(path, header, asked)
    positions = {
        role: header.index(name) for role in _ROLES if (name := getattr(columns, role)) != ""
    }
    labels = tuple(
        _label({role: _cell(cells[at]) for role, at in positions.items() if at < len(cells)}, line)
        for line, cells in rows
        if any(cell.strip() for cell in cells)
    )
    if not labels:
        raise DataError(f"{path}: has a header and no line below it")
    return LabelFile(path, columns, labels)


def has_labels(path: Path, asked: Columns) -> bool:
    """Whether a CSV file has columns of images and grades."""
    try:
        header, _ = _table(path)
        _found_columns(path, header, asked)
    except DataError:
        return False
    return True


def grade_of(text: str) -> Grade | None:
    """The grade that a number from 0 to 4 or a name stands for.

    >>> grade_of("3.0"), grade_of("Proliferate_DR"), grade_of("2.5")
    (<Grade.SEVERE: 3>, <Grade.PROLIFERATIVE: 4>, None)
    """
    try:
        number = float(text)
    except ValueError:
        return GRADE_NAMES.get(plain(text))
    if not math.isfinite(number) or number not in set(Grade):
        return None
    return Grade(int(number))


def plain(text: str) -> str:
    """Without case, accents, spaces and signs: `Código da imagem` is `codigodaimagem`."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if letter.isalnum())


_ROLES = tuple(field.name for field in fields(Columns))


def _cell(text: str) -> str:
    # A carriage return would end the row when it is written again.
    return text.replace("\r", " ").strip()


def _label(cells: dict[str, str], line: int) -> Label:
    grade, eye = grade_of(cells.get("grade", "")), EYES.get(plain(cells.get("eye", "")), "")
    read: dict[str, Any] = {**cells, "grade": grade, "eye": eye}
    return Label(**read, line=line, problem="; ".join(_problems(cells, grade, eye)))


def _problems(cells: dict[str, str], grade: Grade | None, eye: str) -> Iterable[str]:
    if not cells.get("image"):
        yield "names no image"
    if not cells.get("grade"):
        yield "has no grade"
    elif grade is None:
        yield f"grade '{cells['grade']}' is none of 0, 1, 2, 3, 4"
    if cells.get("eye") and not eye:
        yield f"eye '{cells['eye']}' is neither left nor right"


def _found_columns(path: Path, header: Sequence[str], asked: Columns) -> Columns:
    found = {role: _column(path, header, role, getattr(asked, role)) for role in _ROLES}
    for role in ("image", "grade"):
        if not found[role]:
            raise DataError(
                f"{path}: no column looks like the {role}; name one with --{role}-column. "
                f"There are: {', '.join(map(repr, filter(None, header))) or 'none'}"
            )
    return Columns(**found)


def _column(path: Path, header: Sequence[str], role: str, asked: str) -> str:
    """The column's name as it stands in the header; empty when none fits."""
    if asked:
        fitting = [name for name in header if name == asked] or _alike(header, plain(asked))
        if not fitting:
            hint = did_you_mean(asked, filter(None, header)) or "none has a name"
            raise DataError(f"{path}: has no column '{asked}'; {hint}")
    else:
        fitting = next(filter(None, (_alike(header, name) for name in USUAL_NAMES[role])), [])
    if len(fitting) > 1:
        raise DataError(f"{path}: {len(fitting)} columns are called '{fitting[0]}': rename one")
    return fitting[0] if fitting else ""


def _alike(header: Sequence[str], name: str) -> list[str]:
    return [column for column in header if plain(column) == name]


def _table(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and each row below it with its line."""
    text = _text(path)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max(_SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: is no CSV: {error}") from error
    filled = [(line, cells) for line, cells in rows if any(cells)]
    if not filled:
        raise DataError(f"{path}: is empty")
    return [name.strip() for name in filled[0][1]], filled[1:]


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    if content.startswith(_WORKBOOK):
        raise DataError(f"{path}: is a workbook of a spreadsheet program; save it there as CSV")
    if content.startswith(_UTF16_MARKS):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # What spreadsheet programs write on a Windows of Western Europe or Brazil.
        return content.decode("cp1252", errors="replace")
