"""`try: x = self.encoder(h)` with `except Exit as e:`: exceptions of the model's own classes that a called function raises, or
a `raise` in the `try` itself.

The called function is compiled in place, with its `raise` of such an exception as a `return` of three values of the program:
whether it has raised one, its result, and the exception. Calls elsewhere in a `try`, or in a function that it calls, that raise
such an exception are moved into a `try` of their own from the next round of compiling on (`functions/exceptions.py`). A `raise`
in the `try` itself leaves the body as `break` leaves that of a loop: the `except` is compiled there. Of the exceptions that
Python itself raises only those of lookups are caught (`caught_lookups`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import BOOL
from backends.acrobat.frontend.evaluator.changes.scope import assign
from backends.acrobat.frontend.evaluator.changes.state import assigned
from backends.acrobat.frontend.evaluator.choices.choice import choose
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.scalars.formatting import Shown, shown
from backends.acrobat.frontend.evaluator.statements.caught_lookups import CAUGHT, as_test, fails_by_lookups
from backends.acrobat.frontend.evaluator.statements.merging import merging
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, LEAVING, STATEMENTS, TEXTS, Exits, handles
from backends.acrobat.frontend.kinds import is_object, is_unknown, type_or_none
from backends.acrobat.frontend.specials import CaughtException, Outcome
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.types import is_unassigned
from backends.acrobat.frontend.values import NOTHING, Static, TupleV, Value, unknown

INIT = "give the class an `__init__` that keeps in attributes what is read"
FORM = (
    "exceptions of a class of the model's own are caught by one `except` with the class: `try: x = f(y)`, `except Exit as e:`"
)


@handles(STATEMENTS, ast.Try)
def _try(f: Frame, s: ast.Try) -> None:
    try:
        if (classes := _of_python(f, s)) is not None:
            f.straight([as_test(f, s, classes)])
            return
        cls, call = _class_caught(f, s), _only_call(s)
    except Refused as refused:
        f.problem(s, refused.message, refused.advice)
        f.straight(s.body)  # for the problems in it and the names that it assigns
        return
    if call is None:
        body = [_raising(f, b, s, cls) for b in s.body]
        if any(isinstance(x, RaisedHere) for b in body for x in every_node(b)):
            exits = Exits(unknown, lambda at, value: unknown())  # it is left by what it raises only
            merging(f, s, lambda arm: _followed(f, s, cls, body, exits, arm))
            return
        with _catching(f, cls):
            f.straight(s.body)
        f.straight(s.orelse)
        return
    merging(f, s, lambda arm: _tried(f, s, call, cls, lambda: arm(s.orelse), lambda: arm(s.handlers[0].body)))


@handles(LEAVING, ast.Try)
def _try_leaving(f: Frame, s: ast.Try, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    try:
        if (classes := _of_python(f, s)) is not None:
            return f.value_of([as_test(f, s, classes), *rest], exits)
        cls, call = _class_caught(f, s), _only_call(s)
    except Refused as refused:
        f.problem(s, refused.message, refused.advice)
        return f.value_of([*s.body, *rest], exits)
    if call is None:
        body = [_raising(f, b, s, cls) for b in s.body]
        return _followed(f, s, cls, body, exits, lambda ending: f.value_of([*ending, *rest], exits))
    first, handler = s.body[0], s.handlers[0]

    def caught() -> Value:
        return f.value_of([*handler.body, *rest], exits)

    if isinstance(first, ast.Return):
        return _tried(f, s, call, cls, lambda: unknown(), caught, lambda value: exits.returns(first, value))
    return _tried(f, s, call, cls, lambda: f.value_of([*s.orelse, *rest], exits), caught)


# ---- what a `try` itself raises


class RaisedHere(ast.Raise):
    """A `raise` of an exception that the `try` around it catches. `is_read`: whether the `except` reads the exception."""

    is_read: bool


def _raising(f: Frame, s: Any, tried: ast.Try, cls: type) -> Any:
    """A statement in the `try` `tried`, in which each `raise` of an exception of the class `cls` is replaced by a `RaisedHere`,
    unless it stands in a loop or another `try`."""
    match s:
        case ast.Raise(written) if written is not None and _raises(f, written, cls):
            raised = ast.copy_location(RaisedHere(s.exc, s.cause), s)
            raised.is_read = tried.handlers[0].name in names_in(tried.handlers[0].body)
            return raised
        case ast.If() | ast.With() | ast.Match() | ast.match_case():
            bodies = {k: v for k, v in ast.iter_fields(s) if k in ("body", "orelse", "cases")}
            new = {k: [_raising(f, x, tried, cls) for x in v] for k, v in bodies.items()}
            if new != bodies:
                s = copy(s)
                for name, body in new.items():
                    setattr(s, name, body)
    return s


def _raises(f: Frame, written: ast.expr, cls: type) -> bool:
    """Whether `raise` raises an exception of a class, or of one that is derived from it."""
    with f.trial():
        raised = f.borrowed(written.func if isinstance(written, ast.Call) else written)
    return isinstance(raised, Static) and isinstance(raised.value, type) and issubclass(raised.value, cls)


def _followed(
    f: Frame, s: ast.Try, cls: type, body: Sequence[ast.stmt], exits: Exits, ends: Callable[[Sequence[ast.stmt]], Value]
) -> Value:
    """The value of a `try` with this body. `ends` compiles its `else`, or its `except`, and what follows."""
    around, handler = f.catching, s.handlers[0]

    def outside(work: Any) -> Any:
        """`work`, which compiles what stands outside of the `try`."""

        def run(*given: Any) -> Value:
            inside, f.catching = f.catching, around
            try:
                return work(*given)  # type: ignore[no-any-return]
            finally:
                f.catching = inside

        return run if work is not None else None

    def caught(error: Value) -> Value:
        if handler.name is not None:
            f.rebind(handler.name, error)
        return ends(handler.body)

    ways = [lambda: ends(s.orelse), exits.returns, exits.breaks, exits.continues, caught]
    with _catching(f, cls):
        return f.value_of(body, Exits(*map(outside, ways)))


@handles(LEAVING, RaisedHere)
def _raised_here(f: Frame, s: RaisedHere, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    assert s.exc is not None and exits.raises is not None
    made = s.exc if isinstance(s.exc, ast.Call) else ast.copy_location(ast.Call(s.exc, [], []), s)
    cls: Any = f.borrowed(made.func)
    if not isinstance(cls.value.__init__, FunctionType):
        changes = any(isinstance(x, (ast.Call, ast.NamedExpr)) for a in made.args for x in every_node(a))
        given = [f.expression(a) for a in made.args] if s.is_read or changes else []
        return exits.raises(CaughtException(cls.value, TupleV(tuple(given))))
    return exits.raises(f.expression(made))


@handles(ATTRIBUTES, CaughtException)
def _of_exception(f: Frame, node: ast.AST, value: CaughtException, name: str) -> Value:
    if name == "args":
        return value.args
    raise Refused(f"an exception of the class `{value.cls.__name__}` keeps nothing but its arguments", INIT)


@handles(TEXTS, CaughtException)
def _text_of_exception(f: Frame, value: CaughtException, name: str) -> Value | None:
    """`str(e)`: the text of the only argument. Raises Refused for other texts."""
    if name != "__str__" or value.cls.__str__ is not BaseException.__str__ or len(value.args.items) > 1:
        raise Refused("of an exception without `__init__` the text is that of one argument", "read its `args`")
    return shown(f, Shown(value.args.items[0], conversion="s")) if value.args.items else Static("")


# ---- what is caught


def _caught(f: Frame, s: ast.Try) -> Value | None:
    """What the only `except` of a `try` names; None where there are several, or it names nothing."""
    written = s.handlers[0].type if len(s.handlers) == 1 else None
    return f.borrowed(written) if written is not None else None


def _of_python(f: Frame, s: ast.Try) -> Any:
    """The exceptions that a `try` catches, a class or a tuple of classes, if Python itself raises them; else None."""
    kind = _caught(f, s)
    catches_all = len(s.handlers) == 1 and (s.handlers[0].type is None or kind == Static(Exception))
    if catches_all and fails_by_lookups(s.body):
        return CAUGHT
    if isinstance(kind, TupleV):
        kind = Static(tuple(x.value if isinstance(x, Static) else None for x in kind.items))
    classes = kind.value if isinstance(kind, Static) else ()
    every = classes if isinstance(classes, tuple) else (classes,)
    return classes if every and all(getattr(cls, "__module__", "") == "builtins" for cls in every) else None


def _class_caught(f: Frame, s: ast.Try) -> type:
    """The class of the exceptions that a `try` catches. Raises Refused for other forms."""
    kind = _caught(f, s)
    if not s.finalbody and isinstance(kind, Static) and isinstance(kind.value, type) and issubclass(kind.value, Exception):
        return kind.value
    raise Refused("this `try` is not in the language", FORM)


def _only_call(s: ast.Try) -> ast.Call | None:
    """The call that is the only content of a `try`; None if it contains more."""
    match s.body:
        case [ast.Assign([_], ast.Call() as call) | ast.Expr(ast.Call() as call) | ast.Return(ast.Call() as call)]:
            return call
    return None


@contextmanager
def _catching(f: Frame, cls: type, call: ast.Call | None = None) -> Iterator[None]:
    """A context for compiling the content of a `try`: a call whose exceptions are caught, or else something that must not raise
    any. A call in it that does is noted, and is moved into a `try` of its own in the next round of compiling."""
    before, f.catching = f.catching, (call, cls, *filter(None, f.catching[1:]))
    try:
        yield
    finally:
        f.catching = before


def _tried(
    f: Frame,
    s: ast.Try,
    call: ast.Call,
    cls: type,
    ends: Callable[[], Value],
    caught: Callable[[], Value],
    returns: Callable[[Value], Value] | None = None,
) -> Value:
    """The value of a `try`: `ends()` after its assignments, or `returns` of its result; `caught()` if an exception was
    raised."""
    first, name = s.body[0], s.handlers[0].name
    with _catching(f, cls, call):
        result = f.expression(call)
    f.owned -= {c for x in every_node(call) if isinstance(x, ast.Name) for c in claims(x.id)}

    def went_well(value: Value) -> Value:
        if returns is not None:
            return returns(value)
        if isinstance(first, ast.Assign):
            assign(f, first.targets[0], value)
        return ends()

    def was_raised(error: Value) -> Value:
        if name is not None:
            f.rebind(name, error)
            if not is_object(error) and not is_unknown(error) and not is_hidden(name):
                f.env.pop(name)
                f.poisoned[name] = f"is an exception of the class `{cls.__name__}`, which keeps nothing", INIT
        return caught()

    if not isinstance(result, Outcome):
        return went_well(result)
    return choose(
        f,
        s,
        result.raised if isinstance(result.raised, Static) else f.host("eq", [result.raised, Static(1)], BOOL),
        lambda: was_raised(_value_on_way(f, call, result.error, name or "error")),
        lambda: went_well(_value_on_way(f, call, result.value, "result")),
    )


def _value_on_way(f: Frame, node: ast.expr, value: Value, name: str) -> Value:
    """A value that only one of the two ways out of a call has (its result, or the error that it raised), read on that way."""
    if value is NOTHING or is_unknown(value):
        return unknown()
    return assigned(f, node, value, name) if is_unassigned(type_or_none(value)) else value
