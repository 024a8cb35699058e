"""Functions with `yield` that have no end: as many of their values as are taken.

Such a function is compiled with a further parameter, the number of its values that it gives before it returns. What
walks over them, as `zip` with a list or `islice` do, says how many that are.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden, visible
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, replaced_in
from backends.acrobat.frontend.functions.binding import BoundCall
from backends.acrobat.frontend.kinds import is_list, is_unknown, type_of
from backends.acrobat.frontend.source import LIFTED, Lifted, source_of
from backends.acrobat.frontend.specials import Endless
from backends.acrobat.frontend.values import Held, Static, TupleV, Value

LIMIT = hidden("limit")
TAKEN = hidden("taken")
_limited: dict[FunctionType, FunctionType] = {}


def without_end(call: BoundCall, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """The iterator that a call of such a function gives. Raises Refused."""
    if call.changed:
        changed = call.f.shown(call.names[call.changed[0]])
        what = f"the generator `{visible(call.definition.name)}` has no end, and changes {changed}"
        raise Refused(what, "walk over it in a loop of the function that calls it")
    function, f, at = _with_limit(call.function), call.f, ast.copy_location(ast.Pass(), call.node)

    def first(count: Any) -> Value:
        limit = Static(count) if isinstance(count, int) else count
        items = call.program.call(f, at, function, args, {**kwargs, LIMIT: limit})
        if not isinstance(count, int) or not is_list(items) or is_unknown(items):
            return items
        item = type_of(items).item
        return TupleV(tuple(f.host("list.get", [items, Static(i)], item, "item") for i in range(count)))

    return Held("iterator", Endless(first))


def _with_limit(function: FunctionType) -> FunctionType:
    if function not in _limited:
        definition, file = source_of(function)
        result = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        result.__kwdefaults__, result.__annotations__ = function.__kwdefaults__, {}
        result.__qualname__, result.__module__ = function.__qualname__, function.__module__
        before = LIFTED.get(function, Lifted(definition, file, function, ()))
        LIFTED[result] = replace(before, definition=_counting(definition))
        _limited[function] = result
    return _limited[function]


def _counting(definition: ast.FunctionDef) -> ast.FunctionDef:
    """A generator that counts its values, and returns after as many as it is told."""
    new = copy(definition)
    new.args = copy(definition.args)
    new.args.kwonlyargs = [*definition.args.kwonlyargs, ast.copy_location(ast.arg(LIMIT), definition)]
    new.args.kw_defaults = [*definition.args.kw_defaults, None]
    names = {"taken": TAKEN, "limit": LIMIT}

    def counted(node: ast.AST) -> Any:
        match node:
            case ast.Expr(ast.Yield()):
                return [node, *quoted(node, "taken = taken + 1\nif taken >= limit: return", **names)]
            case ast.Expr(ast.YieldFrom(values)):
                value = hidden("value", node)
                text = "for value in values:\n    yield value\n    taken = taken + 1\n    if taken >= limit: return"
                return quoted(node, text, value=value, values=values, **names)
        return node

    start = quoted(definition.body[0], "taken = 0\nif taken >= limit: return", **names)
    new.body = [*start, *replaced_in(definition.body, counted)]
    return new
