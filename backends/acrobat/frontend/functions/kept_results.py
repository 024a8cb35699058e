"""Calls of functions that keep their results from one instance to the next (`remembered`), and are compiled as if they kept
none: whether that gives what eager PyTorch gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from typing import Any, NoReturn, Protocol

from backends.acrobat.core.types import LIST, TUPLE, DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.remembered import cache_of
from backends.acrobat.frontend.types import NONE, SYMBOL, HeldT, NeverT, UnknownT, is_varying_tuple
from backends.acrobat.frontend.values import Static, Value


class KeepingCall(Protocol):
    """What is asked of a call: the function, and its arguments by the names of the parameters."""

    f: Frame
    function: Any
    definition: ast.FunctionDef
    called: str

    names: list[str]
    values: list[Value]


def check_kept(call: KeepingCall, kinds: dict[tuple[Any, str], set[str]], result: Any) -> None:
    """Raises Refused for a call of a function that keeps results where one with an equal key may have another result, or where
    something may change the one that was kept. `result` is the type of what it gives, and `kinds` has what the calls so far
    have in their keys, by function and parameter."""
    cache = cache_of(call.definition)
    if not cache:
        return
    f, program = call.f, call.f.program
    read = {x.id for s in call.definition.body for x in ast.walk(s) if isinstance(x, ast.Name)}
    parameters = [a.arg for a in call.definition.args.args]
    for name, value in list(zip(call.names, call.values, strict=True))[: len(parameters)]:
        if name in read and not (name == parameters[0] and type_or_none(value) is None):
            of_name = kinds.setdefault((call.function, name), set())
            of_name |= set(_kinds_in_key(f, value))
            several = of_name if {"int", "bool"} <= of_name else set()  # `1 == True`
            if wrong := of_name - {"int", "bool", "str", "None"} or several:
                refuse_kept(call, f"its key has {' and '.join(sorted(wrong))} in it")
    if program.carried.used_by(call.function) or program.carried.fields_of(call.function):
        refuse_kept(call, "its result depends on what the instance has computed before")
    if part := next(_changeable_in(f, result), ""):
        refuse_kept(call, f"its result has {part} in it, which may be changed")


def refuse_kept(call: KeepingCall, why: str) -> NoReturn:
    """Raises Refused for such a call, and says `why` it is not compiled."""
    cache = cache_of(call.definition)
    what = f"`{call.called}` keeps results in `{cache}` from one instance to the next, and {why}"
    raise Refused(what, f"leave `{cache}` out, or clear it at the beginning of `forward`")


def _kinds_in_key(f: Frame, value: Value) -> Iterator[str]:
    """Words for what is in a key: numbers by their types, and what is no part of a key that is looked at here."""
    if isinstance(value, Static) and isinstance(value.value, (str, Enum)):
        yield "str"
    else:
        yield from _kinds_in(f, type_or_none(value))


def _kinds_in(f: Frame, t: Any) -> Iterator[str]:
    match t:
        case UnknownT():
            return
        case ScalarT(kind):
            yield kind
        case TupleT(items, listed=False):
            for item in items:
                yield from _kinds_in(f, item)
        case DataT() if (inner := f.without_none(t)) != t:
            yield "None"
            yield from _kinds_in(f, inner)
        case ListT(item) if is_varying_tuple(t):
            yield from _kinds_in(f, item)
        case _:
            yield "str" if t == SYMBOL else "None" if t is NONE else describe(t)


def _changeable_in(f: Frame, t: Any, around: frozenset[str] = frozenset()) -> Iterator[str]:
    """The parts of a cached value of type `t` that could be changed in place later, as messages name them. Plain lists and
    tensors do not count, since the caller does not own them. (A list that is changed under several names is of another
    type.) `around` has the names of the mixed unions that it is a part of."""
    match t:
        case UnknownT() | NeverT() | ScalarT() | TensorT() | HeldT():
            return
        case TupleT(items, listed=False):
            for item in items:
                yield from _changeable_in(f, item, around)
        case DataT() if (inner := f.without_none(t)) != t:
            yield from _changeable_in(f, inner, around)
        case DataT(name) if f.mixed(t):
            for inner in f.mixed(t).values() if name not in around else ():
                yield from _changeable_in(f, inner, around | {name})
        case ListT(item) if t.rows is not None or t.kind in (LIST, TUPLE):
            yield from _changeable_in(f, item, around)
        case _ if t != SYMBOL and t is not NONE:
            yield describe(t)
