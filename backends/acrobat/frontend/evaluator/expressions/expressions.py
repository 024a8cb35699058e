"""Names, constants, displays, attributes, indexing, lambdas and f-strings; other expressions have files of their own."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from functools import partial, reduce

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.callables.function_tables import table_of
from backends.acrobat.frontend.evaluator.callables.nested import defaults_here
from backends.acrobat.frontend.evaluator.changes.state import assigned, may_have_none
from backends.acrobat.frontend.evaluator.choices.choice import negation
from backends.acrobat.frontend.evaluator.choices.each_type import part_for_each_type
from backends.acrobat.frontend.evaluator.conditions.conditions import truth
from backends.acrobat.frontend.evaluator.conditions.narrowing import path_of
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.containers.missing_keys import note_seen_whole
from backends.acrobat.frontend.evaluator.containers.records import as_dict, named_entries
from backends.acrobat.frontend.evaluator.containers.set_operators import merged
from backends.acrobat.frontend.evaluator.expressions.indexing import subscript
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.classes import class_key, record_of
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.evaluator.objects.fields import of_known_class
from backends.acrobat.frontend.evaluator.ownership.ownership import (
    changeable,
    has_plain_items,
    is_unchanged,
    seen_inside,
    seen_through_view,
)
from backends.acrobat.frontend.evaluator.rewriting.dict_calls import DictCall
from backends.acrobat.frontend.evaluator.scalars.formatting import Shown, text_of
from backends.acrobat.frontend.evaluator.scalars.operators import binary, unary
from backends.acrobat.frontend.evaluator.syntax.bodies import HIDDEN
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.instances.record_classes import is_name
from backends.acrobat.frontend.kinds import (
    as_tuple,
    is_array,
    is_number,
    is_unknown,
    known,
    nothing_known,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.specials import Closure
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.values import Held, Static, TupleV, Value, unknown


@handles(EXPRESSIONS, ast.Constant)
def _constant(f: Frame, node: ast.Constant, hint: str) -> Value:
    return Static(node.value)


@handles(EXPRESSIONS, ast.Name)
def _name(f: Frame, node: ast.Name, hint: str) -> Value:
    name = node.id
    if name in f.env:
        f.owned.discard(name)  # the reader may keep a reference to the list; `Frame.borrowed` undoes this
        if may_have_none(f, name):
            f.env[name] = assigned(f, node, f.env[name], name)
        note_seen_whole(f, node, f.env[name])
        return f.env[name]
    if name in f.poisoned:
        why, advice = f.poisoned[name]
        again = (name, why) in f.reported
        if not f.trials:
            f.reported.add((name, why))
        return unknown() if again else f.problem(node, f"{f.shown(name)} {why}", advice)
    if name in f.namespace:
        f.program.reads.note_global(f.function, name, f.namespace[name])
        return f.program.wrap(f.namespace[name])
    if hasattr(builtins, name):
        return Static(getattr(builtins, name))
    return f.problem(node, f"`{name}` is not defined")


@handles(EXPRESSIONS, ast.Attribute)
def _attribute(f: Frame, node: ast.Attribute, hint: str) -> Value:
    opened = f.env.get(path_of(node) or "")
    if opened is not None and not f.program.carried.is_field(node.attr):
        return opened
    if (part := part_for_each_type(f, node)) is not None:
        return part
    whole = f.borrowed(node.value)
    value = _attribute_of(f, node, whole)
    if changeable(f, type_or_none(value)) and not is_unchanged(f, type_or_none(whole), node.attr):
        seen_inside(f, node, type_or_none(value))
    if is_array(value):
        seen_through_view(f, node)
    note_seen_whole(f, node, value)
    return value


def _attribute_of(f: Frame, node: ast.Attribute, whole: Value) -> Value:
    known_class = f.env.get(class_key(path_of(node.value) or ""))
    if isinstance(known_class, Static):
        return of_known_class(f, node, whole, known_class.value, node.attr)
    return attribute(f, node, whole, node.attr)


@handles(EXPRESSIONS, ast.UnaryOp)
def _unary(f: Frame, node: ast.UnaryOp, hint: str) -> Value:
    if isinstance(node.op, ast.Not):
        return negation(f, truth(f, node.operand))
    read = f.expression if isinstance(node.op, ast.UAdd) else f.borrowed
    return unary(f, node, node.op, read(node.operand))


@handles(EXPRESSIONS, ast.Subscript)
def _subscript(f: Frame, node: ast.Subscript, hint: str) -> Value:
    name = root_of(node)
    alone = name is not None and deep(name) in f.owned and not any(isinstance(x, ast.Call) for x in every_node(node))
    if (part := part_for_each_type(f, node)) is not None:
        return part
    f.looked_up.add(node.value)
    whole = f.borrowed(node.value)
    owned = set(f.owned)
    value = subscript(f, node, whole, node.slice)
    note_seen_whole(f, node, value)
    if is_array(whole):
        f.owned |= owned & _indexing(f, node.slice)
    if isinstance(node.slice, ast.Slice) and has_plain_items(f, value):
        return value  # a copy
    if changeable(f, type_or_none(value)):
        seen_inside(f, node, type_or_none(value))
    elif alone:
        f.owned.add(deep(str(name)))  # `table[i][j]`: nothing refers to `table[i]` any more
    if not is_number(value) and not _copies(f, node.slice):
        seen_through_view(f, node)
    return value


def _indexing(f: Frame, index: ast.expr) -> set[str]:
    """The names in an index that are tensors. The parts of a tensor that it gives do not refer to them."""
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    return {e.id for e in entries if isinstance(e, ast.Name) and is_array(f.env.get(e.id))}


def _copies(f: Frame, index: ast.expr) -> bool:
    """Whether a tensor that is indexed gives a copy of its parts: by a list, by a tensor of ints or by a mask."""
    value = f.env.get(index.id) if isinstance(index, ast.Name) else None
    return isinstance(index, ast.List) or is_array(value) or isinstance(value, Held) and value.kind in ("ids", "mask", "ones")


@handles(EXPRESSIONS, ast.Lambda)
def _lambda(f: Frame, node: ast.Lambda, hint: str) -> Value:
    if node.args.kwarg:
        return f.problem(node, "a lambda with `**` parameters is not in the language", "write a method or a function")
    written = node.args
    places = [*written.posonlyargs, *written.args, *([written.vararg] if written.vararg else []), *written.kwonlyargs]
    parameters = {a.arg for a in places}
    names = {*names_in(node.body)} - parameters
    env = {k: v for k, v in f.env.items() if k in names or k.startswith(HIDDEN) and k not in f.program.carried.types}
    return Closure(node, env, f.function, f.file, defaults=defaults_here(f, written))


@handles(EXPRESSIONS, ast.NamedExpr)
def _walrus(f: Frame, node: ast.NamedExpr, hint: str) -> Value:
    return f.problem(node, "`:=` is not in the language here", "assign the value in a statement of its own")


@handles(EXPRESSIONS, ast.Starred)
def _star(f: Frame, node: ast.Starred, hint: str) -> Value:
    return f.problem(node, "`*` is not in the language", "write the elements one by one, or join lists with `+`")


# ---- displays


@handles(EXPRESSIONS, ast.Tuple)
def _tuple(f: Frame, node: ast.Tuple, hint: str) -> Value:
    if any(isinstance(e, ast.Starred) for e in node.elts):
        return _spread(f, node, node.elts, True)
    return TupleV(tuple(f.expression(e) for e in node.elts))


@handles(EXPRESSIONS, ast.List)
def _list(f: Frame, node: ast.List, hint: str) -> Value:
    if any(isinstance(e, ast.Starred) for e in node.elts):
        return _spread(f, node, node.elts, False)
    return list_of(f, node, [f.expression(e) for e in node.elts], hint)


@handles(EXPRESSIONS, ast.Set)
def _set(f: Frame, node: ast.Set, hint: str) -> Value:
    if any(isinstance(e, ast.Starred) for e in node.elts):
        return containers.set_of(f, node, _spread(f, node, node.elts, False))
    return containers.set_of(f, node, TupleV(tuple(f.expression(e) for e in node.elts)))


@handles(EXPRESSIONS, ast.Dict, DictCall)
def _dict(f: Frame, node: ast.Dict, hint: str) -> Value:
    keys, values = node.keys, node.values
    if not keys:
        return containers.empty_of_kind(f, "dict")
    if None in keys:
        return _merged(f, node)
    names = [k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    if len(names) < len(keys):
        entries = [(f.expression(k), f.expression(v)) for k, v in zip(keys, values, strict=True) if k is not None]
        if (table := table_of([k for k, _ in entries], [v for _, v in entries])) is not None:
            return table
        return containers.dict_of(f, node, entries)
    items = [f.expression(v) for v in values]
    if (table := table_of(list(map(Static, names)), items)) is not None:
        return table
    if len(set(names)) < len(names):
        return f.problem(node, "the keys of a dict are names, each once, here")
    record = f.program.datatypes.records.class_of(names) if all(map(is_name, names)) else None
    if record is None or f.program.datatypes.is_walked(record):
        return containers.dict_of(f, node, [(Static(k), v) for k, v in zip(names, items, strict=True)])
    return construct(f, node, record, [], dict(zip(names, items, strict=True)))


def _merged(f: Frame, node: ast.Dict) -> Value:
    """A dict display with `**d` in it. If all keys are names that the source and the dicts have written, it is a record."""
    parts: list[tuple[Value | None, Value]] = []
    named: dict[str, Value] | None = {}
    by_name = set[str]()  # the keys that are arguments by name
    for i, (k, v) in enumerate(zip(node.keys, node.values, strict=True)):
        key, value = None if k is None else f.expression(k), f.expression(v)
        if nothing_known(value) or key is not None and nothing_known(key):
            return unknown()
        parts.append((key, value))
        names = _named_entries(f, node, key, value)
        if isinstance(node, DictCall) and i >= node.by_position:
            if names is None:
                raise Refused("`**` takes a dictionary whose keys are names written in the source")
            if twice := sorted(by_name & names.keys()):
                raise Refused(f"TypeError: `dict` gets several values for the argument `{twice[0]}`")
            by_name |= names.keys()
        named = None if named is None or names is None else named | names
    datatypes = f.program.datatypes
    if named is not None and not datatypes.is_walked(merged_class := datatypes.records.class_of(named)):
        return construct(f, node, merged_class, [], named)
    result: Value | None = None
    for key, value in parts:
        if key is not None:
            result = containers.put(f, node, result or containers.empty_of_kind(f, "dict"), key, value)
            continue
        if (record := record_of(f, value)) is not None:
            return as_dict(f, record)
        if isinstance(value, Static):
            value = containers.dict_of(f, node, [(Static(k), f.program.wrap(v)) for k, v in value.value.items()])
        result = value if result is None else merged(f, node, result, value)
    return result or containers.empty_of_kind(f, "dict")


def _named_entries(f: Frame, node: ast.AST, key: Value | None, value: Value) -> dict[str, Value] | None:
    """The entries of one part of a dict display, if their keys are names known at compile time."""
    if key is not None:
        name = known(key)[1]
        return {name: value} if is_name(name) else None
    return named_entries(f, node, value)


def _spread(f: Frame, node: ast.AST, elts: Sequence[ast.expr], tuple_: bool) -> Value:
    """A list or tuple display with `*xs` in it."""
    parts: list[Value] = []
    for e in elts:
        if not isinstance(e, ast.Starred):
            parts.append(TupleV((f.expression(e),)))
            continue
        f.taken_at_once.add(e.value)
        whole = f.expression(e.value)
        if nothing_known(whole):
            return unknown()
        xs = iterable(f, whole)
        components = f.components(xs, f.vectors.get(variable_of(xs)) or None)
        parts.append(TupleV(tuple(components)) if components is not None else xs)
    if all(isinstance(part, TupleV) for part in parts):
        items = [v for part in parts for v in part.items]  # type: ignore[union-attr]
        return TupleV(tuple(items)) if tuple_ else list_of(f, node, items)
    if tuple_:
        parts = list(map(as_tuple, parts))
    else:
        parts = [as_list(f, node, part) for part in parts]
    return reduce(partial(binary, f, node, ast.Add()), parts)


@handles(EXPRESSIONS, ast.JoinedStr)
def _text(f: Frame, node: ast.JoinedStr, hint: str) -> Value:
    """An f-string. Parts that are known at run time only are strings and numbers."""
    parts: list[Shown] = []
    for part in node.values:
        match part:
            case ast.Constant(str() as text):
                parts.append(Shown(Static(text)))
            case ast.FormattedValue(inner, conversion, spec):
                value = f.expression(inner)
                how = Static("") if spec is None else f.expression(spec)
                if is_unknown(how):
                    return unknown()
                format_spec = str(constant(how, "how a value is shown in an f-string"))
                parts.append(Shown(value, format_spec, chr(conversion) if conversion != -1 else ""))
    return text_of(f, node, parts, "an f-string")
