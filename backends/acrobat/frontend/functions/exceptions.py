"""Exceptions that a `raise` of the model raises and that are caught, as ordinary ways through the program.

A function that raises what its caller catches has a version that gives an *outcome*, a tuple: which of the caught exceptions
it raised, counted from 1, or 0; its result; and what is kept of each exception. In it `raise Exit(h)` is a `return`, in loops
too. A call of it stands alone in its statement (`raising_calls`), and one branch for each exception follows.

In a function that catches, `raise` inside of the `try` leads to the `except` (`RaisedHere`). Out of a loop inside of the `try`
the exception is carried by a name:

    for w in words:                   raised = None
        if w > 2:                     for w in words:
            raise Exit(w)                 if w > 2:
                                              raised = Exit(w)
                                              break
                                      if raised is not None:
                                          raise raised
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.syntax.bodies import ends, leaves, placed
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted
from backends.acrobat.frontend.evaluator.syntax.raised import (
    CallTried,
    Caught,
    CaughtTry,
    Escapes,
    LookupsTried,
    RaisedHere,
    TryKey,
)
from backends.acrobat.frontend.functions.managers import as_try
from backends.acrobat.frontend.functions.outcomes import returned
from backends.acrobat.frontend.functions.raising_calls import alone, raises_inside, with_calls_alone, with_test_inside
from backends.acrobat.frontend.syntax_nodes import Place, bound_names, every_node, is_variable, names_in
from backends.acrobat.frontend.values import Static

HARMLESS = frozenset({"abs", "len", "repr", "round", "str", "type"})
"""Functions of Python's of which a call does not have to be computed where nothing reads what it gives."""


@dataclass(frozen=True)
class Way:
    """A way out of a body for exceptions that are `caught`: the statements that leave it, for the statement that raises and
    what is kept of the exception. `in_loops`: it also leaves the loops in the body."""

    caught: Caught
    leave: Callable[[ast.stmt, ast.expr], list[ast.stmt]]
    in_loops: bool


@dataclass(frozen=True)
class Handled:
    """The exception of the `except` that is being rewritten: its name in the source, what the program keeps of it."""

    name: str | None
    kept: str
    caught: Caught


def with_ways_out(
    definition: ast.FunctionDef,
    namespace: Mapping[str, Any],
    places: Set[Place],
    followed: Set[TryKey],
    escapes: Escapes | None,
    note: Callable[[str, Any], None],
) -> ast.FunctionDef:
    """A function as it is compiled, with the calls at `places` apart, which raise what is caught. A `try` at one of `followed`
    catches exceptions of Python's own as others catch the model's. `note` is told what a name that matters stands for in the
    file."""
    own = bound_names(definition)
    known = {name: x for name, x in (vars(builtins) | dict(namespace)).items() if name not in own}
    ways = []
    for i, caught in enumerate(() if escapes is None else escapes.caught, 1):
        ways.append(Way(caught, lambda at, kept, i=i: [returned(at, escapes, i, kept)], True))  # type: ignore[misc,arg-type]
    result = copy(definition)
    result.body = _WaysOut(known, places, followed, note).body(map(copied, definition.body), ways)
    return result


class _WaysOut:
    def __init__(
        self, known: Mapping[str, Any], places: Set[Place], followed: Set[TryKey], note: Callable[[str, Any], None]
    ) -> None:
        self.known = known
        self.places = places
        self.followed = followed
        self.note = note
        self.handled: Handled | None = None

    def body(self, body: Iterable[ast.stmt], ways: Sequence[Way]) -> list[ast.stmt]:
        return [new for s in body for new in self.statement(s, ways)]

    def statement(self, s: ast.stmt, ways: Sequence[Way]) -> list[ast.stmt]:
        if ways:
            if (tried := self._lookups(s, ways)) is not None:
                return [tried, *self._statement(s, ways)]
        return self._statement(s, ways)

    def _statement(self, s: ast.stmt, ways: Sequence[Way]) -> list[ast.stmt]:
        if ways:
            if (call := alone(s, self.places)) is not None:
                return [self._call(s, call, ways)]
            if isinstance(s, ast.While) and raises_inside(s.test, self.places):
                return self.statement(with_test_inside(s), ways)
            apart = with_calls_alone(s, self.places)
            if apart != [s]:
                return self.body(apart, ways)
        match s:
            case ast.Raise():
                return self._raise(s, ways)
            case ast.Try():
                return self._try(s, ways)
            case ast.For() | ast.While():
                return self._loop(s, ways)
            case ast.If():
                s.body, s.orelse = self.body(s.body, ways), self.body(s.orelse, ways)
            case ast.With(items=[ast.withitem(ast.Call(called)), *_]) if plain := as_try(s, self._meant(called)):
                return self.body(plain, ways)
            case ast.With():
                s.body = self.body(s.body, ways)
            case ast.Match():
                for case in s.cases:
                    case.body = self.body(case.body, ways)
        return [s]

    def _lookups(self, s: ast.stmt, ways: Sequence[Way]) -> ast.stmt | None:
        """What tests, before a statement, whether lookups in it would raise what is caught; None if that is none of Python's
        exceptions, or there is no lookup."""
        of_python = [w for w in ways if any(c.__module__ == "builtins" for c in w.caught.classes)]
        if not of_python or not isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            return None
        if not any(isinstance(x, (ast.Subscript, ast.Call, ast.BinOp)) for x in every_node(s)):
            return None
        leave = [w.leave(s, ast.copy_location(ast.Constant(0), s)) for w in of_python]
        result = LookupsTried([], [ast.ExceptHandler(None, None, body) for body in leave], [], [])
        result.tried, result.caught = copied(s), tuple(w.caught for w in of_python)
        return placed(s, result)

    def _call(self, s: ast.stmt, call: ast.Call, ways: Sequence[Way]) -> ast.stmt:
        """A statement that is a call, with the ways out for what it raises."""
        handlers, caught = list[ast.ExceptHandler](), list[Caught]()
        for way in ways:
            if all(any(issubclass(c, other.classes) for other in caught) for c in way.caught.classes):
                continue  # an inner `try` catches it
            name = hidden("error", call, len(caught))
            kept: ast.expr = ast.Name(name, ast.Load()) if way.caught.is_read else ast.Constant(0)
            handlers.append(ast.ExceptHandler(None, name, way.leave(s, ast.copy_location(kept, s))))
            caught.append(way.caught)
        result = CallTried([s], handlers, [], [])
        result.caught = tuple(caught)
        return placed(s, result)

    def _loop(self, s: ast.For | ast.While, ways: Sequence[Way]) -> list[ast.stmt]:
        """A loop, with what is behind it where an exception that was raised in it goes on from there."""
        before, after, inner = list[ast.stmt](), list[ast.stmt](), list[Way]()
        used = set[str]()
        for i, way in enumerate(ways):
            name = hidden("raised", s, i)

            def carried(at: ast.stmt, kept: ast.expr, name: str = name) -> list[ast.stmt]:
                used.add(name)
                return quoted(at, "name = value\nbreak", name=name, value=kept)

            inner.append(way if way.in_loops else replace(way, leave=carried))
        s.body = self.body(s.body, inner)
        for i, way in enumerate(ways):
            if (name := hidden("raised", s, i)) in used:
                before += quoted(s, "name = None", name=name)
                on = way.leave(s, ast.copy_location(ast.Name(name, ast.Load()), s))
                after += quoted(s, "if name is not None: on", name=name, on=on)
        return [*before, s, *after]

    # ---- `raise`

    def _raise(self, s: ast.Raise, ways: Sequence[Way]) -> list[ast.stmt]:
        if self.handled is not None and (s.exc is None or is_variable(s.exc, self.handled.name or "")):
            return self._raise_again(s, self.handled, ways)
        cls = self._meant(s.exc.func if isinstance(s.exc, ast.Call) else s.exc)
        way = next((w for w in ways if isinstance(cls, type) and issubclass(cls, w.caught.classes)), None)
        if way is None:
            return [s]
        assert s.exc is not None
        args = s.exc.args if isinstance(s.exc, ast.Call) else []
        made = s.exc if isinstance(s.exc, ast.Call) else ast.copy_location(ast.Call(s.exc, [], []), s.exc)
        whole = made if isinstance(cls.__init__, FunctionType) else ast.copy_location(ast.Tuple(args, ast.Load()), s.exc)
        if way.caught.is_read:
            return way.leave(s, whole)
        unread = quoted(s, "unread = whole", unread=hidden("unread", s), whole=whole)
        first = [] if all(map(_is_harmless, (*made.args, *(k.value for k in made.keywords)))) else unread
        return [*first, *way.leave(s, ast.copy_location(ast.Constant(0), s))]

    def _raise_again(self, s: ast.Raise, handled: Handled, ways: Sequence[Way]) -> list[ast.stmt]:
        """`raise` of what was caught. Which of the `try`s around catches it is known from what the `except` catches."""
        classes = handled.caught.classes
        for way in ways:
            if all(issubclass(c, way.caught.classes) for c in classes):
                kept: ast.expr = ast.Name(handled.kept, ast.Load()) if way.caught.is_read else ast.Constant(0)
                return way.leave(s, ast.copy_location(kept, s))
            if any(issubclass(*pair) for c in classes for d in way.caught.classes for pair in ((c, d), (d, c))):
                return [s]  # it catches some of them
        return [placed(s, ast.Raise(ast.Call(CompiledNode(Static(classes[0])), [], []), None))]

    def _meant(self, written: ast.expr | None) -> Any:
        """What a name, or a name in a module, stands for; None for other expressions."""
        match written:
            case ast.Name(name) | ast.Attribute(ast.Name(name)) if name in self.known:
                if self.known[name] is not getattr(builtins, name, None):
                    self.note(name, self.known[name])
                return self.known[name] if isinstance(written, ast.Name) else getattr(self.known[name], written.attr, None)
        return None

    # ---- `try`

    def _try(self, s: ast.Try, ways: Sequence[Way]) -> list[ast.stmt]:
        if s.handlers and s.finalbody:
            inner = ast.copy_location(ast.Try(s.body, s.handlers, s.orelse, []), s)
            return self._try(ast.copy_location(ast.Try([inner], [], [], s.finalbody), s), ways)
        caught = [self._caught(h, ways, (s.lineno, s.col_offset) in self.followed) for h in s.handlers]
        of_own = bool(caught) and None not in caught
        inside = [*ways]
        if of_own:
            for i, each in enumerate(caught):
                inside.insert(i, Way(each, _raise_here(s, i), False))  # type: ignore[arg-type]
        elif s.handlers:
            of_python = self._of_python(s)  # where it catches the model's own, too, these are not followed
            inside = [w for w in ways if not any(issubclass(c, of_python) for c in w.caught.classes)]
        s.body, s.orelse = self.body(s.body, inside), self.body(s.orelse, ways)
        around = self.handled
        for h, each in zip(s.handlers, caught, strict=True):
            self.handled = Handled(h.name, kept_name(h), each) if each is not None else None
            h.body = self.body(h.body, ways)
        self.handled = around
        s.finalbody = self.body(s.finalbody, ways)
        if not s.handlers and not any(leaves(x) or ends(x) for x in (*s.body, *s.orelse)):
            return [*s.body, *s.orelse, *s.finalbody]
        if not of_own:
            return [s]
        result = CaughtTry(s.body, s.handlers, s.orelse, [])
        result.key, result.caught = (s.lineno, s.col_offset), tuple(caught)  # type: ignore[arg-type]
        return [ast.copy_location(result, s)]

    def _of_python(self, s: ast.Try) -> tuple[type, ...]:
        """The exceptions of Python's own that a `try` catches."""
        parts = [x for h in s.handlers for x in (h.type.elts if isinstance(h.type, ast.Tuple) else [h.type])]
        found = [getattr(builtins, x.id, None) if isinstance(x, ast.Name) else BaseException for x in parts]
        return tuple(x for x in found if isinstance(x, type))

    def _caught(self, handler: ast.ExceptHandler, ways: Sequence[Way], followed: bool) -> Caught | None:
        """What a handler catches, if that is exceptions of the model's own classes alone; in a `try` that is `followed` also
        those of Python's own."""
        written = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        classes = [Exception if x is None else self._meant(x) for x in written]
        if not all(isinstance(c, type) and issubclass(c, Exception) for c in classes):
            return None
        if not followed and any(c.__module__ == "builtins" for c in classes):
            return None
        raised = [x for b in handler.body for x in every_node(b) if isinstance(x, ast.Raise)]
        again = [x for x in raised if x.exc is None or handler.name and is_variable(x.exc, handler.name)]
        unread = [y for x in raised for y in (x.cause, x.exc if x in again else None) if y is not None]
        reads = [names_in(x, ast.Load).count(handler.name or "") for x in (handler.body, unread)]
        return Caught(tuple(classes), reads[0] > reads[1] or bool(again) and any(w.caught.is_read for w in ways))


def kept_name(handler: ast.ExceptHandler) -> str:
    """The name for what the program keeps of the exception that a handler catches."""
    return hidden("caught", handler)  # type: ignore[arg-type]


def _raise_here(tried: ast.Try, which: int) -> Callable[[ast.stmt, ast.expr], list[ast.stmt]]:
    def leave(at: ast.stmt, kept: ast.expr) -> list[ast.stmt]:
        result = RaisedHere(kept, None)
        result.key, result.which = (tried.lineno, tried.col_offset), which
        return [placed(at, result)]

    return leave


def _is_harmless(node: ast.AST) -> bool:
    """Whether an expression does not have to be computed where nothing reads its value."""
    calls = [x for x in every_node(node) if isinstance(x, (ast.Call, ast.NamedExpr))]
    return all(isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in HARMLESS for x in calls)
