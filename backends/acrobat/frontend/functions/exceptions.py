"""Functions whose exceptions are caught where they are called: their `raise` of such an exception becomes a `return` of it. A
call that is found to raise one, but not alone in a `try`, is taken out of its statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from copy import copy, deepcopy
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.syntax_nodes import Place, every_node, place_of
from backends.acrobat.frontend.values import Static

RAISED = "raised"
"""The attribute of a `return` that stands for a `raise`."""

Rewriting = Callable[[ast.stmt], "ast.AST | list[ast.stmt]"]


def returning(definition: ast.FunctionDef, caught: type, namespace: Mapping[str, Any], places: Set[Place]) -> ast.FunctionDef:
    """A function with a `return` in place of each `raise` of an exception of the class `caught`, and with one of what the calls
    at `places` raise. Raises Refused."""
    return _rewritten(definition, _RaisesAsReturns(caught, namespace, places).visit)


def with_calls_apart(definition: ast.FunctionDef, places: Set[Place]) -> ast.FunctionDef:
    """A function in which the calls at `places`, as far as they are in a `try`, stand alone in one."""
    return _rewritten(definition, _TriesApart(places).visit) if places else definition


def _rewritten(definition: ast.FunctionDef, visit: Rewriting) -> ast.FunctionDef:
    result = copy(definition)
    result.body = _each(map(deepcopy, definition.body), visit)
    return result


def _each(body: Iterable[ast.stmt], visit: Rewriting) -> list[ast.stmt]:
    parts = [visit(s) for s in body]
    return [s for part in parts for s in (part if isinstance(part, list) else [part])]  # type: ignore[misc]


class _RaisesAsReturns(ast.NodeTransformer):
    def __init__(self, caught: type, namespace: Mapping[str, Any], places: Set[Place]) -> None:
        self.caught = caught
        self.namespace = namespace
        self.places = places

    def visit(self, node: ast.AST) -> Any:
        result = super().visit(node)
        return self._calls(result) if isinstance(result, ast.stmt) else result

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        match node.exc:
            case ast.Call(ast.Name(name)) | ast.Name(name):
                cls = self.namespace.get(name)
                if isinstance(cls, type) and issubclass(cls, self.caught):
                    return _as_return(node, _exception_node(node.exc, cls))
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        if not node.handlers:
            return self.generic_visit(node)
        for handler in node.handlers:  # what is raised in the `try` the function itself may catch
            handler.body = _each(handler.body, self.visit)
        node.orelse = _each(node.orelse, self.visit)
        return node

    def _calls(self, s: ast.stmt) -> ast.AST | list[ast.stmt]:
        """A statement with each call that may raise the exception in a `try` that returns it."""
        found = _split_at_call(s, self.places)
        if found is None:
            return s
        name = hidden("error")
        error = ast.copy_location(ast.Name(name, ast.Load()), s)
        handler = ast.ExceptHandler(ast.copy_location(CompiledNode(Static(self.caught)), s), name, [_as_return(s, error)])
        tried = ast.Try([found[0]], [ast.copy_location(handler, s)], [], [])
        return [ast.copy_location(tried, s), *_each(found[1], self._calls)]


class _TriesApart(ast.NodeTransformer):
    def __init__(self, places: Set[Place]) -> None:
        self.places = places

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        return self._with_call_alone(node, node.body) if node.handlers and not node.finalbody else node

    def _with_call_alone(self, node: ast.Try, body: Sequence[ast.stmt]) -> ast.Try:
        """A `try` with another body. Of what the handlers catch only a call that stands alone in a `try` raises anything; what
        stands behind it is the `else` of that."""
        for i, s in enumerate(body):
            if (found := _split_at_call(s, self.places)) is not None:
                rest = [*found[1], *body[i + 1 :]]
                tried = any(isinstance(x, (ast.Call, ast.Raise)) for s in rest for x in every_node(s))
                alone = self._like(node, [found[0]], [self._with_call_alone(node, rest)] if tried else [*rest, *node.orelse])
                return alone if i == 0 else self._like(node, body[:i], [alone])
        return self._like(node, body, node.orelse)

    def _like(self, node: ast.Try, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> ast.Try:
        return ast.copy_location(ast.Try([*body], deepcopy(node.handlers), [*orelse], []), node)


def _as_return(node: ast.stmt, value: ast.expr) -> ast.stmt:
    result = ast.copy_location(ast.Return(value), node)
    setattr(result, RAISED, True)
    return result


def _split_at_call(s: ast.stmt, places: Set[Place]) -> tuple[ast.stmt, list[ast.stmt]] | None:
    """A statement with the first call at one of `places` alone, and what is left of the statement `s` then; None where there is
    no such call, or something else is computed before it."""
    field = "test" if isinstance(s, ast.If) else "value"
    whole = getattr(s, field, None)
    if not isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.If)) or whole is None:
        return None
    call = None if isinstance(s, ast.AugAssign) and not isinstance(s.target, ast.Name) else _first([whole], places)
    if call is None:
        return None
    if call is whole and (isinstance(s, (ast.Expr, ast.Return)) or isinstance(s, ast.Assign) and len(s.targets) == 1):
        return s, []
    name = hidden("given", call)
    alone = ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), call)], call), s)
    read = ast.copy_location(ast.Name(name, ast.Load()), call)
    setattr(s, field, read if call is whole else _Replaced(call, read).visit(whole))
    return alone, [s]


class _Replaced(ast.NodeTransformer):
    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self.node = node
        self.other = other

    def visit(self, node: ast.AST) -> ast.AST:
        return self.other if node is self.node else self.generic_visit(node)


def _first(parts: Iterable[ast.expr | None], places: Set[Place]) -> ast.Call | None:
    """The call at one of `places` before which nothing in `parts`, which are evaluated one after the other, is evaluated but
    names and constants."""
    for x in parts:
        found = None if x is None else _first(_begins_with(x), places)
        if found is not None:
            return found
        if isinstance(x, ast.Call) and place_of(x) in places:
            return x
        if not isinstance(x, (ast.Name, ast.Constant, type(None))):
            return None
    return None


def _begins_with(x: ast.expr) -> list[ast.expr | None]:
    """The first parts of an expression that are evaluated whenever it is, in order."""
    match x:
        case ast.Call(function, args, keywords):
            path = function
            while isinstance(path, ast.Attribute):  # of a method or module
                path = path.value
            return [path if isinstance(path, ast.Name) else function, *args, *(k.value for k in keywords)]
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]) | ast.Subscript(left, right):
            return [left, right]
        case ast.Tuple(items) | ast.List(items) | ast.Set(items):
            return [*items]
        case ast.Dict(keys, values):
            return [part for pair in zip(keys, values, strict=True) for part in pair]
        case ast.IfExp(inner) | ast.BoolOp(_, [inner, *_]) | ast.UnaryOp(_, inner):
            return [inner]
        case ast.Attribute(inner) | ast.Starred(inner) | ast.FormattedValue(inner):
            return [inner]
    return []


def _exception_node(written: ast.expr, cls: type) -> ast.expr:
    """The exception that `raise` makes, as the program keeps it: of a class without `__init__`, only that there is one."""
    if isinstance(cls.__init__, FunctionType):  # type: ignore[misc]
        return written if isinstance(written, ast.Call) else ast.copy_location(ast.Call(written, [], []), written)
    if any(isinstance(x, (ast.Call, ast.NamedExpr)) for a in getattr(written, "args", ()) for x in every_node(a)):
        raise Refused(f"what `{cls.__name__}` is given is not kept", "give the class an `__init__` that keeps it")
    return ast.copy_location(ast.Constant(0), written)
