"""Statements of the source. A body that cannot be left early is compiled statement by statement, and the names that it assigns
stay in scope. A body that `return`, `break` or `continue` may leave is compiled as an expression, by continuations (`Exits`):
the statements after a branch are compiled in each arm that goes on, or once if these would be many (`ways.py`)."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType

from backends.acrobat import markers
from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.changing_methods import LIST_CHANGES, SET_CHANGES
from backends.acrobat.frontend.evaluator.changes import container_methods, list_changes
from backends.acrobat.frontend.evaluator.changes.scope import assign, changed_in
from backends.acrobat.frontend.evaluator.changes.state import cleared, given_away, settle
from backends.acrobat.frontend.evaluator.choices.choice import optional
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.choices.returned import kept_apart
from backends.acrobat.frontend.evaluator.conditions.conditions import decide
from backends.acrobat.frontend.evaluator.containers.containers import kind_of
from backends.acrobat.frontend.evaluator.containers.missing_keys import hand_on
from backends.acrobat.frontend.evaluator.containers.shared_lists import kind_inside
from backends.acrobat.frontend.evaluator.expressions.markers import PURE, marker_of
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.derived_values import has_own_method
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.named_iterators import one_by_one
from backends.acrobat.frontend.evaluator.lists.sizes import sizes_after
from backends.acrobat.frontend.evaluator.loops import by_turns, loops, unrolling
from backends.acrobat.frontend.evaluator.loops.each_class import for_each_class
from backends.acrobat.frontend.evaluator.loops.laziness import put_in_at_once
from backends.acrobat.frontend.evaluator.loops.short_zips import guarded
from backends.acrobat.frontend.evaluator.loops.some_modules import over_some
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.rewriting.dict_calls import as_display
from backends.acrobat.frontend.evaluator.statements import contexts, ways
from backends.acrobat.frontend.evaluator.statements.failures import raised_if
from backends.acrobat.frontend.evaluator.statements.merging import Body, merging
from backends.acrobat.frontend.evaluator.statements.patterns import match_rows
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, ends, leaves, raises, tests_none
from backends.acrobat.frontend.evaluator.tables import LEAVING, STATEMENTS, Exits, handles
from backends.acrobat.frontend.kinds import is_unknown, nothing_known, type_or_none, variable_of
from backends.acrobat.frontend.syntax_nodes import names_in
from backends.acrobat.frontend.values import NOTHING, Static, TupleV, Value, guess, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import walk

# ---- expressions that stand as statements


@handles(STATEMENTS, ast.Pass, ast.Nonlocal)
def _nothing(f: Frame, s: ast.stmt) -> None:
    pass


@handles(STATEMENTS, ast.Import, ast.ImportFrom)
def _import(f: Frame, s: ast.Import | ast.ImportFrom) -> None:
    """An import inside of a function: what it names is a constant, as what the file imports is."""
    package = f.namespace.get("__package__")
    try:
        for alias in s.names:
            if isinstance(s, ast.Import):
                whole = importlib.import_module(alias.name)
                value = whole if alias.asname else sys.modules[alias.name.partition(".")[0]]
                f.rebind(alias.asname or alias.name.partition(".")[0], Static(value))
            else:
                whole = importlib.import_module("." * s.level + (s.module or ""), package)
                f.rebind(alias.asname or alias.name, f.program.wrap(getattr(whole, alias.name)))
    except (ImportError, AttributeError) as error:
        f.problem(s, f"{type(error).__name__}: {error}")
        for alias in s.names:
            f.rebind(alias.asname or alias.name.partition(".")[0], unknown())


@handles(STATEMENTS, ast.Expr)
def _expression(f: Frame, s: ast.Expr) -> None:
    match s.value:
        case ast.Constant():
            return
        case ast.Call(ast.Attribute(owner, "clear"), [], []) if assignment := cleared(f, s, owner):
            f.straight(assignment)
            return
        case ast.Call(ast.Attribute(owner, name), args, []) if name in LIST_CHANGES and _changes(f, owner, name):
            put_in_at_once(f, owner, args)
            list_changes.method(f, s, owner, name, args)
            return
        case ast.Call(ast.Attribute(owner, name), args, []) if name in SET_CHANGES and _is_set_or_dict(f, owner, name=name):
            put_in_at_once(f, owner, args)
            container_methods.change(f, s, owner, name, args)
            return
        case ast.Call(ast.Attribute(owner, "update"), [] | [_], keywords) as call if _is_set_or_dict(f, owner, True):
            given = [as_display(call, CompiledNode(Static(dict)))] if keywords else call.args
            put_in_at_once(f, owner, given)
            container_methods.change(f, s, owner, "update", given)
            return
    changed, bound = len(f.builder.instead), len(f.builder.bindings)
    names = dict(f.env)
    before, f.unused_expression = f.unused_expression, s.value
    v = f.expression(s.value)
    f.unused_expression = before
    if isinstance(s.value, ast.Call) and any(f.env.get(k) is not x for k, x in names.items()):
        return  # its effect is that it changes a list
    if len(f.builder.instead) > changed:
        return  # its effect is that it changes a tensor in place
    if any(isinstance(e, n.Call) for _, value in f.builder.bindings[bound:] for e in walk(value)):
        return  # a function of the model, whose effect may be that it raises an error
    marker = marker_of(f, s.value)
    if marker is markers.phase and not nothing_known(v):
        f.problem(s, "the result of `phase` is not used, so no work is of its phase", PURE)
    elif marker is not markers.parallel and not nothing_known(v) and not f.program.incomplete:  # a later round may know one
        f.problem(s, "this statement has no effect", "the language is pure: assign the value, or leave it out")


def _changes(f: Frame, owner: ast.expr, name: str) -> bool:
    """Whether a method with the name of one that changes lists may be such a method: `owner` is no module, and no object of a
    class; where it is no variable, no object of a class that has a method `name`."""
    settle(f, owner)
    if isinstance(owner, ast.Name) and owner.id in f.env:
        value = f.env[owner.id]
        is_object = isinstance(f.without_none(type_or_none(value)), DataT) and kind_inside(f, value) != "list"
        return getattr(value, "python_object", None) is None and not is_object
    if not isinstance(owner, (ast.Attribute, ast.Subscript)):
        return True
    with f.trial():
        classes = f.program.datatypes.classes_of(type_or_none(f.borrowed(owner)))
    return not classes or not all(isinstance(getattr(c, name, None), FunctionType) for c in classes)


def _is_set_or_dict(f: Frame, owner: ast.expr, of_names: bool = False, name: str = "update") -> bool:
    """Whether `owner` is a set or a dictionary: a variable, or an item or attribute of one. With `of_names` dictionaries whose
    keys are names count, too. Those of a derived class that has its own method `name` do not."""
    if isinstance(owner, ast.Name):
        settle(f, owner)
        value = f.env.get(owner.id)
        if value is not None and optional(f, value) is not None:
            value = guess(optional(f, value))
        is_one = value is not None and bool(kind_of(value) or kind_inside(f, value) in ("set", "dict"))
        is_one = is_one and (name == "update" or not has_own_method(f, value, name))
        return is_one or of_names and value is not None and bool(records_of(f, value))
    if not isinstance(owner, (ast.Subscript, ast.Attribute)):
        return False
    with f.trial():
        value = opened(f, owner, f.borrowed(owner))
    if name != "update" and has_own_method(f, value, name):
        return False
    return bool(kind_of(value)) or is_unknown(value) or of_names and bool(records_of(f, value))


# ---- statements with bodies


@handles(STATEMENTS, ast.With)
def _with(f: Frame, s: ast.With) -> None:
    if contexts.enter(f, s):
        f.straight(s.body)


@handles(STATEMENTS, ast.If)
def _if(f: Frame, s: ast.If) -> None:
    if raises(s.body) and not s.orelse and not tests_none(s.test):
        raised_if(f, s)
        return
    merging(f, s, lambda arm: _chain(f, s, arm))


def _chain(f: Frame, s: ast.If, arm: Callable[[Body], Value]) -> Value:
    """The value of an `if` with all its `elif`, whose bodies `arm` compiles. They are one statement here: what is merged by
    itself is compiled twice, and `elif` in `elif` in `elif` would be eight times."""

    def others() -> Value:
        match s.orelse:
            case [ast.If() as further] if not leaves(further) and (further.orelse or not raises(further.body)):
                f.program.work.note(f.file, further)
                with f.at(further):
                    return _chain(f, further, arm)
        return arm(s.orelse)

    return decide(f, s, s.test, lambda: arm(s.body), others)


@handles(STATEMENTS, ast.Match)
def _match(f: Frame, s: ast.Match) -> None:
    merging(f, s, lambda arm: match_rows(f, s, arm, lambda: arm([])))


FEW = 4
"""So many rounds of an unrolled loop with `continue` are compiled once for each way through those before them, where more is
known on one of the ways, such as a value that is None. Otherwise, and of more rounds, each is compiled once."""


@handles(STATEMENTS, ast.For, ast.While)
def _loop(f: Frame, s: ast.For | ast.While) -> None:
    if (test := for_each_class(f, s)) is not None:
        _if(f, test)
        return
    xs, s = _iterated(f, s)
    with unrolling.walking_over(f, s):
        sizes = {} if isinstance(xs, TupleV) else sizes_after(f, s, changed_in)
        with by_turns.checked(f, s):
            _loop_over(f, s, xs)
        for name, size in sizes.items():
            if variable_of(f.env.get(name)):
                f.sizes[variable_of(f.env[name])] = size


def _loop_over(f: Frame, s: ast.For | ast.While, xs: Value | None) -> None:
    """Compile a loop over what it iterates, which `_iterated` gives."""
    if not isinstance(xs, TupleV):
        loops.loop(f, s, xs)
        return
    done, begun = 0, False
    while not begun and done < len(xs.items) and not any(map(ends, s.body)):
        assign(f, s.target, xs.items[done])  # type: ignore[union-attr]
        begun = not _round(f, s, alike=len(xs.items) <= FEW)
        done += not begun
    if rest := xs.items[done:]:
        merging(f, s, lambda arm: _unrolled(f, s, rest, Exits(lambda: arm([]), lambda at, value: unknown()), begun))


def _round(f: Frame, s: ast.For | ast.While, alike: bool) -> bool:
    """Compile the body of a loop for one round, which `continue` may end. With `alike`, if more would be known on one way
    through the rest of the body than on others, only the statements before the first that may end the round are compiled.
    Returns whether all were compiled."""
    first = _first_leaving(s)
    f.straight(s.body[:first])
    if first == len(s.body):
        return True

    def round(arm: Callable[[Body], Value]) -> Value:
        return f.value_of(s.body[first:], Exits(lambda: arm([]), lambda at, value: unknown(), continues=lambda: arm([])))

    return merging(f, s, round, alike)


def _first_leaving(s: ast.For | ast.While) -> int:
    """How many statements of a loop's body stand before the first that may leave it."""
    return next((i for i, b in enumerate(s.body) if leaves(b)), len(s.body))


# ---- statements that may leave their body


@handles(LEAVING, ast.Return)
def _return(f: Frame, s: ast.Return, rest: Body, exits: Exits) -> Value:
    owned = set(f.owned)
    if len(f.program.entered) > 1:  # otherwise it is the model's result
        hand_on(f, s.value)
    result = f.expression(s.value, "result") if s.value is not None else Static(None)
    f.owned = owned - given_away(f, owned)  # of other names no statement that could change a list follows
    return exits.returns(s, kept_apart(f, result))


@handles(LEAVING, ast.Break)
def _break(f: Frame, s: ast.Break, rest: Body, exits: Exits) -> Value:
    return exits.breaks() if exits.breaks is not None else f.problem(s, "`break` is not in the language here")


@handles(LEAVING, ast.Continue)
def _continue(f: Frame, s: ast.Continue, rest: Body, exits: Exits) -> Value:
    return exits.continues() if exits.continues is not None else f.problem(s, "`continue` is not in the language here")


@handles(LEAVING, ast.With)
def _with_leaving(f: Frame, s: ast.With, rest: Body, exits: Exits) -> Value:
    return f.value_of([*s.body, *rest], exits) if contexts.enter(f, s) else unknown()


@handles(LEAVING, ast.If)
def _if_leaving(f: Frame, s: ast.If, rest: Body, exits: Exits) -> Value:
    if (arms := ways.going_on([s])) > 1 and arms * ways.going_on(rest) > ways.MANY:
        value = ways.merged(f, s, lambda ends: _arms(f, s, [], ends), replace(exits, fall=lambda: f.value_of(rest, exits)))
        if value is not None:
            return value
    return _arms(f, s, rest, exits)


def _arms(f: Frame, s: ast.If, rest: Body, exits: Exits) -> Value:
    """An `if` that may leave its body, with the statements `rest` behind it in each arm that goes on."""
    body, orelse = [*s.body, *rest], [*s.orelse, *rest]
    _note_unassigned(f, s, rest)
    return decide(f, s, s.test, lambda: f.value_of(body, exits), lambda: f.value_of(orelse, exits))


def _note_unassigned(f: Frame, s: ast.If | ast.Match, rest: Body) -> None:
    """Note of the names that some arms of a statement assign, and the statements behind it read, that they have no value yet:
    reading one is an error of the instance on the ways on which none was assigned, such as that of a `match` without a case for
    the value."""
    without = [name for name in assigned([s]) if name not in f.env and name not in f.poisoned]
    read = {*names_in(rest, ast.Load)} if without else set()
    for name in without:
        if name in read:
            f.env[name] = NOTHING
            f.unassigned_in_arms.add(name)


@handles(LEAVING, ast.Match)
def _match_leaving(f: Frame, s: ast.Match, rest: Body, exits: Exits) -> Value:
    _note_unassigned(f, s, rest)
    return match_rows(f, s, lambda body: f.value_of([*body, *rest], exits), lambda: f.value_of(rest, exits))


@handles(LEAVING, ast.For, ast.While)
def _loop_leaving(f: Frame, s: ast.For | ast.While, rest: Body, exits: Exits) -> Value:
    if (test := for_each_class(f, s)) is not None:
        return _if_leaving(f, test, rest, exits)
    xs, s = _iterated(f, s)
    with unrolling.walking_over(f, s) as walked, by_turns.fields_checked(f, s) as end:

        def behind() -> Value:
            end()
            f.owned -= walked
            return f.value_of(rest, exits)

        if isinstance(xs, TupleV):
            return _unrolled(f, s, xs.items, Exits(behind, exits.returns))
        return loops.loop_with_return(f, s, xs, exits.returns, behind)


def _iterated(f: Frame, s: ast.For | ast.While) -> tuple[Value | None, ast.For | ast.While]:
    """What a `for` loop iterates, as `unrolling.iterated`, None for `while`; and the loop as it is compiled."""
    if s.orelse:
        f.problem(s, "`else` of a loop is not in the language", "set a flag before `break`")
    if isinstance(s, ast.For):
        by_turns.left_early(f, s)
        s = one_by_one(f, s)
    if isinstance(s, ast.For):
        return over_some(f, s) or guarded(f, s) or (unrolling.iterated(f, s), s)
    return None, loops.tested_in_body(f, s)


def _unrolled(f: Frame, s: ast.For | ast.While, items: Sequence[Value], exits: Exits, begun: bool = False) -> Value:
    """The value of a loop over a tuple or module list: its body, which may be left early, is compiled once for each item.
    `begun`: for the first item, the statements before the first that may leave the body are compiled already."""
    assert isinstance(s, ast.For)
    many = ways.going_on(s.body)

    def from_item(i: int) -> Value:
        if i == len(items):
            return exits.fall()
        if i > 0 or not begun:
            assign(f, s.target, items[i])
        body = s.body[_first_leaving(s) :] if i == 0 and begun else s.body
        go_on = partial(from_item, i + 1)
        round = replace(exits, fall=go_on, continues=go_on, breaks=exits.fall)
        value = ways.merged(f, s, lambda ends: f.value_of(body, ends), round) if many ** (len(items) - i) > ways.MANY else None
        return f.value_of(body, round) if value is None else value

    return from_item(0)
