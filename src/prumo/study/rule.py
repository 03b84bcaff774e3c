"""Rules over the parameters of a scenario, in a small language that is never executed.

A rule is a condition such as `framework == mxnet and image_size > 32`, or a mapping of parameter
to level or levels. Comparisons, `and`, `or`, `not`, `in` and lists are all there is.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo.study.section import shown

if TYPE_CHECKING:
    from prumo.study.model import Study
    from prumo.study.section import Level

Levels = Mapping[str, Sequence["Level"]]
"""Every parameter that a rule may name, with the levels it can have."""

RuleSource = str | Mapping[str, object]
Values = Mapping[str, "Level"]
Condition = Callable[[Values], bool]

_LONGEST = 2_000
_DEEPEST = 40

_ORDERINGS: dict[type[ast.cmpop], tuple[str, Callable[[float, float], bool]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}


class RuleError(InputError):
    """A rule cannot be understood."""


@dataclass(frozen=True)
class Rule:
    """A condition that a scenario meets or not."""

    names: frozenset[str]
    """The parameters that the rule looks at."""
    holds: Condition
    """Whether the rule is true of these parameters."""

    @classmethod
    def parse(cls, source: RuleSource, study: Study) -> Rule:
        """Read a rule over the parameters of a study; RuleError says what is wrong."""
        return cls.over(source, study.levels())

    @classmethod
    def over(cls, source: RuleSource, levels: Levels) -> Rule:
        """Read a rule over named parameters and their levels."""
        reader = _Reader(levels)
        if isinstance(source, str):
            condition = reader.condition(_tree(source), 0)
        else:
            condition = reader.mapping(source)
        return cls(frozenset(reader.names), condition)


@dataclass(frozen=True)
class _Operand:
    """One side of a comparison: how to get its value, and the values it can have."""

    text: str
    value: Callable[[Values], Level]
    possible: tuple[Level, ...]
    is_parameter: bool = False

    @property
    def kinds(self) -> set[str]:
        return {_kind(level) for level in self.possible}


class _Reader:
    """Turns a syntax tree into a condition, checking names and types on the way."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        self._words = {
            level for known in levels.values() for level in known if isinstance(level, str)
        }
        self.names: set[str] = set()

    def condition(self, node: ast.expr, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise RuleError("the rule is nested too deeply")
        if isinstance(node, ast.BoolOp):
            parts = [self.condition(value, depth + 1) for value in node.values]
            join = all if isinstance(node.op, ast.And) else any
            return lambda values: join(part(values) for part in parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand, depth + 1)
            return lambda values: not inner(values)
        if isinstance(node, ast.Compare):
            return self._comparisons(node)
        operand = self._operand(node)
        if operand.kinds != {"true or false"}:
            raise RuleError(f"`{operand.text}` is not a condition; compare it with something")
        return lambda values: bool(operand.value(values))

    def mapping(self, source: Mapping[str, object]) -> Condition:
        wanted = [(name, self._wanted_levels(name, choice)) for name, choice in source.items()]
        if not wanted:
            raise RuleError("the rule is empty")
        return lambda values: all(
            any(_same(values[name], level) for level in levels) for name, levels in wanted
        )

    def _wanted_levels(self, name: str, choice: object) -> tuple[Level, ...]:
        if name not in self._levels:
            raise RuleError(f"no such parameter '{name}'; {did_you_mean(name, self._levels)}")
        self.names.add(name)
        known = self._levels[name]
        wanted = tuple(choice) if isinstance(choice, list | tuple) else (choice,)
        for level in wanted:
            if not any(_same(level, other) for other in known):
                hint = did_you_mean(str(level), map(str, known))
                raise RuleError(f"{shown(level)} is not a level of {name}; {hint}")
        return wanted

    def _comparisons(self, node: ast.Compare) -> Condition:
        """Read a chain: `1 < x <= 3` holds when each of its comparisons does."""
        parts = []
        left = self._operand(node.left)
        for sign, right_node in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, ast.In | ast.NotIn):
                if len(node.ops) > 1:
                    raise RuleError("`in` cannot stand in a chain of comparisons")
                return self._membership(left, right_node, negated=isinstance(sign, ast.NotIn))
            right = self._operand(right_node)
            parts.append(_comparison(left, sign, right))
            left = right
        return lambda values: all(part(values) for part in parts)

    def _membership(self, left: _Operand, node: ast.expr, *, negated: bool) -> Condition:
        if not isinstance(node, ast.List | ast.Tuple | ast.Set) or not node.elts:
            raise RuleError("after `in` comes a list such as [32, 64]")
        choices = [_equality(left, self._operand(element)) for element in node.elts]
        return lambda values: any(choice(values) for choice in choices) != negated

    def _operand(self, node: ast.expr) -> _Operand:
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
            return _constant(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = node.operand
            if isinstance(inner, ast.Constant) and isinstance(inner.value, int | float):
                return _constant(-inner.value)
        raise RuleError(
            f"`{_source(node)}` is not understood here; names, numbers, comparisons, and, or, not "
            "and in are, and a level that is not a plain word stands in quotes"
        )

    def _named(self, name: str) -> _Operand:
        if name in self._levels:
            self.names.add(name)
            return _Operand(
                name, operator.itemgetter(name), tuple(self._levels[name]), is_parameter=True
            )
        if name in self._words:
            return _constant(name)
        if name in {"true", "false"}:
            return _constant(name == "true")
        hint = did_you_mean(name, [*self._levels, *self._words])
        raise RuleError(f"'{name}' is neither a parameter nor a level; {hint}")


def _tree(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise RuleError(f"the rule is longer than {_LONGEST} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.replace("\n", " ").strip(), mode="eval").body
    except SyntaxError as error:
        raise RuleError(f"`{text:.80}` is not a condition: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise RuleError(f"`{text:.80}` is not a condition") from None


def _comparison(left: _Operand, sign: ast.cmpop, right: _Operand) -> Condition:
    if isinstance(sign, ast.Eq):
        return _equality(left, right)
    if isinstance(sign, ast.NotEq):
        equal = _equality(left, right)
        return lambda values: not equal(values)
    if type(sign) not in _ORDERINGS:
        raise RuleError("write == or != instead of `is`")
    symbol, ordered = _ORDERINGS[type(sign)]
    for operand in (left, right):
        if operand.kinds != {"a number"}:
            raise RuleError(f"`{operand.text}` cannot stand beside {symbol}: it is not a number")
    return lambda values: ordered(left.value(values), right.value(values))  # type: ignore[arg-type]


def _equality(left: _Operand, right: _Operand) -> Condition:
    if not left.kinds & right.kinds:
        raise RuleError(
            f"`{left.text}` is {' or '.join(sorted(left.kinds))} and `{right.text}` is "
            f"{' or '.join(sorted(right.kinds))}: they are never equal"
        )
    for one, other in ((left, right), (right, left)):
        constant = other.possible[0]
        if not one.is_parameter or other.is_parameter or not isinstance(constant, str):
            continue
        if constant not in one.possible:
            hint = did_you_mean(constant, map(str, one.possible))
            raise RuleError(f"'{constant}' is not a level of {one.text}; {hint}")
    return lambda values: _same(left.value(values), right.value(values))


def _constant(value: Level) -> _Operand:
    return _Operand(shown(value), lambda _: value, (value,))


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "text" if isinstance(value, str) else "a number"


def _same(one: object, other: object) -> bool:
    # In Python True == 1, but a study's `true` is not its `1`.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _source(node: ast.expr) -> str:
    try:
        return f"{ast.unparse(node):.60}"
    except RecursionError:
        return "…"
