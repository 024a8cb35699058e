"""Displays: tuples, lists, sets and dictionaries that are written out, also with `*` and `**` in them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial, reduce

from backends.acrobat.frontend.evaluator.callables.function_tables import table_of
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.containers.records import as_dict, named_entries, updated
from backends.acrobat.frontend.evaluator.containers.set_operators import merged
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.classes import record_of, records_of
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.evaluator.rewriting.dict_calls import DictCall
from backends.acrobat.frontend.evaluator.scalars.operators import binary
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.instances.record_classes import is_name
from backends.acrobat.frontend.kinds import as_tuple, known, nothing_known, type_or_none, variable_of
from backends.acrobat.frontend.specials import Keywords
from backends.acrobat.frontend.types import is_shared
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown


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
    if not keys and (f.file, node.lineno, node.col_offset) in f.program.datatypes.named_dicts:
        return construct(f, node, f.program.datatypes.records.class_of([]), [], {})
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
        if key is None and is_shared(type_or_none(value)):
            value = opened(f, v, value)
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
    if all(key is None or is_name(known(key)[1]) for key, _ in parts) and any(len(records_of(f, v)) > 1 for _, v in parts):
        entries = [v if key is None else Keywords(((known(key)[1], v),)) for key, v in parts]
        return reduce(partial(updated, f, node), entries)
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
