"""Calls: which function is called, its arguments, and to which lists of the caller its result may refer."""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.callables import nested
from backends.acrobat.frontend.evaluator.callables.callbacks import with_captures
from backends.acrobat.frontend.evaluator.changes import list_changes, record_changes
from backends.acrobat.frontend.evaluator.changes.indices import found_before, in_source_order
from backends.acrobat.frontend.evaluator.containers.any_order import over_set
from backends.acrobat.frontend.evaluator.containers.missing_keys import hand_arguments_on, note_seen_whole
from backends.acrobat.frontend.evaluator.expressions.callees import called
from backends.acrobat.frontend.evaluator.expressions.given_by_name import given_by_name, with_several_sets_of_names
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims, deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.called_sequences import note_call
from backends.acrobat.frontend.evaluator.lists.iterator_sources import gives_iterator
from backends.acrobat.frontend.evaluator.lists.named_iterators import fields_read_lazily
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.lists.zipping import unzipped
from backends.acrobat.frontend.evaluator.loops.laziness import is_lazy, iterated, note_taken_at_once
from backends.acrobat.frontend.evaluator.loops.plain_keys import refuse_changed_keys
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.objects.referenced import is_referenced
from backends.acrobat.frontend.evaluator.ownership.elements import note_given
from backends.acrobat.frontend.evaluator.ownership.fresh import calls_own_function
from backends.acrobat.frontend.evaluator.ownership.keeping import is_tensor_of_numbers
from backends.acrobat.frontend.evaluator.ownership.lending import changeable_types, seen_twice, taken_in
from backends.acrobat.frontend.evaluator.ownership.ownership import (
    LOOKING,
    changeable,
    has_plain_items,
    holds_parts,
    seen_inside,
)
from backends.acrobat.frontend.evaluator.ownership.sharing import may_share
from backends.acrobat.frontend.evaluator.syntax.order import ListPath
from backends.acrobat.frontend.evaluator.tables import AFTER_CALLS, EXPRESSIONS, OWNERS, WRITTEN, handles, lookup
from backends.acrobat.frontend.kinds import (
    is_array,
    is_list,
    is_object,
    is_plain,
    is_unknown,
    nothing_known,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.types import contains_unknown, is_iterator_type
from backends.acrobat.frontend.values import Dyn, Held, Static, Value, unknown


@dataclass
class ArgumentsAsWritten:
    """The arguments of a call: each as written, with the values that it gives; a starred one may give several."""

    by_position: list[tuple[ast.expr, Sequence[Value]]]
    by_name: dict[str, Value]

    def values(self) -> list[Value]:
        """The arguments by position."""
        return [v for _, parts in self.by_position for v in parts]

    def is_number_unknown(self, node: ast.Call) -> bool:
        """Whether nothing is known yet of the value after a `*`, so that the number of arguments is unknown."""
        starred = {a.value for a in node.args if isinstance(a, ast.Starred)}
        return any(written in starred and any(map(nothing_known, parts)) for written, parts in self.by_position)

    def each_with_value(self, node: ast.Call) -> list[tuple[ast.expr, Value]]:
        """Each argument as written with its value, but for those of `**`."""
        named = [(k.value, self.by_name[k.arg]) for k in node.keywords if k.arg is not None]
        return [*((written, v) for written, parts in self.by_position for v in parts), *named]


@handles(EXPRESSIONS, ast.Call)
def _call(f: Frame, node: ast.Call, hint: str) -> Value:
    result = _result(f, node, hint)
    note_given(f, node, result)
    return result


def _result(f: Frame, node: ast.Call, hint: str) -> Value:
    dropped, as_written = node is f.unused_expression, node
    f.keeping_nothing.discard(as_written)
    if isinstance(node.func, ast.Attribute) and (ordered := in_source_order(f, node.func)) is not node.func:
        node = ast.copy_location(ast.Call(ordered, node.args, node.keywords), node)
    if (one_of_several := with_several_sets_of_names(f, node, hint)) is not None:
        return one_of_several
    callee = f.callees[node] = f.callees[as_written] = f.borrowed(node.func)
    note_taken_at_once(f, node, callee)
    if (special := over_set(f, node, callee, hint)) is not None or (special := _by_form(f, node, callee)) is not None:
        note_call(f, as_written, callee, special)
        return special
    node, seen = nested.written_out(f, node, callee)
    node, given = with_captures(f, node, callee)
    if as_written in f.taken_at_once:
        f.taken_at_once.add(node)
    if as_written in f.by_turns:
        f.by_turns[node] = f.by_turns[as_written]
    if as_written in f.users:
        f.users[node] = f.users[as_written]
    names = {name for name in map(root_of, _operands(node)) if name is not None}
    owned = f.owned.copy()
    displayed = owned & _displayed([*node.args, *(k.value for k in node.keywords)])
    lent = {x for name in names for x in claims(name) if x in owned}
    hand_arguments_on(f, node, callee)
    with f.changes() as by_arguments:
        callee, arguments = _arguments(f, node, callee)
    refuse_changed_keys(f, node, callee, arguments.values(), by_arguments)
    if arguments.is_number_unknown(node):
        f.program.incomplete = True
        return unknown()
    arguments_and_values = arguments.each_with_value(node)
    named = {name: v for name, v in arguments.by_name.items() if name not in (*seen, *given)}
    of_object = [(node.func.value, callee.owner)] if isinstance(callee, Method) and isinstance(node.func, ast.Attribute) else []
    before = f.owned_arguments, f.owned_before
    f.owned_arguments, f.owned_before = lent - seen_twice(f, [*of_object, *arguments_and_values]), owned
    values = {name: f.env[name] for name in (*names, *f.program.carried.tracked) if name in f.env}
    f.claims_kept = set()
    bound, fresh = len(f.builder.bindings), set(f.builder.fresh)
    try:
        with f.program.carried.heard() as heard:
            result = iterated(f, node, callee, lambda: called(f, node, callee, arguments.values(), named, hint))
    finally:
        f.owned_arguments, f.owned_before = before
    if isinstance(callee, Static) and is_lazy(callee.value) or gives_iterator(f, as_written):
        f.read_lazily[as_written] = heard.read
    if heard.written and (met := {key for a in _operands(node) for key in fields_read_lazily(f, a)} & heard.written):
        what = f"the elements of this iterator are computed from {f.shown(min(met)[0])}, which the call changes meanwhile"
        raise Refused(what, "write `list(...)` around the iterator")
    changed = [name for name, v in values.items() if f.env.get(name) is not v]
    if changed and calls_own_function(f, node):
        taken_in(f, changed, arguments_and_values)
    if isinstance(callee, Static) and getattr(callee.value, "__name__", "") in OWNERS and not calls_own_function(f, node):
        f.owned |= displayed
    f.new_parts[as_written] = f.new_parts.get(node, ())
    f.gives_name[as_written] = f.gives_name.get(node, "")
    if node in f.shown_in_result:
        f.shown_in_result[as_written] = f.shown_in_result[node]
    f.new_tensors.discard(as_written)
    f.given_new.discard(as_written)
    if variable_of(result) in f.new_lists:
        if is_array(result):
            f.new_tensors.add(as_written)
        elif deep(variable_of(result)) in f.new_lists:
            f.given_new.add(as_written)
    note_seen_whole(f, as_written, result)
    note_call(f, as_written, callee, result)
    for rule in AFTER_CALLS:
        rule(f, node, callee, result, bound, fresh)
    if _keeps_nothing(f, node, callee, result):
        f.keeping_nothing.add(as_written)
        f.owned |= lent
    elif not dropped and not _is_new(f, node, result):
        _seen_in_result(f, node, callee, result)
    return result


def _is_new(f: Frame, node: ast.Call, result: Value) -> bool:
    """Whether nothing else refers to the result of a call, or to anything that is inside of it."""
    if deep(variable_of(result)) in f.new_lists or node in f.made_alone:
        return True
    parts, t = f.new_parts.get(node, ()), type_or_none(result)
    if not parts or not isinstance(t, TupleT) or len(parts) != len(t.items):
        return False
    return all(new.whole and new.inside or not changeable(f, x) for new, x in zip(parts, t.items, strict=True))


def _operands(node: ast.Call) -> list[ast.expr]:
    """What a call computes from, as written: the owner of the method, and the arguments."""
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return [*owner, *node.args, *(k.value for k in node.keywords)]


def _by_form(f: Frame, node: ast.Call, callee: Value) -> Value | None:
    """The result of a call whose arguments are not simply compiled one after the other; None for all other calls."""
    if callee == Static(zip) and len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and _as_always(node.keywords):
        return unzipped(f, node, f.borrowed(node.args[0].value))
    match callee, node.func:
        case Method(Dyn() as xs, "pop", None), ast.Attribute(owner) if (
            is_list(xs) and len(node.args) <= 1 and not node.keywords
        ):
            at: Value = Static(-1)
            if node.args:
                owner, at = found_before(f, owner, node.args, lambda: f.expression(node.args[0]))
            return list_changes.pop(f, node, owner, at)
        case Method(Dyn(type=ListT(rows=None)), "popleft"), ast.Attribute(owner) if not node.args:
            return list_changes.pop(f, node, owner, Static(0))
        case Method(owner=Dyn(type=DataT()) as whole, name="pop", function=None), ast.Attribute(owner) if records_of(f, whole):
            return record_changes.popped(f, node, owner, whole)
    if is_unknown(callee):
        return unknown()
    written = lookup(WRITTEN, callee.value) if isinstance(callee, Static) else None
    result: Value | None = None if written is None else written(f, node, callee.value)  # type: ignore[union-attr]
    return result


def _arguments(f: Frame, node: ast.Call, callee: Value) -> tuple[Value, ArgumentsAsWritten]:
    """Compile the arguments of a call. Returns them and the callee, which is compiled again if computing an argument has
    changed the object that it is a method of, as in `stack.push(g(stack.pop()))`. Raises Refused."""
    keeps = isinstance(callee, Static) and isinstance(callee.value, type) and dataclasses.is_dataclass(callee.value)
    read = f.expression if keeps else f.borrowed
    before = len(f.moves)
    with f.changes() as changed:
        passed: list[tuple[ast.expr, Sequence[Value]]] = [
            (a.value, _spread(f, a.value)) if isinstance(a, ast.Starred) else (a, [read(a)]) for a in node.args
        ]
        kwargs: dict[str, Value] = {}
        for k in node.keywords:
            named = {k.arg: read(k.value)} if k.arg is not None else given_by_name(f, k.value, read)
            if twice := [name for name in named if name in kwargs]:
                raise Refused(f"`{twice[0]}` is given twice in this call")
            kwargs |= named
        operands = _operands(node)
        if changed and (early := f.read_early(operands)):
            stale = [x for i, x in enumerate(operands) if i in early]
            replaced = {m.path for m in f.moves[before:] if m.how == "="}
            if not all(isinstance(x, ast.Name) and ListPath(x.id) not in replaced for x in stale):
                what = "an argument of this call changes a list or object that is named before"
                raise Refused(what, "write it as a statement before")
            callee = f.callees[node] = f.borrowed(node.func)
            passed = [(a, [read(a)]) if a in stale else (a, parts) for a, parts in passed]
            kwargs |= {k.arg: read(k.value) for k in node.keywords if k.arg is not None and k.value in stale}
    return callee, ArgumentsAsWritten(passed, kwargs)


def _seen_in_result(f: Frame, node: ast.Call, callee: Value, result: Value) -> None:
    """Note that the result of a call may be, contain or be a part of a list among the arguments. (`_forget_aliases` in
    `tensors/memory.py` does so for tensors.)"""
    keeps = changeable(f, type_or_none(result)) or _makes_numbered(f, callee, result)
    if keeps and not _makes_lists(callee):
        lists = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute) and is_object(f.env.get(root_of(node.func) or "")):
            lists.append(node.func.value)
        for a in lists:
            if isinstance(a, ast.Name) and _may_hold(f, type_or_none(result), type_or_none(f.env.get(a.id, unknown()))):
                f.owned.discard(a.id)
    _look_inside(f, node, callee, result)


def _makes_numbered(f: Frame, callee: Value, result: Value) -> bool:
    """Whether a call makes a numbered object (`referenced`): its number never changes, but its attributes may be the
    arguments."""
    return isinstance(callee, Static) and isinstance(callee.value, type) and is_referenced(f, result)


def _displayed(args: Sequence[ast.expr]) -> set[str]:
    """The names whose values, or parts of them, are elements of displays among the arguments: `x` in `cat([x, x[0]])`. Names
    that a call among the elements may see are left out."""
    found = set[str]()
    for a in args:
        if isinstance(a, (ast.List, ast.Tuple)):
            calls = [x for e in a.elts for x in every_node(e) if isinstance(x, ast.Call)]
            if all(isinstance(c.func, ast.Attribute) for c in calls):  # no function written here, which sees all names
                found |= {name for e in a.elts if (name := root_of(e)) is not None}.difference(*map(names_in, calls))
    return found


def _look_inside(f: Frame, node: ast.Call, callee: Value, result: Value) -> None:
    """Note that something else may refer to parts of the arguments, since the result of the call may contain such a part."""
    builtin = _makes_lists(callee) or isinstance(result, Held)
    if builtin and getattr(getattr(callee, "value", None), "__name__", "") in LOOKING:
        return
    if builtin or changeable(f, type_or_none(result)) or _makes_numbered(f, callee, result):
        for a in _operands(node):
            type = type_or_none(f.env.get(a.id, unknown())) if isinstance(a, ast.Name) else None
            if builtin or _may_share(f, type_or_none(result), type):
                seen_inside(f, a)


def _spread(f: Frame, written: ast.expr) -> list[Value]:
    """The arguments that `*xs` gives to a call; a list of run-time length is one argument, marked as spread. Raises Refused."""
    f.taken_at_once.add(written)
    value = f.expression(written)
    if nothing_known(value):
        return [unknown()]
    whole = iterable(f, value)
    parts = f.components(whole)
    if parts is None:
        parts = f.display(whole) or None  # `f(*[n, 4])`
    if parts is not None:
        return list(parts)
    if holds_parts(f, whole):
        seen_inside(f, written)
    return [Held("spread", whole)]


def _as_always(keywords: Sequence[ast.keyword]) -> bool:
    """Whether the keyword arguments of `zip` have the values that change nothing."""
    return all(k.arg == "strict" and isinstance(k.value, ast.Constant) and k.value.value is False for k in keywords)


def _may_hold(f: Frame, whole: Any, part: Any) -> bool:
    """Whether a value of type `whole` may be a list, object or dictionary of type `part`, or have one in it."""
    if whole is None or part is None or contains_unknown(whole) or contains_unknown(part):
        return True
    inside = changeable_types(f, [whole])
    if is_iterator_type(part):  # a list may have its items, but is not the iterator
        return any(map(is_iterator_type, inside))
    return may_share(f, inside, [part])


def _may_share(f: Frame, one: Any, other: Any) -> bool:
    """Whether values of two types may have a list, object or dictionary in common."""
    if one is None or other is None or contains_unknown(one) or contains_unknown(other):
        return True
    return may_share(f, changeable_types(f, [one]), changeable_types(f, [other]))


def _keeps_nothing(f: Frame, node: ast.Call, callee: Value, result: Value) -> bool:
    """Whether the result of a call of one of Python's functions or methods contains nothing of the operands: it is a number or
    a string, or a new list whose elements cannot be changed."""
    inner = {x for operand in _operands(node) for x in every_node(operand) if isinstance(x, ast.Call)}
    if not inner <= f.keeping_nothing:
        return False
    method = callee.name if isinstance(callee, Method) and callee.function is None else ""
    if not changeable(f, type_or_none(result)):
        return is_plain(result) and (_makes_lists(callee) or bool(method))
    if isinstance(callee, Static):
        shows = any(is_tensor_of_numbers(f.env.get(root_of(a) or "")) for a in node.args)  # its items are views
        return not shows and any(callee.value is x for x in (list, set, dict, sorted)) and has_plain_items(f, result)
    return method == "copy" and not node.args and has_plain_items(f, result)


def _makes_lists(callee: Value) -> bool:
    """Whether the callee is a function or class of Python's builtins: lists that these give are new."""
    return isinstance(callee, Static) and getattr(builtins, getattr(callee.value, "__name__", ""), None) is callee.value
