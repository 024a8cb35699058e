"""Dictionaries, lists and strings known at compile time: look-ups by keys that are known at run time only."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial
from typing import Any

from backends.acrobat.core.types import BOOL, INT, DataT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import among, choose, fail, fails_always, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import by_type, mixed, of_type
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import EQUALITY
from backends.acrobat.frontend.kinds import is_unknown, known, retyped, type_of, type_or_none
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import SYMBOL, is_tuple_type
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, is_empty, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import searching

FEW = 8
"""So many keys are compared with a key of run time one after the other; of more, the place is looked up in a table."""
LARGEST = 64
"""The most entries whose values are compiled one by one, since they are not numbers or strings."""
SPARSE = 4
"""A table of ints has at most so many places for each key; where it would have more, the key is searched in sorted keys."""


def equal(f: Frame, key: Value, constant: Any) -> Value:
    """`key == constant`, for a key that is known at run time only."""
    if type_or_none(key) not in (SYMBOL, INT):
        return EQUALITY[0](f, ast.Pass(), key, f.program.wrap(constant))
    return f.host("eq", [key, Static(constant if type_of(key) == SYMBOL else int(constant))], BOOL, "same")


def may_equal(key: Value, constant: Any) -> bool:
    """Whether a constant may be equal to a key that is known at run time only: both are strings, members of an Enum, numbers,
    tuples, lists or objects. Of ints that excludes floats with a fraction, and those beyond 64 bits."""
    is_number = isinstance(constant, (int, float))  # also a bool and a member of an IntEnum
    match type_or_none(key):
        case ScalarT() as t:
            return is_number and (t != INT or constant == constant // 1 and -(2**63) <= constant < 2**63)
        case TupleT(items):
            return isinstance(constant, tuple) and len(constant) == len(items)
        case ListT(container="tuple"):
            return isinstance(constant, tuple)
        case ListT():
            return isinstance(constant, (list, set, frozenset, dict))
        case DataT():  # a named tuple is equal to a tuple
            return constant is not None and not is_number and not isinstance(constant, (str, Enum, list, set, frozenset, dict))
        case t:
            return t == SYMBOL and isinstance(constant, (str, Enum)) and not is_number


def by_none(
    f: Frame, key: Value, keys: Sequence[Any], make: Callable[[Value], Value], missing: Callable[[], Value]
) -> Value | None:
    """The value for a key that is known at run time only and may be None there. Where it is not None, it is `make(key)`; else
    `make(None)` if None is among the constants `keys`, or `missing()`. None if the key is never None."""
    if not isinstance(key, Dyn) or optional(f, key) is None:
        return None
    return open_optional(f, ast.Pass(), key, make, lambda: make(Static(None)) if None in keys else missing())


def of_keys(f: Frame, node: ast.AST, key: Value, keys: Iterable[Any]) -> Value:
    """A key for looking up in the constants `keys`: a mixed value as one of the types of the `keys`, a choice of constants as
    the chosen one."""
    return of_type(f, node, f.staged(key) if isinstance(key, OneOf) else key, *{word_of_key(k) for k in keys})


def word_of_key(key: Any) -> str:
    """The type that a constant key has in the program, by its word in `PYTHON_TYPES`."""
    return "int" if isinstance(key, int) and isinstance(key, Enum) else "str" if isinstance(key, Enum) else type(key).__name__


def contains(f: Frame, key: Value, keys: list[Any]) -> Value:
    """`key in keys`, for a key that is known at run time only and constants."""
    if mixed(f, key):
        return by_type(f, ast.Pass(), key, lambda _, inner: contains(f, inner, keys))  # type: ignore[arg-type]
    if (by_key := by_none(f, key, keys, lambda some: contains(f, some, keys), lambda: Static(False))) is not None:
        return by_key
    if key == Static(None):
        return Static(True)
    key = f.staged(key) if isinstance(key, OneOf) else key
    keys = [k for k in keys if may_equal(key, k)]
    if len(keys) > FEW and type_of(key) in (SYMBOL, INT):
        return f.host("lt", [looked_up(f, key, keys), Static(len(keys))], BOOL, "among")
    result: Value = Static(False)
    for constant in keys:
        same = equal(f, key, constant)
        result = same if result == Static(False) else f.host("bitor", [result, same], INT, "among")
    if result == Static(False) or type_of(result) == BOOL:
        return result
    return f.host("bool", [result], BOOL)


def maker_of_missing(table: dict[Any, Any]) -> types.FunctionType | None:
    """The function of the source that gives the values for missing keys of a dictionary; None where its class has none."""
    make = getattr(type(table), "__missing__", None)
    return make if isinstance(make, types.FunctionType) else None


def entry(f: Frame, node: ast.AST, table: dict[Any, Any], key: Value, staged: Callable[[Any], Value] | None = None) -> Value:
    """`table[key]`. A run-time key that is missing is an error of the instance, unless the class of the dictionary says in a
    `__missing__` of the source what it gives for such a key. `staged` makes the value of a constant that one of several keys
    has."""
    if (make := maker_of_missing(table)) is not None and not is_unknown(key):
        of_missing = partial(f.call_with, make, [f.program.wrap(table), key], node)
        of_present = partial(entry, f, node, dict(table), key, staged)
        is_known, constant = known(key)
        if is_known:
            return of_present() if constant in table else of_missing()
        return choose(f, node, contains(f, key, list(table)), of_present, of_missing)
    key = of_keys(f, node, key, table)
    missing = partial(fail, f, "KeyError: None")
    if (result := by_none(f, key, [*table], lambda some: entry(f, node, table, some, staged), missing)) is not None:
        return result
    is_known, constant = known(key)
    if is_known:
        if constant not in table:
            return fails_always(f, node, KeyError(constant), f"this dict has no key {constant!r}")
        return f.program.wrap(table[constant])
    if not table and not is_unknown(key):
        return no_such_key(f, key)
    keys = [k for k in table if may_equal(key, k)]
    values = [Static(table[k]) for k in keys]
    if 1 < len(keys) <= LARGEST and all(type(v.value) is dict for v in values) and not is_unknown(key):
        return OneOf(position(f, node, key, keys), tuple(f.program.wrap(table[k]) for k in keys))
    plain = len({type(v.value) for v in values}) == 1 and isinstance(values[0].value, (bool, int, float, str))
    if len(keys) > FEW and type_of(key) in (SYMBOL, INT) and plain:
        at = looked_up(f, key, keys)
        there = f.host("lt", [at, Static(len(keys))], BOOL, "there")
        value_at = partial(f.host, "list.get", [constants(f, values), at], type_of(values[0]), "entry")
        return choose(f, node, there, value_at, lambda: no_such_key(f, key))
    return constant_by_key(f, node, list(table), key, lambda k: (staged or f.program.wrap)(table[k]))


def _has_dictionaries_only(table: dict[Any, Any]) -> bool:
    return bool(table) and all(type(v) is dict for v in table.values())


def constants(f: Frame, values: Sequence[Value]) -> Dyn:
    """The list of these constants, all of one type."""
    atoms = tuple(f.atom(v) for v in values)
    return f.bind(n.ListOf(atoms, ListT(atoms[0].type), span=f.span), "table")


def looked_up(f: Frame, key: Value, keys: Sequence[Any]) -> Dyn:
    """The first place in the constants `keys`, all of the type of the key, of a key known at run time only; their number if it
    is not among them. Strings are numbers in the program, and those of the source are the first ones."""
    numbers = [int(k) if isinstance(k, int) else f.program.symbols.number(k) for k in keys]
    places = {number: at for at, number in reversed(list(enumerate(numbers)))}
    first, last = min(numbers), max(numbers)
    if last - first > SPARSE * len(numbers) + FEW and type_of(key) == INT:
        in_order = sorted(places.values(), key=numbers.__getitem__)
        sorted_numbers = constants(f, [Static(numbers[i]) for i in in_order])
        at = f.call_with(searching.place_in_order, [sorted_numbers, key])
        return f.host("list.get", [constants(f, list(map(Static, [*in_order, len(keys)]))), at], INT, "place")
    table = [Static(places.get(number, len(keys))) for number in range(first - 1, last + 2)]
    number = key if type_of(key) == INT else retyped(key, INT)  # type: ignore[arg-type]
    inside = f.host("min", [f.host("max", [number, Static(first - 1)], INT), Static(last + 1)], INT)
    return f.host("list.get", [constants(f, table), f.host("sub", [inside, Static(first - 1)], INT)], INT, "place")


def position(f: Frame, node: ast.AST, key: Value, keys: list[Any], missing: str = "KeyError: {0!r}") -> Dyn:
    """The index in the constants `keys` of a key known at run time only. A key that is not among them is an error of the
    instance, with the text `missing`. Raises Refused."""
    key = of_keys(f, node, key, keys)
    if is_unknown(key):
        return guess(INT)
    none_missing = partial(fail, f, missing.replace("{0!r}", "None"))
    if (of_some := by_none(f, key, keys, lambda some: position(f, node, some, keys, missing), none_missing)) is not None:
        return f.coerce(of_some, INT)  # type: ignore[return-value]
    if key == Static(None):
        return f.coerce(Static(keys.index(None)), INT)  # type: ignore[return-value]
    if not isinstance(t := type_of(key), ScalarT) and not is_tuple_type(t) and t != SYMBOL and not _is_named_tuple(f, t):
        raise Refused(f"a key that is known at run time only is a string, a number or a tuple, not {describe(t)}")
    if len(keys) > FEW and type_of(key) in (SYMBOL, INT) and all(may_equal(key, k) for k in keys):
        at: Value = looked_up(f, key, keys)
    else:
        at = Static(len(keys))
        for i, constant in reversed(list(enumerate(keys))):
            same = equal(f, key, constant) if may_equal(key, constant) else Static(False)
            if same != Static(False):
                at = choose(f, node, same, lambda i=i: Static(i), lambda at=at: at)  # type: ignore[misc]
    there = f.host("lt", [at, Static(len(keys))], BOOL, "there")
    named = [key] if isinstance(t, ScalarT) or t == SYMBOL else []
    text = missing if named else missing.partition(":")[0]
    result = choose(f, node, there, lambda: at, lambda: fail(f, text, named, strings_in(named)))
    return f.coerce(result, INT)  # type: ignore[return-value]


def _is_named_tuple(f: Frame, t: Any) -> bool:
    """Whether the objects of a type are named tuples, which are equal where their fields are."""
    classes = f.program.datatypes.classes_of(t)
    return bool(classes) and all(issubclass(c, tuple) and c.__eq__ is tuple.__eq__ for c in classes)


def no_such_key(f: Frame, key: Value) -> Value:
    """The error of an instance that looks up a key which is not there."""
    return fail(f, "KeyError: {0!r}", [key], strings_in([key]))


def strings_in(values: Sequence[Value]) -> frozenset[int]:
    """Which of the values of a message are strings."""
    return frozenset(i for i, v in enumerate(values) if type_or_none(v) == SYMBOL)


def constant_by_key(f: Frame, node: ast.AST, keys: list[Any], key: Value, make: Callable[[Any], Value]) -> Value:
    """`make(k)` for the constant `k` of `keys` that is equal to a key known at run time only."""
    if is_unknown(key):
        return unknown()
    key = of_keys(f, node, key, keys)
    if optional(f, key) is None:
        keys = [k for k in keys if may_equal(key, k)]
    if not 0 < len(keys) <= LARGEST:
        what = "no key of this kind" if not keys else f"{len(keys)} entries, and {LARGEST} are the most"
        return f.problem(node, f"this dict has {what}", "keep the values in a list, or a buffer")

    return among(f, node, position(f, node, key, keys), [partial(make, k) for k in keys])


def method_of(value: Any, name: str) -> types.FunctionType | None:
    """A special method, such as `__getitem__`, that the class of a constant object defines in Python; None if there is none."""
    attribute = next((vars(c)[name] for c in type(value).__mro__ if name in vars(c)), None)
    return attribute if isinstance(attribute, types.FunctionType) else None


def of_constant(
    f: Frame,
    node: ast.AST,
    method: types.BuiltinMethodType,
    args: list[Value],
    staged: Callable[[Any], Value] | None = None,
) -> Value:
    """The result of a method of a dictionary, list, tuple or string known at compile time, none of which it may change.
    `staged` is as for `entry`."""
    owner: Any = method.__self__
    name = method.__name__
    facts = [known(a) for a in args]
    of_dicts_and_lists = ("get", "index", "rindex", "rfind", "items", "keys", "values", "count")
    of_strings = isinstance(owner, str) and name != "maketrans"
    if name not in of_dicts_and_lists and not of_strings:
        return f.problem(node, f"`{name}` of a constant {type(owner).__name__} is not in the language")
    if all(k for k, _ in facts):
        try:
            result = method(*(v for _, v in facts))
        except ValueError as error:
            return fails_always(f, node, error)
        except TypeError as error:
            return f.problem(node, str(error))
        return Static(list(result) if name in ("items", "keys", "values", "encode") else result)
    if any(is_unknown(a) and not is_empty(a) for a in args):
        f.program.incomplete = True
        return unknown()
    if name == "index" and len(args) == 1:
        return position(f, node, args[0], list(owner), "ValueError: {0!r} is not in the list")
    if name == "count" and len(args) == 1 and isinstance(owner, (tuple, list)):
        total: Value = Static(0)
        for x in (x for x in owner if may_equal(args[0], x)):
            total = f.host("add", [total, f.host("int", [equal(f, args[0], x)], INT, "found")], INT, "count")
        return total
    if name == "get" and isinstance(owner, dict) and len(args) in (1, 2):
        default = args[1] if len(args) == 2 else Static(None)
        if is_empty(default) and getattr(type_of(default), "container", "") == "dict" and _has_dictionaries_only(owner):
            default = Static({})
        there = contains(f, args[0], list(owner))
        return choose(f, node, there, lambda: entry(f, node, owner, args[0], staged), lambda: default)
    return f.problem(node, f"`{name}` of a constant takes what is known at compile time")
