"""Optionals where Python needs a value: an attribute of `node.left`, `i + 1`, `torch.tensor(node.word)`. As in Python, None
there is an error, of the instance; otherwise the program goes on with what the optional holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from backends.acrobat.core.types import DataT, ListT
from backends.acrobat.frontend.evaluator.choices.choice import fail, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import COMPUTED, of_type
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.bodies import raises, returns
from backends.acrobat.frontend.evaluator.syntax.order import always_computed
from backends.acrobat.frontend.evaluator.tables import COERCIONS, SHARED_READ
from backends.acrobat.frontend.kinds import is_list, untupled, variable_of
from backends.acrobat.frontend.syntax_nodes import every_node, mentions
from backends.acrobat.frontend.types import is_shared, is_unassigned
from backends.acrobat.frontend.values import Dyn, TupleV, Value


def opened(f: Frame, node: ast.AST, value: Value, needs: str = "", types: Sequence[str] = ()) -> Value:
    """As `present`; a shared list is replaced by its present items."""
    value = present(f, node, value, needs, types)
    return SHARED_READ[0](f, node, value) if isinstance(value, Dyn) and is_shared(value.type) else value


def present(f: Frame, node: ast.AST, value: Value, needs: str = "", types: Sequence[str] = ()) -> Value:
    """What an optional holds, and of a mixed value what has one of the `types` (see `mixed.of_type`); other values unchanged.
    None is an error of the instance, which says what `needs` a value."""
    if isinstance(value, Dyn) and f.mixed(value.type):
        return of_type(f, node, value, *types)
    if not isinstance(value, Dyn) or optional(f, value) is None or is_unassigned(value.type):
        return value
    written = ast.unparse(node) if isinstance(node, ast.expr) else ""
    where = needs or (f"`{written}` needs a value" if written else "a value is needed here")
    some = open_optional(f, node, value, lambda some: some, lambda: fail(f, f"TypeError: {where}, which is None"))
    return of_type(f, node, some, *types)


def opened_inside(f: Frame, node: ast.AST, value: Value, types: Sequence[str] = COMPUTED) -> Value:
    """As `opened`, also for the parts of a tuple and the elements of a list. A tuple whose length varies is given as a list."""
    match value := untupled(value):
        case TupleV(items):
            return TupleV(tuple(opened_inside(f, node, v, types) for v in items))
        case Dyn(type=ListT(item=item)) if is_list(value) and is_shared(f.without_none(item)):
            return opened_inside(f, node, SHARED_READ[0](f, node, value), types)
        case Dyn(type=ListT(item=item)) if is_list(value) and not is_unassigned(item):
            inner = f.program.datatypes.optionals.get(getattr(item, "name", ""))
            if inner is None:
                return value
            known = f.display(value)
            plain = f.coerce(value, ListT(inner))
            if known is not None:  # of a list that is written out the elements are still known one by one
                f.displays[variable_of(plain)] = tuple(f.coerce(v, inner) for v in known)
            return plain
    return opened(f, node, value, types=types)


def _without_none(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    if not isinstance(have, DataT) or have.name not in f.program.datatypes.optionals or is_unassigned(have):
        return None
    return f.coerce(present(f, ast.Pass(), value), type)


COERCIONS.append(_without_none)


ASKED = 1 << 10
"""How many answers about parameters of functions are remembered: each call asks for them in each round."""


@lru_cache(ASKED)
def takes_none(definition: ast.FunctionDef, name: str) -> bool:
    """Whether a function looks at whether its parameter is None: compares it, asks for its truth, or has a `match`."""
    for node in every_node(definition):
        tests: list[ast.expr] = []
        match node:
            case ast.Compare(left, ops, rights) if any(isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) for op in ops):
                tests = [left, *rights]
            case ast.If(test) | ast.While(test) | ast.IfExp(test) | ast.Assert(test) | ast.UnaryOp(ast.Not(), test):
                tests = [test]
            case ast.BoolOp(values=values):
                tests = values
            case ast.Match(subject) | ast.Call(ast.Name("isinstance" | "bool"), [subject, *_]):
                tests = [subject]
        if any(isinstance(t, ast.Name) and t.id == name for t in tests):
            return True
    return False


@lru_cache(ASKED)
def needs_value(definition: ast.FunctionDef, name: str) -> bool:
    """Whether a function always reads an attribute or an item of its parameter, before it does anything else with it."""
    for s in definition.body:
        if not mentions(s, name):
            if returns(s) or raises([s]):
                return False
            continue
        first = s.test if isinstance(s, (ast.If, ast.While)) else s.iter if isinstance(s, ast.For) else s
        return not isinstance(first, (ast.With, ast.Try, ast.Match)) and any(
            isinstance(x, (ast.Attribute, ast.Subscript)) and isinstance(x.value, ast.Name) and x.value.id == name
            for x in _always(first)
        )
    return False


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression or of a simple statement that are always computed."""
    yield node
    for part in always_computed(node):
        yield from _always(part)
