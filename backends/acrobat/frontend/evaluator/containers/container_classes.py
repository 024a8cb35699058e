"""The classes of `collections` that are dictionaries: `defaultdict`, `OrderedDict`, `Counter`."""

from __future__ import annotations

import ast
import collections
import dataclasses
import types
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import COUNTER, INT, ListKind, MissingKeys
from backends.acrobat.frontend.evaluator.containers.containers import EMPTY, dict_of_pairs
from backends.acrobat.frontend.evaluator.containers.counters import counter_of
from backends.acrobat.frontend.evaluator.containers.shared_lists import shared_factory
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.syntax.hidden_names import Path
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.instances.default_dicts import DEFAULTS
from backends.acrobat.frontend.specials import Closure, SharedFactory
from backends.acrobat.frontend.syntax_nodes import names_in
from backends.acrobat.frontend.values import Dyn, Special, Static, TupleV, Value


@handles(FUNCTIONS, collections.defaultdict)
def _default_dict(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`defaultdict(factory)`: an empty dictionary whose kind names the default."""
    match [] if kwargs else list(map(_with_what_it_reads, args)):
        case [Static(factory)] if factory in DEFAULTS:
            if (shared := shared_factory(f, node, DEFAULTS[factory])) is not None:
                return _with_factory(f, shared)
            return f.empty(replace(EMPTY["dict"], kind=ListKind("dict", missing=MissingKeys(DEFAULTS[factory]))))
        case [Static(types.FunctionType()) | Closure() as factory] if not _holds_values(factory):
            return _with_factory(f, factory)
        case [Static(type() as cls) as factory] if _makes_objects(cls):
            return _with_factory(f, factory)
    taken = ", ".join(cls.__name__ for cls in DEFAULTS)
    raise Refused(f"`defaultdict` takes {taken}, or a function without values of run time here")


def _with_what_it_reads(factory: Value) -> Value:
    """A lambda without the attributes of an object that is being made, if it does not use that object."""
    if not isinstance(factory, Closure):
        return factory
    used = {*names_in(factory.node.body)}
    other = [x for x in factory.env if isinstance(x, Path) and x not in used and x.root not in used]
    return replace(factory, env={x: value for x, value in factory.env.items() if x not in other})


def _makes_objects(cls: type) -> bool:
    """Whether a class is one of the source, whose objects have attributes of their own."""
    return dataclasses.is_dataclass(cls) or isinstance(vars(cls).get("__init__"), types.FunctionType)


def _with_factory(f: Frame, factory: Value) -> Value:
    """An empty dictionary that calls `factory` for missing keys. Those that make shared lists of one class are of one type."""
    of_shared = isinstance(factory, SharedFactory)
    name = factory.cls.__name__ if of_shared else f"made at {f.span.line}.{f.span.column} in {f.file}"  # type: ignore[union-attr]
    f.program.factories[name] = factory
    return f.empty(replace(EMPTY["dict"], kind=ListKind("dict", missing=MissingKeys(name))))


def _holds_values(factory: Value) -> bool:
    """Whether a lambda uses values that are known at run time only, which the dictionary would have to keep."""

    def atoms(v: Value) -> list[Any]:
        if isinstance(v, TupleV):
            return [a for x in v.items for a in atoms(x)]
        return v.operands(atoms) if isinstance(v, Special) else [v] if isinstance(v, Dyn) else []

    return bool(atoms(factory))


@handles(FUNCTIONS, dict.fromkeys)
def _from_keys(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`dict.fromkeys(keys)` or `dict.fromkeys(keys, value)`."""
    keys, value = CallArguments("fromkeys", args, kwargs).bind("iterable", "value", value=Static(None))
    if value == Static(None):  # beside which there may be numbers later
        value = f.coerce(value, f.program.datatypes.optional(INT))
    pairs = mapped(f, [as_list(f, node, iterable(f, keys))], lambda key: TupleV((key, value)))
    return dict_of_pairs(f, node, pairs)


@handles(FUNCTIONS, collections.Counter)
def _counter(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (counted,) = CallArguments("Counter", args, kwargs).bind("iterable", iterable=None)
    if counted is None:
        return f.empty(replace(EMPTY["dict"], kind=COUNTER))
    return counter_of(f, node, counted)
