"""Names that have an empty tuple on one path and a list, a set or a dictionary on another:

    banned = ()
    if current == source:
        banned = {(r, t) for r, t in edges if r == relation}
    options = [a for a in actions if a not in banned]

An empty container of the other kind is the same where nothing can tell the two apart: the name is only used behind `in`, as a
test, in `len(...)`, walked over, or given to a function of the model that uses its parameter in these ways only.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.reading import is_own
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.syntax_nodes import all_parameters, bound_names, every_node, mentions
from backends.acrobat.frontend.types import Mismatch, contains_unknown
from backends.acrobat.frontend.values import Value, guess
from backends.acrobat.ir import nodes as n

ALIKE = ("all", "any", "bool", "len")
"""Functions of Python's that give the same of all empty containers."""


def container_beside_empty_tuples(f: Frame, name: str, values: Collection[Value]) -> Any:
    """The type of the list, set or dictionary that a name has on all paths but those on which it has an empty tuple; None where
    it has others, or where its uses may tell these apart."""
    others = [v for v in values if not is_empty_tuple(v)]
    if not others or len(others) == len(values):
        return None
    try:
        common = f.common([f.type_when_staged(v) for v in others])
    except Mismatch:
        return None
    is_plain = isinstance(common, ListT) and common.rows is None and not common.kind.cls
    if not is_plain or common.container not in ("list", "set", "dict"):
        return None
    return common if is_own(f.definition, name) and _cannot_tell(f, name) else None


def is_empty_tuple(value: Value) -> bool:
    t = type_or_none(value)
    return isinstance(t, TupleT) and not t.items and not t.listed


def as_container(f: Frame, value: Value, type: Any) -> Value:
    """A value as one of such a type, an empty one if it is an empty tuple; others as `coerce` gives them."""
    if not is_empty_tuple(value) or not isinstance(type, ListT):
        return f.coerce(value, type)
    if contains_unknown(type):
        f.program.incomplete = True
        return guess(type)
    return f.bind(n.ListOf((), type, span=f.span), "empty")


def _cannot_tell(f: Frame, name: str) -> bool:
    """Whether no use of a variable in the function that is compiled tells empty containers apart."""
    if f.definition is None or f.function is None:
        return False
    there = {*_alike(f.definition, f.function)}
    for node in every_node(f.definition):
        if isinstance(node, ast.Call):
            given = [*enumerate(node.args), *((k.arg, k.value) for k in node.keywords)]
            there |= {x for at, x in given if isinstance(x, ast.Name) and x.id == name and _is_alike_in_called(f, node, at)}
    return _all_there(f.definition, name, there)


def _all_there(definition: ast.FunctionDef, name: str, there: Collection[ast.AST]) -> bool:
    """Whether all reads of a name are among those nodes, and it is not the target of `+=` and the like."""
    inside = every_node(definition)
    changed = any(isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name) and x.target.id == name for x in inside)
    seen = any(isinstance(x, (ast.Nonlocal, ast.Global)) and name in x.names for x in inside)
    return not changed and not seen and all(x in there for x in mentions(definition, name, ast.Load))


def _alike(definition: ast.FunctionDef, function: FunctionType) -> Iterator[ast.expr]:
    """The expressions in a function of which all empty containers are the same."""
    own = {*bound_names(definition), *function.__globals__}
    for node in every_node(definition):
        match node:
            case ast.Compare(_, [ast.In() | ast.NotIn()], [whole]):
                yield whole
            case ast.UnaryOp(ast.Not(), test) | ast.If(test) | ast.While(test) | ast.IfExp(test) | ast.Assert(test):
                yield from _tested(test)
            case ast.For(_, whole):
                yield whole
            case ast.comprehension(_, whole, tests):
                yield whole
                for test in tests:
                    yield from _tested(test)
            case ast.Call(ast.Name(called), [whole], []) if called in ALIKE and called not in own:
                yield whole


def _tested(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for x in test.values:
            yield from _tested(x)
    else:
        yield test


def _is_alike_in_called(f: Frame, node: ast.Call, at: int | str | None) -> bool:
    """Whether a call is one of a function of the model that uses its parameter `at`, an index or a name, in these ways only."""
    root = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    if not isinstance(root, ast.Name) or f.definition is None or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    inside = (x for s in f.definition.body for x in every_node(s))
    if mentions(f.definition, root.id, ast.Store, ast.Del) or any(getattr(x, "name", "") == root.id for x in inside):
        return False  # it may be another function by then
    with f.trial():
        callee = f.borrowed(node.func)
    function = callee.function if isinstance(callee, Method) else getattr(callee, "value", None)
    if not isinstance(function, FunctionType) or function.__module__.partition(".")[0] == "torch":
        return False
    definition, _ = source_of(function)
    positions = [a.arg for a in (*definition.args.posonlyargs, *definition.args.args)][isinstance(callee, Method) :]
    name = positions[at] if isinstance(at, int) and at < len(positions) else at
    if definition.decorator_list or not isinstance(name, str) or name not in all_parameters(definition):
        return False
    if definition.args.kwarg is not None and definition.args.kwarg.arg == name:
        return False
    return _all_there(definition, name, {*_alike(definition, function)})
