"""Every text that a report or an answer can say, found in the source."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, nodes

from prumo.report.language import UNITS
from prumo.report.sentence import verdict_words
from prumo.report.warnings import CATALOGUES
from prumo.results.equality import ProofState
from prumo.results.record import Verdict
from prumo.statistics.training import OperationKind, Resource
from prumo_retina.grade import Grade, Urgency
from prumo_retina.judge.calibration import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent.parent.parent / "src"
PACKAGES = ("prumo", "prumo_serve", "prumo_endpoint", "prumo_retina")

Constants = Mapping[str, ast.expr]


@dataclass(frozen=True, order=True)
class Spoken:
    """A text, its plural where it has one, and where it stands."""

    text: str
    plural: str = ""
    place: str = ""


@dataclass(frozen=True)
class Unknown:
    """A message whose text only a run of the program would tell."""

    place: str


def spoken_texts() -> list[Spoken]:
    """All texts, each once."""
    found = [item for item in _in_source() if isinstance(item, Spoken)]
    found += [*_in_templates(), *_in_enumerations()]
    by_text: dict[str, Spoken] = {}
    for item in found:
        if item.text and (item.text not in by_text or item.plural):
            by_text[item.text] = item
    return list(by_text.values())


def unknown_texts() -> list[str]:
    """The places of messages that no translation can be found for by reading the source."""
    return [item.place for item in _in_source() if isinstance(item, Unknown)]


def _files(pattern: str) -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((SOURCE / package).rglob(pattern))


def _in_source() -> Iterator[Spoken | Unknown]:
    for file in _files("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        constants = dict(_constants(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield from _call(node, constants, f"{file.relative_to(SOURCE)}:{node.lineno}")


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names of a module that stand for dictionaries, which texts are chosen from."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((name.id, node.value) for name in targets if isinstance(name, ast.Name))


def _call(call: ast.Call, constants: Constants, place: str) -> Iterator[Spoken | Unknown]:
    name = _name(call.func)
    if name in {"Message", "UnreadableError"}:
        yield from _message(call, constants, place)
    elif name in {"language.say", "language.each"}:
        for said in call.args:
            yield from (Spoken(text, place=place) for text in _texts(said, constants))
    elif name == "counted":
        for noun in _texts(call.args[1], constants):
            yield Spoken(f"{{count}} {noun}", f"{{count}} {noun}s", place)


def _message(call: ast.Call, constants: Constants, place: str) -> Iterator[Spoken | Unknown]:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    given = dict(zip(("text", "values", "plural"), call.args, strict=False)) | named
    texts = _texts(given["text"], constants)
    plurals = _texts(given["plural"], constants) if "plural" in given else [""] * len(texts)
    if not texts or len(texts) != len(plurals):
        yield Unknown(place)
    for text, plural in zip(texts, plurals, strict=False):
        yield Spoken(text, plural, place)


def _texts(node: ast.expr, constants: Constants) -> list[str]:
    """What an expression may be: a text, one of two, or one out of a dictionary."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, constants), *_texts(node.orelse, constants)]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        chosen_from = constants.get(node.value.id)
        if isinstance(chosen_from, ast.Dict):
            return [text for value in chosen_from.values for text in _texts(value, constants)]
    return []


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return f"{_name(function.value).removeprefix('self.').lstrip('_')}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def _in_templates() -> Iterator[Spoken]:
    for file in _files("*.html"):
        for call in (
            Environment(autoescape=True).parse(file.read_text("utf-8")).find_all(nodes.Call)
        ):
            if isinstance(call.node, nodes.Name) and call.node.name == "say":
                # A text that is chosen from two stands there as a whole too.
                texts = [call.args[0], *call.args[0].find_all(nodes.Const)]
                for text in (text for text in texts if isinstance(text, nodes.Const)):
                    yield Spoken(text.value, place=f"{file.relative_to(SOURCE)}:{call.lineno}")


def _in_enumerations() -> Iterator[Spoken]:
    for catalogue in CATALOGUES:
        yield from (
            Spoken(text, plural, "prumo/report/warnings.py") for text, plural in catalogue.texts()
        )
    for texts in (
        [kind.value for kind in (*OperationKind, *Resource)],
        [state.value for state in ProofState],
        [str(verdict_words(verdict.value)) for verdict in Verdict],
        [grade.title for grade in Grade],
        [urgency.label for urgency in Urgency],
        [rule.value for rule in Rule],
        UNITS,
    ):
        yield from (Spoken(text, place="an enumeration") for text in texts)
