"""`try` with `except` and `finally`.

Exceptions of the model's own classes reach their `except` as `break` reaches the end of a loop: what follows is compiled where
they are raised (`CaughtTry`, `RaisedHere`). A call that may raise one stands alone in its statement, and its outcome says
whether it has (`CallTried`). All of these are made of the source in `functions/exceptions.py`.

A `try` that catches exceptions of Python's own is a test whether a lookup would fail, where it begins with one
(`caught_lookups`). Any other is compiled like those of the model's own from the next round on, with a test before each lookup
that may raise what is caught (`LookupsTried`). It is refused if nothing in it is known to raise that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import BOOL
from backends.acrobat.frontend.evaluator.changes.new_claims import own
from backends.acrobat.frontend.evaluator.changes.scope import assign
from backends.acrobat.frontend.evaluator.changes.state import assigned
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.containers.missing_keys import hand_on
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable
from backends.acrobat.frontend.evaluator.scalars.formatting import Shown, shown
from backends.acrobat.frontend.evaluator.statements.caught_lookups import CAUGHT, as_test, fails_by_lookups, lookups_fail
from backends.acrobat.frontend.evaluator.statements.merging import merging
from backends.acrobat.frontend.evaluator.syntax.bodies import placed
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes
from backends.acrobat.frontend.evaluator.syntax.raised import CallTried, CaughtTry, LookupsTried, RaisedHere, classes_of
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, LEAVING, STATEMENTS, TEXTS, Exits, handles
from backends.acrobat.frontend.kinds import is_object, is_unknown, type_or_none
from backends.acrobat.frontend.specials import CaughtException
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.types import UNASSIGNED, is_unassigned
from backends.acrobat.frontend.values import NOTHING, Static, TupleV, Value, unknown

FORM = "exceptions of classes of the model's own are caught by the names of the classes: `except Exit as e:`"


@handles(STATEMENTS, ast.Try)
def _try(f: Frame, s: ast.Try) -> None:
    if not s.handlers:
        f.straight([*s.body, *s.orelse, *s.finalbody])
        return
    try:
        test = _as_test(f, s)
    except Refused as refused:
        _not_as_test(f, s, refused)
        test = None
    f.straight(s.body if test is None else [test])  # of a problem, for those in it and the names that it assigns


@handles(LEAVING, ast.Try)
def _try_leaving(f: Frame, s: ast.Try, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    if not s.handlers:
        return _with_end(f, s, rest, exits)
    try:
        return f.value_of([_as_test(f, s), *rest], exits)
    except Refused as refused:
        _not_as_test(f, s, refused)
        return f.value_of([*s.body, *rest], exits)


def _not_as_test(f: Frame, s: ast.Try, refused: Refused) -> None:
    """Have a `try` that is not compiled as a test followed by each `raise` in it, in the next round; a problem if it is."""
    if not f.program.follow_raises(f.file, (s.lineno, s.col_offset), refused):
        f.problem(s, refused.message, refused.advice)


def _with_end(f: Frame, s: ast.Try, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    """The value of a body with a `try` that has only a `finally`, whose statements are compiled at each way out."""

    def then(leave: Any) -> Any:
        return None if leave is None else lambda *given: f.value_of(s.finalbody, replace(exits, fall=lambda: leave(*given)))

    def returns(at: ast.AST, value: Value) -> Value:
        if changeable(f, type_or_none(value)):
            f.owned.clear()  # what is returned is seen elsewhere while the `finally` runs
        elif isinstance(at, ast.Return) and at.value is not None:
            f.owned -= {c for name in names_in(at.value) for c in claims(name)}
        return then(exits.returns)(at, value)  # type: ignore[no-any-return]

    ways = then(exits.breaks), then(exits.continues), then(exits.raises)
    return f.value_of([*s.body, *s.orelse], Exits(lambda: f.value_of([*s.finalbody, *rest], exits), returns, *ways))


# ---- exceptions of the model's own


@handles(STATEMENTS, CaughtTry)
def _caught(f: Frame, s: CaughtTry) -> None:
    if any(isinstance(x, RaisedHere) and x.key == s.key for b in s.body for x in every_node(b)):
        exits = Exits(unknown, lambda at, value: unknown())  # it is left by what it raises only
        merging(f, s, lambda arm: _followed(f, s, exits, arm))
        return
    with _catching(f, s):
        f.straight(s.body)
    _refuse_unreached(f, s)
    f.straight(s.orelse)


@handles(LEAVING, CaughtTry)
def _caught_leaving(f: Frame, s: CaughtTry, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    return _followed(f, s, exits, lambda ending: f.value_of([*ending, *rest], exits))


@contextmanager
def _catching(f: Frame, s: CaughtTry) -> Iterator[None]:
    """A context for compiling what stands in a `try`."""
    before, f.catching = f.catching, (*classes_of(s.caught), *f.catching)
    try:
        yield
    finally:
        f.catching = before


def _followed(f: Frame, s: CaughtTry, exits: Exits, ends: Callable[[Sequence[ast.stmt]], Value]) -> Value:
    """The value of a body with this `try`. `ends` compiles its `else`, or an `except`, and what follows."""
    around, reached = f.catching, False

    def outside(work: Any) -> Any:
        """`work`, which compiles what stands outside of the `try`."""

        def run(*given: Any) -> Value:
            inside, f.catching = f.catching, around
            try:
                return work(*given)  # type: ignore[no-any-return]
            finally:
                f.catching = inside

        return run if work is not None else None

    def raises(at: RaisedHere, kept: Value) -> Value:
        nonlocal reached
        if at.key != s.key:
            assert exits.raises is not None
            return exits.raises(at, kept)
        reached = True
        handler, caught = s.handlers[at.which], s.caught[at.which]
        if caught.is_read:
            f.rebind(hidden("caught", handler), kept)  # type: ignore[arg-type]
            if handler.name is not None:
                f.rebind(handler.name, _exception(f, caught.classes[0], kept))
        return ends(handler.body)

    ways = [lambda: ends(s.orelse), exits.returns, exits.breaks, exits.continues, raises]
    with _catching(f, s):
        value = f.value_of(s.body, Exits(*map(outside, ways)))
    if not reached:
        _refuse_unreached(f, s)
    return value


def _refuse_unreached(f: Frame, s: CaughtTry) -> None:
    """A problem of a `try` that catches exceptions of Python's own, none of which is raised by what is followed, once all is
    known of that."""
    refused = f.program.followed_tries.get((f.file, s.key))
    if refused is not None and not f.trials and not f.program.incomplete:
        f.problem(s, refused.message, refused.advice)


def _exception(f: Frame, cls: type[Exception], kept: Value) -> Value:
    """A caught exception, of which the program keeps an object, or the arguments if its class has no `__init__`."""
    if is_object(kept) or is_unknown(kept):
        return kept
    parts = f.components(kept)
    return unknown() if parts is None else CaughtException(cls, TupleV(tuple(parts)))


@handles(LEAVING, RaisedHere)
def _raised_here(f: Frame, s: RaisedHere, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    assert s.exc is not None
    kept = f.expression(s.exc)
    if exits.raises is None:
        return f.problem(s, "an exception that is caught is raised here in a way that is not followed")
    return exits.raises(s, kept)


@handles(LEAVING, LookupsTried)
def _lookups_tried(f: Frame, s: LookupsTried, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    tests = list[ast.stmt]()
    for handler, caught in zip(s.handlers, s.caught, strict=True):
        if (test := lookups_fail(f, s.tried, caught.classes)) is not None:
            if caught.is_read:
                what = "an exception of Python's own is read here, which the language has no value for"
                return f.problem(s.tried, what, "leave out the name behind `as`")
            tests.append(placed(s.tried, ast.If(test, handler.body, [])))
    return f.value_of([*tests, *rest], exits)


@handles(LEAVING, CallTried)
def _call_tried(f: Frame, s: CallTried, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    first = s.body[0]
    assert isinstance(first, (ast.Assign, ast.Expr)) and isinstance(first.value, ast.Call)
    target, call = first.targets[0] if isinstance(first, ast.Assign) else None, first.value
    before = f.tried, f.tried_for
    f.tried, f.tried_for = call, s.caught
    f.outcomes.discard(call)
    try:
        if target is not None:
            hand_on(f, call)
        outcome = f.expression(call)
    finally:
        f.tried, f.tried_for = before
    parts = f.components(outcome) if call in f.outcomes else None

    def went_well(result: Value) -> Value:
        if target is not None:
            assign(f, target, result)
            whole = [ast.Name("", ast.Store()), target, *(ast.Name("", ast.Store()) for _ in s.handlers)]
            own(f, target if parts is None else ast.Tuple(whole, ast.Store()), call)
        return f.value_of(rest, exits)

    if parts is None:
        return went_well(outcome)
    which, result, *errors = parts
    raised = [i for i, error in enumerate(errors) if not _is_never(error)]

    def raises(i: int) -> Value:
        handler = s.handlers[i]
        assert handler.name is not None
        f.rebind(handler.name, _on_way(f, call, errors[i], "error"))
        return f.value_of(handler.body, exits)

    def way(k: int) -> Value:
        if k == len(raised):
            return went_well(_on_way(f, call, result, "result"))
        if k == len(raised) - 1 and _is_never(result):
            return raises(raised[k])
        number = raised[k] + 1
        is_this = Static(which.value == number) if isinstance(which, Static) else f.host("eq", [which, Static(number)], BOOL)
        return choose(f, s, is_this, lambda: raises(raised[k]), lambda: way(k + 1))

    return way(0)


def _is_never(part: Value) -> bool:
    """Whether a call never ends in the way that gives it this part of its outcome."""
    return part is NOTHING or type_or_none(part) is UNASSIGNED


def _on_way(f: Frame, node: ast.expr, part: Value, name: str) -> Value:
    """A part of an outcome, on the only way out of the call that has it."""
    if _is_never(part):
        return fail(f, "RuntimeError: a call has ended in a way that it never does")
    return assigned(f, node, part, name) if is_unassigned(type_or_none(part)) else part


# ---- what was caught


@handles(ATTRIBUTES, CaughtException)
def _of_exception(f: Frame, node: ast.AST, value: CaughtException, name: str) -> Value:
    if name == "args":
        return value.args
    advice = "give the class an `__init__` that keeps in attributes what is read"
    raise Refused(f"an exception of the class `{value.cls.__name__}` keeps nothing but its arguments", advice)


@handles(TEXTS, CaughtException)
def _text_of_exception(f: Frame, value: CaughtException, name: str) -> Value | None:
    """`str(e)`: the text of the only argument. Raises Refused for other texts."""
    if name != "__str__" or value.cls.__str__ is not BaseException.__str__ or len(value.args.items) > 1:
        raise Refused("of an exception without `__init__` the text is that of one argument", "read its `args`")
    return shown(f, Shown(value.args.items[0], conversion="s")) if value.args.items else Static("")


# ---- exceptions of Python's own


def _as_test(f: Frame, s: ast.Try) -> ast.stmt:
    """The test that a `try` becomes which catches exceptions of Python's own. Raises Refused for other forms."""
    if any(isinstance(x, ast.Raise) for b in s.body for x in own_nodes(b)):
        raise Refused("there is a `raise` in this `try`", FORM)
    written = s.handlers[0].type if len(s.handlers) == 1 else None
    kind = f.borrowed(written) if written is not None else None
    catches_all = len(s.handlers) == 1 and (written is None or kind == Static(Exception))
    if catches_all and fails_by_lookups(s.body):
        return as_test(f, s, CAUGHT)
    if isinstance(kind, TupleV):
        kind = Static(tuple(x.value if isinstance(x, Static) else None for x in kind.items))
    classes = kind.value if isinstance(kind, Static) else ()
    every = classes if isinstance(classes, tuple) else (classes,)
    if every and all(getattr(cls, "__module__", "") == "builtins" for cls in every):
        return as_test(f, s, classes)
    raise Refused("this `try` is not in the language", FORM)
