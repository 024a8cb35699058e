"""`match` statements as decision trees: the class of a value is tested once for all cases, which are tried in source order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from backends.acrobat.core.types import BOOL, INT, DataT, ListT
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.evaluator.choice import choose, optional
from backends.acrobat.frontend.evaluator.comparisons import comparison
from backends.acrobat.frontend.evaluator.conditions import truth
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import list_of
from backends.acrobat.frontend.evaluator.mixed import NUMBERS, SEQUENCES, by_type, mixed, word_of
from backends.acrobat.frontend.evaluator.truths import condition
from backends.acrobat.frontend.instances.sample_types import TYPES
from backends.acrobat.frontend.types import contains_unknown, describe
from backends.acrobat.frontend.values import (
    Dyn,
    Static,
    Value,
    guess,
    held_in,
    is_plain,
    is_unknown,
    kind,
    known,
    type_of,
    unknown,
)
from backends.acrobat.ir import nodes as n


@dataclass(frozen=True, slots=True)
class PatternRow:
    """A case that may still match: the tests that remain, as (value, pattern), and the names bound so far."""

    tests: tuple[tuple[Value, ast.pattern], ...]
    names: tuple[tuple[str, Value], ...]
    case: ast.match_case


def match_rows(f: Frame, s: ast.Match, arm: Callable[[Sequence[ast.stmt]], Value], fall: Callable[[], Value]) -> Value:
    """The value of a `match` statement: `arm` compiles the body of the case that matches, `fall` what comes if none does."""
    subject = f.borrowed(s.subject)
    f.cases = ()
    rows = [row for c in s.cases for row in _alternatives(PatternRow(((subject, c.pattern),), (), c))]
    return _rows(f, s, rows, arm, fall)


def _alternatives(row: PatternRow) -> list[PatternRow]:
    """The row with one alternative each of its `A | B` patterns. The body of the case is compiled for each of them."""
    row = _settle(row)
    for i, (value, pattern) in enumerate(row.tests):
        if isinstance(pattern, ast.MatchOr):
            given = [(*row.tests[:i], (value, p), *row.tests[i + 1 :]) for p in pattern.patterns]
            return [r for tests in given for r in _alternatives(PatternRow(tests, row.names, row.case))]
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


def _rows(
    f: Frame, s: ast.Match, rows: list[PatternRow], arm: Callable[[Sequence[ast.stmt]], Value], fall: Callable[[], Value]
) -> Value:
    """The value of the match from here on: a decision by the first test of the first row."""
    if not rows:
        return fall()
    first, rest = rows[0], rows[1:]
    if not first.tests:
        for name, value in first.names:
            f.rebind(name, value)
        if first.case.guard is None:
            return arm(first.case.body)
        guard = truth(f, first.case.guard)
        return choose(f, s, guard, lambda: arm(first.case.body), lambda: _rows(f, s, rest, arm, fall))
    value, pattern = first.tests[0]
    if mixed(f, value) and not isinstance(pattern, ast.MatchSingleton):

        def of_one_type(word: str, inner: Value) -> Value:
            return _rows(f, s, [r for row in rows for r in _given_type(f, row, value, word, inner)], arm, fall)

        return by_type(f, s, value, of_one_type)  # type: ignore[arg-type]
    if isinstance(pattern, ast.MatchClass) and (word := word_of(value)) and word != "object":
        return _rows(f, s, [*_given_type(f, first, value, word, value), *rest], arm, fall)
    with f.at(pattern):
        match pattern:
            case ast.MatchSequence() | ast.MatchValue() if _never_matches(f, value, pattern):
                return _rows(f, s, rest, arm, fall)
            case ast.MatchSequence(patterns):
                return _sequence(f, s, rows, value, patterns, arm, fall)
            case ast.MatchSingleton(None) if value == Static(None):
                return _rows(f, s, [PatternRow(first.tests[1:], first.names, first.case), *rest], arm, fall)
            case ast.MatchSingleton(None) if not _may_be_none(f, value):
                return _rows(f, s, rest, arm, fall)
            case ast.MatchClass() if value == Static(None):
                return _rows(f, s, rest, arm, fall)
            case ast.MatchClass() | ast.MatchSingleton(None):
                return _switch(f, s, rows, value, arm, fall)
            case ast.MatchValue(constant):
                same = comparison(f, pattern, ast.Eq(), value, f.expression(constant))
                matched = [PatternRow(first.tests[1:], first.names, first.case), *_given_equal(f, rest, value, pattern, True)]
                others = _given_equal(f, rest, value, pattern, False)
                return choose(
                    f,
                    s,
                    condition(f, same, pattern),
                    lambda: _rows(f, s, matched, arm, fall),
                    lambda: _rows(f, s, others, arm, fall),
                )
    return f.problem(pattern, "this pattern is not in the language", "match classes, None, literals and tuples")


def _never_matches(f: Frame, value: Value, pattern: ast.MatchSequence | ast.MatchValue) -> bool:
    """Whether a value is of a type of Python's that this pattern is not for, as an int or a string is none of `(a, b)`."""
    word = word_of(value)
    if isinstance(pattern, ast.MatchSequence):
        return word not in (*SEQUENCES, "object", "")
    return word not in ("object", "") and _is_of_another_type(f, word, pattern)


def _is_of_another_type(f: Frame, word: str, pattern: ast.MatchValue) -> bool:
    """Whether the constant of a pattern is not of the type of Python's with this word, and so never equal to a value of it."""
    is_known, other = known(f.expression(pattern.value))
    if not is_known or word == "tensor" or isinstance(other, Enum):
        return False
    return not isinstance(other, TYPES[word][1]) and not (word in NUMBERS and isinstance(other, (int, float)))


def _may_be_none(f: Frame, value: Value) -> bool:
    """Whether a value may be None, as far as its type and the tests before this one say."""
    return is_unknown(value) or optional(f, value) is not None


def _sequence(
    f: Frame,
    s: ast.Match,
    rows: list[PatternRow],
    value: Value,
    patterns: list[ast.pattern],
    arm: Callable[[Sequence[ast.stmt]], Value],
    fall: Callable[[], Value],
) -> Value:
    if kind(value) in ("list", "varying tuple"):
        return _list(f, s, rows, value, patterns, arm, fall)
    parts = f.components(value)
    if parts is None:
        parts = f.components(value, len(patterns))
    if parts is None:
        return f.problem(
            s, f"a pattern of {len(patterns)} elements needs a tuple of as many", "lists are taken apart by indexing"
        )
    opened = []
    for row in rows:
        tests: list[tuple[Value, ast.pattern]] = []
        for v, p in row.tests:
            if v != value or not isinstance(p, ast.MatchSequence):
                tests.append((v, p))
            elif (inner := _part_by_part(f, s, parts, p.patterns)) is not None:
                tests += inner
            else:
                break
        else:
            opened += _alternatives(PatternRow(tuple(tests), row.names, row.case))
    return _rows(f, s, opened, arm, fall)


def _part_by_part(
    f: Frame, s: ast.Match, parts: Sequence[Value], patterns: Sequence[ast.pattern]
) -> list[tuple[Value, ast.pattern]] | None:
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


def _list(
    f: Frame,
    s: ast.Match,
    rows: list[PatternRow],
    value: Value,
    patterns: list[ast.pattern],
    arm: Callable[[Sequence[ast.stmt]], Value],
    fall: Callable[[], Value],
) -> Value:
    """The first row's pattern is a list: it is tried where the length fits, the other rows where it does not."""
    if is_unknown(value):
        return unknown()
    shape = _shape(patterns)
    size = f.host("list.len", [value], INT, "size")
    fits = f.host("ge" if shape.starred else "eq", [size, Static(shape.least)], BOOL, "fits")
    return choose(
        f,
        s,
        fits,
        lambda: _rows(f, s, _given_length(f, rows, value, size, shape), arm, fall),
        lambda: _rows(f, s, [row for row in rows if not _asks_for(row, value, shape)], arm, fall),
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    """Which lists a pattern is for: those of `least` elements, and where it has a star also longer ones."""

    least: int
    starred: bool


def _shape(patterns: Sequence[ast.pattern]) -> _Shape:
    starred = any(isinstance(p, ast.MatchStar) for p in patterns)
    return _Shape(len(patterns) - starred, starred)


def _asks_for(row: PatternRow, value: Value, shape: _Shape) -> bool:
    """Whether a row matches only where the list `value` is one that `shape` says."""
    asked = [_shape(p.patterns) for v, p in row.tests if v == value and isinstance(p, ast.MatchSequence)]
    return any(a == shape or shape.starred and a.least >= shape.least for a in asked)


def _given_length(f: Frame, rows: Sequence[PatternRow], value: Value, size: Value, shape: _Shape) -> list[PatternRow]:
    """What remains of the rows where `value` is a list that `shape` says: its elements are got once for all rows."""
    item, by_place = type_of(value).item, dict[tuple[bool, int], Value]()

    def element(i: int, from_end: bool) -> Value:
        if (from_end, i) not in by_place:
            at: Value = f.host("sub", [size, Static(i)], INT) if from_end else Static(i)
            by_place[from_end, i] = f.host("list.get", [value, at], item, "element")
        return by_place[from_end, i]

    def opened(patterns: Sequence[ast.pattern]) -> tuple[list[tuple[Value, ast.pattern]], list[tuple[str, Value]]]:
        star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), len(patterns))
        tests = [(element(i, False), p) for i, p in enumerate(patterns[:star])]
        after = len(patterns) - star - 1
        tests += [(element(after - i, True), p) for i, p in enumerate(patterns[star + 1 :])]
        if star == len(patterns) or (name := patterns[star].name) is None:  # type: ignore[attr-defined]
            return tests, []
        end = f.host("sub", [size, Static(after)], INT, "end")
        return tests, [(name, f.host("list.slice", [value, Static(star), end], ListT(item), name))]

    out = []
    for row in rows:
        tests, names = list[tuple[Value, ast.pattern]](), list(row.names)
        for v, p in row.tests:
            if v != value or not isinstance(p, ast.MatchSequence):
                tests.append((v, p))
            elif (asked := _shape(p.patterns)) == shape:
                inner, rest = opened(p.patterns)
                tests, names = tests + inner, names + rest
            elif asked.least < shape.least and not asked.starred or asked.least > shape.least and not shape.starred:
                break
            else:
                tests.append((v, p))
        else:
            out += _alternatives(PatternRow(tuple(tests), tuple(names), row.case))
    return out


def _given_equal(f: Frame, rows: list[PatternRow], value: Value, pattern: ast.MatchValue, equal: bool) -> list[PatternRow]:
    """What remains of the rows where a number or a string is, or is not, `equal` to the constant of a pattern."""
    is_known, constant = known(f.expression(pattern.value))
    if not is_plain(value) or not is_known or not isinstance(constant, (str, int, float)) or isinstance(constant, Enum):
        return rows
    out = []
    for row in rows:
        tests: list[tuple[Value, ast.pattern]] = []
        for v, p in row.tests:
            if v == value and isinstance(p, ast.MatchValue):
                is_known, other = known(f.expression(p.value))
                if is_known and isinstance(other, (str, int, float)) and not isinstance(other, Enum):
                    if (other == constant) is not equal:
                        break
                    if equal:
                        continue
            tests.append((v, p))
        else:
            out.append(PatternRow(tuple(tests), row.names, row.case))
    return out


def _switch(
    f: Frame,
    s: ast.Match,
    rows: list[PatternRow],
    value: Value,
    arm: Callable[[Sequence[ast.stmt]], Value],
    fall: Callable[[], Value],
) -> Value:
    """Branch on the class of `value`, or on whether it is None; each branch goes on with the rows that may still match."""
    if is_unknown(value):
        return unknown()
    if not isinstance(value, Dyn) or not isinstance(value.type, DataT):
        return f.problem(s, f"{describe(type_of(value))} cannot be matched with classes")
    datatypes = f.program.datatypes
    inner = optional(f, value)
    branches: list[tuple[Builder, Value]] = []
    heads: list[tuple[str, tuple[n.Var, ...]]] = []
    owned: list[set[str]] = []

    def add(case: str, variables: tuple[n.Var, ...], possible: list[PatternRow]) -> None:
        with f.branch() as b:
            before, f.cases = (f.unmatched, f.cases), (*f.cases, case)
            if not possible:
                f.unmatched = s, "(".join(f.cases) + ")" * (len(f.cases) - 1)
            branches.append((b, _rows(f, s, possible, arm, fall)))
            f.unmatched, f.cases = before
        owned.append(f.owned_at_end)
        heads.append((case, variables))

    if inner is not None:
        some = f.var("value", inner)
        add("None", (), [r for row in rows for r in _given_optional(row, value, None)])
        add("Some", (some,), [r for row in rows for r in _given_optional(row, value, Dyn(some))])
    else:
        _ask_for_fields(f, rows, value)
        for cls in datatypes.cases[value.type.name]:
            variables = tuple(f.var(x, datatypes.field_type(cls, x)) for x in datatypes.field_names(cls))
            add(cls.__name__, variables, [r for row in rows for r in _given_case(f, row, value, cls, variables)])
    f.owned = set.intersection(*owned)
    type, bodies = f.merge(branches, s)
    if contains_unknown(type) or any(contains_unknown(v.type) for _, variables in heads for v in variables):
        f.program.incomplete = True
        return unknown() if contains_unknown(type) else guess(type)
    arms = tuple(n.Arm(case, variables, body) for (case, variables), body in zip(heads, bodies, strict=True))
    return f.bind(n.Match(value.atom, arms, type, span=f.span), "matched")


def _given_type(f: Frame, row: PatternRow, value: Value, word: str, inner: Value) -> list[PatternRow]:
    """What remains of a row if `value` is `inner`, of the type of Python's with this word; [] if it cannot match."""
    tests: list[tuple[Value, ast.pattern]] = []
    for v, p in row.tests:
        if v != value:
            tests.append((v, p))
            continue
        match p:
            case ast.MatchClass() if word != "object":
                cls = f.expression(p.cls)
                if not isinstance(cls, Static) or not isinstance(cls.value, type):
                    return _wrong(f, p, "a class pattern names a class")
                if not issubclass(TYPES[word][1], cls.value):
                    return []
                tests += [(inner, q) for q in p.patterns]
            case ast.MatchSequence() if word not in SEQUENCES:
                return []
            case ast.MatchSequence(patterns) if (parts := f.components(inner)) is not None and len(parts) != len(patterns):
                if not any(isinstance(q, ast.MatchStar) for q in patterns):
                    return []
                tests.append((inner, p))
            case ast.MatchSingleton():
                return []
            case ast.MatchValue() if _is_of_another_type(f, word, p):
                return []
            case _:
                tests.append((inner, p))
    names = tuple((name, inner if v == value else v) for name, v in row.names)
    return _alternatives(PatternRow(tuple(tests), names, row.case))


def _given_optional(row: PatternRow, value: Dyn, some: Dyn | None) -> list[PatternRow]:
    """What remains of a row if the optional `value` holds `some`, or, if that is None, is None; [] if it cannot match."""
    tests: list[tuple[Value, ast.pattern]] = []
    for v, p in row.tests:
        if v != value:
            tests.append((v, p))
        elif isinstance(p, ast.MatchSingleton):
            if some is not None:
                return []
        elif some is None:
            return []
        else:
            tests.append((some, p))
    names = tuple((name, some if v == value and some is not None else v) for name, v in row.names)
    return _alternatives(PatternRow(tuple(tests), names, row.case))


def _given_case(f: Frame, row: PatternRow, value: Dyn, cls: type, variables: tuple[n.Var, ...]) -> list[PatternRow]:
    """What remains of a row if `value` is a `cls` whose fields are `variables`; [] if it cannot match."""
    tests: list[tuple[Value, ast.pattern]] = []
    for v, p in row.tests:
        if v != value or not isinstance(p, ast.MatchClass):
            if v == value:
                if isinstance(p, ast.MatchSingleton):
                    return []
                return _wrong(f, p, f"{describe(value.type)} is matched with classes")
            tests.append((v, p))
            continue
        asked_class = f.expression(p.cls)
        if not isinstance(asked_class, Static) or not isinstance(asked_class.value, type):
            return _wrong(f, p, "a class pattern names a dataclass")
        assert isinstance(value.type, DataT)
        members = f.program.datatypes.cases[value.type.name]
        if not any(issubclass(m, asked_class.value) for m in members):
            bases = [m.__name__ for m in members if issubclass(asked_class.value, m)]
            advice = f"name their union, `Tree = A | B`, and annotate with that in place of `{bases[0]}`" if bases else ""
            return _wrong(f, p, f"{asked_class.value.__name__} is not one of {' | '.join(m.__name__ for m in members)}", advice)
        if not issubclass(cls, asked_class.value):
            return []
        fields, positions = f.program.datatypes.field_names(cls), getattr(asked_class.value, "__match_args__", ())
        if len(p.patterns) > len(positions):
            return _wrong(f, p, f"{cls.__name__} has {len(positions)} fields, the pattern {len(p.patterns)}")
        for name in (*positions[: len(p.patterns)], *p.kwd_attrs):
            if f.program.carried.is_field(name) or f.program.datatypes.is_referenced(value.type.name):
                return _wrong(f, p, f"the model changes `{name}` of objects that have other names", "read it as an attribute")
        tests += [(held_in(Dyn(variables[fields.index(name)])), q) for name, q in zip(positions, p.patterns, strict=False)]
        for name, q in zip(p.kwd_attrs, p.kwd_patterns, strict=True):
            if name not in fields:
                return _wrong(f, p, f"{cls.__name__} has no field `{name}`")
            tests.append((held_in(Dyn(variables[fields.index(name)])), q))
    return _alternatives(PatternRow(tuple(tests), row.names, row.case))


def _ask_for_fields(f: Frame, rows: Sequence[PatternRow], value: Dyn) -> None:
    """Mark the fields that patterns name as read: of a class known from a sample the program has such fields only."""
    for p in [p for row in rows for v, p in row.tests if v == value and isinstance(p, ast.MatchClass)]:
        asked_class = f.expression(p.cls)
        if isinstance(asked_class, Static) and isinstance(asked_class.value, type) and isinstance(value.type, DataT):
            for cls in f.program.datatypes.cases.get(value.type.name, ()):
                for name in (*getattr(asked_class.value, "__match_args__", ())[: len(p.patterns)], *p.kwd_attrs):
                    if issubclass(cls, asked_class.value):
                        f.program.datatypes.has_field(cls, name)


def _wrong(f: Frame, pattern: ast.pattern, message: str, advice: str = "") -> list[PatternRow]:
    f.problem(pattern, message, advice)
    return []
