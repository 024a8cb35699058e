"""What remains of the cases of a `match` statement once something is known of a value that it tests."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from backends.acrobat.core.types import INT, DataT, ListT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.mixed import NUMBERS, SEQUENCES
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.objects.classes import python_class
from backends.acrobat.frontend.evaluator.objects.fields import field
from backends.acrobat.frontend.instances.added_unions import TYPES
from backends.acrobat.frontend.kinds import is_plain, known, type_of
from backends.acrobat.frontend.values import Dyn, Static, Value, held_in
from backends.acrobat.ir import nodes as n

PatternTest: TypeAlias = tuple[Value, ast.pattern]
"""A value that has to match a pattern."""


@dataclass(frozen=True, slots=True)
class PatternRow:
    """A case that may still match: the tests that remain, as (value, pattern), and the names bound so far."""

    tests: tuple[PatternTest, ...]
    names: tuple[tuple[str, Value], ...]
    case: ast.match_case


def alternatives(row: PatternRow) -> list[PatternRow]:
    """The row with one alternative each of its `A | B` patterns. The body of the case is compiled for each of them."""
    row = _settle(row)
    for i, (value, pattern) in enumerate(row.tests):
        if isinstance(pattern, ast.MatchOr):
            chosen = [(*row.tests[:i], (value, p), *row.tests[i + 1 :]) for p in pattern.patterns]
            return [r for tests in chosen for r in alternatives(PatternRow(tests, row.names, row.case))]
    return [row]


def _settle(row: PatternRow) -> PatternRow:
    """The row with its captures and wildcards, which always match, turned into bound names."""
    tests, names = [], list(row.names)
    for value, pattern in row.tests:
        while isinstance(pattern, ast.MatchAs):
            if pattern.name is not None:
                names.append((pattern.name, value))
            if pattern.pattern is None:
                break
            pattern = pattern.pattern
        else:
            tests.append((value, pattern))
    return PatternRow(tuple(tests), tuple(names), row.case)


def remaining(
    row: PatternRow, value: Value, tests_for: Callable[[ast.pattern], Sequence[PatternTest] | None], new: Value | None = None
) -> list[PatternRow]:
    """The tests that remain of a row when more is known of `value`. `tests_for` returns those that remain of a test of `value`
    with a pattern, or None if it fails, and the row. `new` is the value that the names bound to `value` get."""
    tests: list[PatternTest] = []
    for v, p in row.tests:
        more = [(v, p)] if v != value else tests_for(p)
        if more is None:
            return []
        tests += more
    names = tuple((name, v if new is None or v != value else new) for name, v in row.names)
    return alternatives(PatternRow(tuple(tests), names, row.case))


def is_of_another_type(f: Frame, word: str, pattern: ast.MatchValue) -> bool:
    """Whether the constant of a pattern is not of the Python type with this word, and so never equal to a value of that
    type."""
    is_known, other = known(f.expression(pattern.value))
    if not is_known or word == "tensor" or isinstance(other, Enum):
        return False
    return not isinstance(other, TYPES[word][1]) and not (word in NUMBERS and isinstance(other, (int, float)))


def given_parts(f: Frame, s: ast.Match, row: PatternRow, value: Value, parts: Sequence[Value]) -> list[PatternRow]:
    """The tests that remain of a row when the components of the tuple `value` are `parts`."""
    return remaining(
        row, value, lambda p: _part_by_part(f, s, parts, p.patterns) if isinstance(p, ast.MatchSequence) else [(value, p)]
    )


def _part_by_part(f: Frame, s: ast.Match, parts: Sequence[Value], patterns: Sequence[ast.pattern]) -> list[PatternTest] | None:
    """Each component of a tuple with the pattern for it; a star takes the list of those between. None if the pattern is for
    another number of components."""
    at = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), None)
    if at is None:
        return list(zip(parts, patterns, strict=True)) if len(parts) == len(patterns) else None
    star, after = patterns[at], len(patterns) - at - 1
    if len(parts) < len(patterns) - 1:
        return None
    assert isinstance(star, ast.MatchStar)
    end = len(parts) - after
    tests = [*zip(parts[:at], patterns[:at], strict=True), *zip(parts[end:], patterns[at + 1 :], strict=True)]
    if star.name is not None:
        rest = ast.copy_location(ast.MatchAs(None, star.name), star)
        tests.append((list_of(f, s, list(parts[at:end])), rest))
    return tests


@dataclass(frozen=True, slots=True)
class ListShape:
    """The lengths of lists that a pattern matches: `least` elements, and with a star also more."""

    least: int
    starred: bool


def shape_of(patterns: Sequence[ast.pattern]) -> ListShape:
    starred = any(isinstance(p, ast.MatchStar) for p in patterns)
    return ListShape(len(patterns) - starred, starred)


def asks_for(row: PatternRow, value: Value, shape: ListShape) -> bool:
    """Whether a row matches only where the list `value` is one that `shape` says."""
    asked = [shape_of(p.patterns) for v, p in row.tests if v == value and isinstance(p, ast.MatchSequence)]
    return any(a == shape or shape.starred and a.least >= shape.least for a in asked)


def given_length(f: Frame, rows: Sequence[PatternRow], value: Value, size: Value, shape: ListShape) -> list[PatternRow]:
    """The rows that remain when `value` is a list of the length that `shape` says; its elements are read once for all rows."""
    item, by_place = type_of(value).item, dict[tuple[bool, int], Value]()

    def element(i: int, from_end: bool) -> Value:
        if (from_end, i) not in by_place:
            at: Value = f.host("sub", [size, Static(i)], INT) if from_end else Static(i)
            by_place[from_end, i] = f.host("list.get", [value, at], item, "element")
        return by_place[from_end, i]

    def opened(patterns: Sequence[ast.pattern]) -> list[PatternTest]:
        star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), len(patterns))
        tests = [(element(i, False), p) for i, p in enumerate(patterns[:star])]
        after = len(patterns) - star - 1
        tests += [(element(after - i, True), p) for i, p in enumerate(patterns[star + 1 :])]
        if star == len(patterns) or (name := patterns[star].name) is None:  # type: ignore[attr-defined]
            return tests
        end = f.host("sub", [size, Static(after)], INT, "end")
        rest = f.host("list.slice", [value, Static(star), end], ListT(item), name)
        return [*tests, (rest, ast.copy_location(ast.MatchAs(None, name), patterns[star]))]

    def tests_for(p: ast.pattern) -> list[PatternTest] | None:
        if not isinstance(p, ast.MatchSequence):
            return [(value, p)]
        asked = shape_of(p.patterns)
        if asked == shape:
            return opened(p.patterns)
        fails = asked.least < shape.least and not asked.starred or asked.least > shape.least and not shape.starred
        return None if fails else [(value, p)]

    return [r for row in rows for r in remaining(row, value, tests_for)]


def given_equal(f: Frame, rows: list[PatternRow], value: Value, pattern: ast.MatchValue, equal: bool) -> list[PatternRow]:
    """The rows that remain when a number or a string is, or is not, `equal` to the constant of a pattern."""
    is_known, constant = known(f.expression(pattern.value))
    if not is_plain(value) or not is_known or not isinstance(constant, (str, int, float)) or isinstance(constant, Enum):
        return rows

    def tests_for(p: ast.pattern) -> list[PatternTest] | None:
        is_known, other = known(f.expression(p.value)) if isinstance(p, ast.MatchValue) else (False, None)
        if not is_known or not isinstance(other, (str, int, float)) or isinstance(other, Enum):
            return [(value, p)]
        if (other == constant) is not equal:
            return None
        return [] if equal else [(value, p)]

    return [r for row in rows for r in remaining(row, value, tests_for)]


def given_type(f: Frame, row: PatternRow, value: Value, word: str, inner: Value) -> list[PatternRow]:
    """What remains of a row if `value` is `inner`, of the type of Python's with this word; [] if it cannot match."""

    def tests_for(p: ast.pattern) -> list[PatternTest] | None:
        match p:
            case ast.MatchClass():
                cls = f.expression(p.cls)
                if not isinstance(cls, Static) or not isinstance(cls.value, type):
                    return _wrong(f, p, "a class pattern names a class")
                if word != "object":
                    return [(inner, q) for q in p.patterns] if issubclass(TYPES[word][1], cls.value) else None
                members = f.program.datatypes.cases.get(getattr(type_of(inner), "name", ""), ())
                if any(cls.value is c for _, c in TYPES.values()) and not any(_is_a(m, cls.value) for m in members):
                    return None  # a class of Python's own, of values of the other types
            case ast.MatchSequence() if word not in SEQUENCES:
                return None
            case ast.MatchSequence(patterns) if (parts := f.components(inner)) is not None and len(parts) != len(patterns):
                return [(inner, p)] if any(isinstance(q, ast.MatchStar) for q in patterns) else None
            case ast.MatchSingleton():
                return None
            case ast.MatchValue() if is_of_another_type(f, word, p):
                return None
        return [(inner, p)]

    return remaining(row, value, tests_for, inner)


def given_optional(row: PatternRow, value: Dyn, some: Dyn | None) -> list[PatternRow]:
    """What remains of a row if the optional `value` holds `some`, or, if that is None, is None; [] if it cannot match."""

    def tests_for(p: ast.pattern) -> list[PatternTest] | None:
        if isinstance(p, ast.MatchSingleton):
            return [] if some is None else None
        return None if some is None else [(some, p)]

    return remaining(row, value, tests_for, some)


def given_case(f: Frame, row: PatternRow, value: Dyn, cls: type, variables: tuple[n.Var, ...]) -> list[PatternRow]:
    """What remains of a row if `value` is a `cls` whose fields are `variables`; [] if it cannot match."""
    assert isinstance(value.type, DataT)
    union = value.type.name
    members, fields = f.program.datatypes.cases[union], f.program.datatypes.field_names(cls)

    def tests_for(p: ast.pattern) -> list[PatternTest] | None:
        if isinstance(p, ast.MatchSingleton):
            return None
        if not isinstance(p, ast.MatchClass):
            return _wrong(f, p, f"{describe(value.type)} is matched with classes")
        asked = f.expression(p.cls)
        if not isinstance(asked, Static) or not isinstance(asked.value, type):
            return _wrong(f, p, "a class pattern names a dataclass")
        if not any(_is_a(m, asked.value) for m in members):
            bases = [m.__name__ for m in members if issubclass(asked.value, m)]
            advice = f"name their union, `Tree = A | B`, and annotate with that in place of `{bases[0]}`" if bases else ""
            return _wrong(f, p, f"{asked.value.__name__} is not one of {' | '.join(m.__name__ for m in members)}", advice)
        if not _is_a(cls, asked.value):
            return None
        positions = getattr(asked.value, "__match_args__", ())
        if len(p.patterns) > len(positions):
            return _wrong(f, p, f"{cls.__name__} has {len(positions)} fields, the pattern {len(p.patterns)}")
        names = (*positions[: len(p.patterns)], *p.kwd_attrs)
        if names and f.program.datatypes.is_constant(union):
            what = f"a `{cls.__name__}` that was made outside of `forward` is not taken apart by `match`"
            return _wrong(f, p, what, "ask for its class, and read its attributes")
        changing = f.program.datatypes.is_referenced(union)
        for name in p.kwd_attrs:
            if not changing and name not in fields:
                return _wrong(f, p, f"{cls.__name__} has no field `{name}`")

        def value_of(name: str) -> Value:  # what the model changes is read now
            if changing or f.program.carried.is_field(name):
                return field(f, p, value, name)
            return held_in(Dyn(variables[fields.index(name)]))

        values = [value_of(name) for name in names]
        return list(zip(values, (*p.patterns, *p.kwd_patterns), strict=True))

    return remaining(row, value, tests_for)


def _is_a(cls: type, asked: type) -> bool:
    """Whether objects of a class of the program are of the class `asked` in Python."""
    return issubclass(python_class(cls), asked)


def _wrong(f: Frame, pattern: ast.pattern, message: str, advice: str = "") -> list[PatternTest] | None:
    """Notes a problem with a pattern, whose row then cannot match: None."""
    f.problem(pattern, message, advice)
    return None
