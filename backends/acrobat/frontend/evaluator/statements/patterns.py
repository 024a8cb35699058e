"""`match` statements as decision trees: the class of a value is tested once for all cases, which are tried in source order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from backends.acrobat.core.types import BOOL, INT, DataT
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import Arm, choose, optional
from backends.acrobat.frontend.evaluator.choices.mixed import SEQUENCES, by_type, mixed, word_of
from backends.acrobat.frontend.evaluator.conditions.comparisons import comparison
from backends.acrobat.frontend.evaluator.conditions.conditions import truth
from backends.acrobat.frontend.evaluator.conditions.narrowed_choices import narrowed_by_test
from backends.acrobat.frontend.evaluator.conditions.truths import condition
from backends.acrobat.frontend.evaluator.frame.claims import Claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.statements.pattern_rows import (
    PatternRow,
    alternatives,
    asks_for,
    given_case,
    given_equal,
    given_length,
    given_optional,
    given_parts,
    given_type,
    is_of_another_type,
    shape_of,
)
from backends.acrobat.frontend.kinds import is_unknown, kind, type_of
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, unknown
from backends.acrobat.ir import nodes as n


def match_rows(f: Frame, s: ast.Match, arm: Callable[[Sequence[ast.stmt]], Value], fall: Callable[[], Value]) -> Value:
    """The value of a `match` statement: `arm` compiles the body of the case that matches, `fall` what comes if none does."""
    subject = f.borrowed(s.subject)
    f.cases = ()
    rows = [row for c in s.cases for row in alternatives(PatternRow(((subject, c.pattern),), (), c))]
    return _Decisions(f, s, subject, arm, fall).among(rows)


@dataclass(frozen=True)
class _Decisions:
    """The decision tree of the `match` statement `s`. Each method gives the value of the match where these rows are left, of
    which the first row's first test comes next."""

    f: Frame
    s: ast.Match
    subject: Value
    arm: Callable[[Sequence[ast.stmt]], Value]
    fall: Callable[[], Value]

    def among(self, rows: list[PatternRow]) -> Value:
        f, s = self.f, self.s
        if not rows:
            return self.fall()
        first, rest = rows[0], rows[1:]
        if not first.tests:
            for name, value in first.names:
                f.rebind(name, value)
            if first.case.guard is None:
                return self.arm(first.case.body)
            guard = truth(f, first.case.guard)
            return choose(f, s, guard, lambda: self.arm(first.case.body), lambda: self.among(rest))
        value, pattern = first.tests[0]
        if mixed(f, value) and not isinstance(pattern, ast.MatchSingleton):

            def of_one_type(word: str, inner: Value) -> Value:
                return self.among([r for row in rows for r in given_type(f, row, value, word, inner)])

            return by_type(f, s, value, of_one_type)  # type: ignore[arg-type]
        if isinstance(pattern, ast.MatchClass) and (word := word_of(value)) and word != "object":
            return self.among([*given_type(f, first, value, word, value), *rest])
        with f.at(pattern):
            return self._by_pattern(rows, value, pattern)

    def _by_pattern(self, rows: list[PatternRow], value: Value, pattern: ast.pattern) -> Value:
        """`value` is not mixed, and is tested by `pattern`."""
        f, first, rest = self.f, rows[0], rows[1:]
        without_test = PatternRow(first.tests[1:], first.names, first.case)
        match pattern:
            case ast.MatchSequence() | ast.MatchValue() if _never_matches(f, value, pattern):
                return self.among(rest)
            case ast.MatchSequence(patterns):
                return self._sequence(rows, value, patterns)
            case ast.MatchSingleton(None) if value == Static(None):
                return self.among([without_test, *rest])
            case ast.MatchSingleton(None) if not _may_be_none(f, value):
                return self.among(rest)
            case ast.MatchClass() if value == Static(None):
                return self.among(rest)
            case ast.MatchClass() | ast.MatchSingleton(None):
                return self._switch(rows, value)
            case ast.MatchValue(constant):
                same = comparison(f, pattern, ast.Eq(), value, f.expression(constant))
                matched = [without_test, *given_equal(f, rest, value, pattern, True)]
                others = given_equal(f, rest, value, pattern, False)
                is_equal = condition(f, same, pattern)
                then: Arm = partial(self.among, matched)
                orelse: Arm = partial(self.among, others)
                if isinstance(value, Dyn) and value == self.subject:
                    test = ast.copy_location(ast.Compare(self.s.subject, [ast.Eq()], [constant]), pattern)
                    then, orelse = narrowed_by_test(f, test, True, then), narrowed_by_test(f, test, False, orelse)
                return choose(f, self.s, is_equal, then, orelse)
        return f.problem(pattern, "this pattern is not in the language", "match classes, None, literals and tuples")

    def _sequence(self, rows: list[PatternRow], value: Value, patterns: list[ast.pattern]) -> Value:
        f, s = self.f, self.s
        if kind(value) in ("list", "varying tuple"):
            return self._list(rows, value, patterns)
        parts = f.components(value)
        if parts is None:
            parts = f.components(value, len(patterns))
        if parts is None:
            return f.problem(
                s, f"a pattern of {len(patterns)} elements needs a tuple of as many", "lists are taken apart by indexing"
            )
        return self.among([r for row in rows for r in given_parts(f, s, row, value, parts)])

    def _list(self, rows: list[PatternRow], value: Value, patterns: list[ast.pattern]) -> Value:
        """The first row's pattern is a list: it is tried where the length fits, the other rows where it does not."""
        f = self.f
        if is_unknown(value):
            return unknown()
        shape = shape_of(patterns)
        size = f.host("list.len", [value], INT, "size")
        fits = f.host("ge" if shape.starred else "eq", [size, Static(shape.least)], BOOL, "fits")
        return choose(
            f,
            self.s,
            fits,
            lambda: self.among(given_length(f, rows, value, size, shape)),
            lambda: self.among([row for row in rows if not asks_for(row, value, shape)]),
        )

    def _switch(self, rows: list[PatternRow], value: Value) -> Value:
        """Branch on the class of `value`, or on whether it is None; each branch goes on with the rows that may still match."""
        f, s = self.f, self.s
        if is_unknown(value):
            return unknown()
        if not isinstance(value, Dyn) or not isinstance(value.type, DataT):
            return f.problem(s, f"{describe(type_of(value))} cannot be matched with classes")
        datatypes = f.program.datatypes
        inner = optional(f, value)
        branches: list[tuple[Builder, Value]] = []
        heads: list[tuple[str, tuple[n.Var, ...]]] = []
        owned: list[Claims] = []

        def add(case: str, variables: tuple[n.Var, ...], given: Callable[[PatternRow], list[PatternRow]]) -> None:
            with f.branch() as b:
                before, f.cases = (f.unmatched, f.cases), (*f.cases, case)
                possible = [r for row in rows for r in given(row)]  # here, as attributes may be read for it
                if not possible:
                    f.unmatched = s, "(".join(f.cases) + ")" * (len(f.cases) - 1)
                branches.append((b, self.among(possible)))
                f.unmatched, f.cases = before
            owned.append(f.owned_at_end)
            heads.append((case, variables))

        if inner is not None:
            some = f.var("value", inner)
            add("None", (), lambda row: given_optional(row, value, None))
            add("Some", (some,), lambda row: given_optional(row, value, Dyn(some)))
        else:
            _ask_for_fields(f, rows, value)
            for cls in datatypes.cases[value.type.name]:
                variables = tuple(f.var(x, datatypes.field_type(cls, x)) for x in datatypes.field_names(cls))
                add(cls.__name__, variables, partial(given_case, f, value=value, cls=cls, variables=variables))
        f.owned = set.intersection(*owned)
        type, bodies = f.merge(branches, s)
        if contains_unknown(type) or any(contains_unknown(v.type) for _, variables in heads for v in variables):
            f.program.incomplete = True
            return unknown() if contains_unknown(type) else guess(type)
        arms = tuple(n.Arm(case, variables, body) for (case, variables), body in zip(heads, bodies, strict=True))
        return f.bind(n.Match(value.atom, arms, type, span=f.span), "matched")


def _never_matches(f: Frame, value: Value, pattern: ast.MatchSequence | ast.MatchValue) -> bool:
    """Whether a value is of a type of Python's that this pattern is not for, as an int or a string is none of `(a, b)`."""
    word = word_of(value)
    if isinstance(pattern, ast.MatchSequence):
        return word not in (*SEQUENCES, "object", "")
    return word not in ("object", "") and is_of_another_type(f, word, pattern)


def _may_be_none(f: Frame, value: Value) -> bool:
    """Whether a value may be None, as far as its type and the tests before this one say."""
    return is_unknown(value) or optional(f, value) is not None


def _ask_for_fields(f: Frame, rows: Sequence[PatternRow], value: Dyn) -> None:
    """Mark the fields that patterns name as read: of a class known from a sample the program has such fields only."""
    for p in [p for row in rows for v, p in row.tests if v == value and isinstance(p, ast.MatchClass)]:
        asked_class = f.expression(p.cls)
        if isinstance(asked_class, Static) and isinstance(asked_class.value, type) and isinstance(value.type, DataT):
            for cls in f.program.datatypes.cases.get(value.type.name, ()):
                for name in (*getattr(asked_class.value, "__match_args__", ())[: len(p.patterns)], *p.kwd_attrs):
                    if issubclass(cls, asked_class.value):
                        f.program.datatypes.has_field(cls, name)
