"""Arguments that `**` gives to a call by name, of dictionaries whose keys are names."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.callables.effects import among_calls
from backends.acrobat.frontend.evaluator.changes.indices import changes_something
from backends.acrobat.frontend.evaluator.choices.choice import fail
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, Unbound, constant
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import number_of_class, records_of
from backends.acrobat.frontend.evaluator.objects.fields import field, of_known_class
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import kind, type_or_none
from backends.acrobat.frontend.specials import Keywords
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.values import Dyn, Static, Value, guess

PATHS = (ast.Name, ast.Attribute)


def given_by_name(f: Frame, written: ast.expr, read: Callable[[ast.expr], Value]) -> dict[str, Value]:
    """The arguments that `**written` gives to a call, of which `read` compiles an expression. Displays, `dict(...)` and `|` of
    dictionaries are no dictionaries of the program for that: their entries are the arguments. Raises Refused."""
    entries: dict[str, Value] = {}
    match written:
        case ast.Dict(keys, values):
            for key, value in zip(keys, values, strict=True):
                name = "" if key is None else str(constant(f.expression(key), "the name of an argument"))
                entries |= given_by_name(f, value, read) if key is None else {name: read(value)}
        case ast.Call(ast.Name("dict"), [] | [_], keywords) if f.is_builtin("dict"):
            for part in (*written.args, *(k.value for k in keywords if k.arg is None)):
                entries |= given_by_name(f, part, read)
            entries |= {k.arg: read(k.value) for k in keywords if k.arg is not None}
        case ast.BinOp(left, ast.BitOr(), right):
            entries = given_by_name(f, left, read) | given_by_name(f, right, read)
        case _:
            entries = _entries(f, read(written))
    if any(changeable(f, type_or_none(v)) for v in entries.values()):
        f.owned -= {c for x in every_node(written) if isinstance(x, ast.Name) for c in claims(x.id)}
    return entries


def with_several_sets_of_names(f: Frame, node: ast.Call, hint: str) -> Value | None:
    """A call with `**options` of a dictionary that has one of several sets of names, or of `{}` in its place: the call,
    compiled for each of these. A call that does not take the names of a set is an error of the instance. None for other calls.
    Raises Refused."""
    by_name = next((k for k in node.keywords if k.arg is None), None)
    if by_name is None:
        return None

    def with_entries(entries: ast.expr) -> ast.Call:
        keywords = [ast.copy_location(ast.keyword(None, entries), k) if k is by_name else k for k in node.keywords]
        return ast.copy_location(ast.Call(node.func, node.args, keywords), node)

    arms: tuple[ast.expr, ast.expr]
    match by_name.value:
        case ast.BoolOp(ast.Or(), [test, ast.Dict([], []) as nothing]) if isinstance(test, PATHS):
            arms = test, nothing
        case ast.IfExp(test, one, other) if any(isinstance(x, ast.Dict) and not x.keys for x in (one, other)):
            arms = one, other
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _for_each_class(f, node, by_name.value, with_entries, hint)
        case _:
            return None
    others = [a.value if isinstance(a, ast.Starred) else a for a in node.args]
    others += [test, *(k.value for k in node.keywords if k.arg is not None)]
    if any(changes_something(f, x) for x in others):  # the dictionary is chosen before they are computed
        raise Refused("`**` takes one of several dictionaries here, and another argument changes something", "name it first")
    return f.expression(ast.copy_location(ast.IfExp(test, *map(with_entries, arms)), node), hint)


def _for_each_class(
    f: Frame, node: ast.Call, written: ast.expr, with_entries: Callable[[ast.expr], ast.Call], hint: str
) -> Value | None:
    """`with_several_sets_of_names` of a dictionary that is a name, or a field."""
    with f.trial():
        t = f.without_none(type_or_none(f.borrowed(written)))
    classes = f.program.datatypes.cases.get(getattr(t, "name", ""), ())
    if len(classes) < 2 or not records_of(f, guess(t)):
        return None
    whole, refused = opened(f, node, f.borrowed(written)), list[Unbound]()
    assert isinstance(whole, Dyn)

    def arm(cls: type) -> Value:
        entries = [(x, of_known_class(f, node, whole, cls, x)) for x in f.program.datatypes.record_fields(cls)]
        try:
            result: Value = EXPRESSIONS[ast.Call](f, with_entries(CompiledNode(Keywords(tuple(entries)))), hint)
            return result
        except Unbound as unbound:
            refused.append(unbound)
            if len({x.message for x in refused}) == len(classes):
                raise
            return fail(f, f"TypeError: {unbound.message}")

    return among_calls(f, node, number_of_class(f, whole, classes), [partial(arm, c) for c in classes])


def _entries(f: Frame, value: Value) -> dict[str, Value]:
    """The arguments that `**xs` gives to a call. Raises Refused."""
    match value := opened(f, ast.Pass(), value, "the argument after `**` must be a mapping"):
        case Keywords(entries):
            return dict(entries)
        case Static(dict() as entries):
            return {str(k): f.program.wrap(v) for k, v in entries.items()}
        case Dyn(type=DataT(name)):
            classes = f.program.datatypes.cases.get(name, ())
            if len(classes) == 1 and issubclass(classes[0], RecordOf):
                return {x: field(f, ast.Pass(), value, x) for x in f.program.datatypes.record_fields(classes[0])}
    f.program.datatypes.met.given_by_name |= kind(value) == "dict"  # the next attempt knows the names that the sample shows
    advice = "name the arguments: `f(x, k=options.get('k', 1))`" if kind(value) == "dict" else ""
    raise Refused("`**` takes a dictionary whose keys are names written in the source", advice)
