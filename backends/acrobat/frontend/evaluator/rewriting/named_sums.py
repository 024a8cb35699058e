"""Names for what `sum(f(x) for x in xs)` adds up in the result of a function: the elements become a list with a name, so that a
later step can ask whether it is empty."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.bodies import placed
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes_of
from backends.acrobat.frontend.syntax_nodes import every_node, names_in

COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp)


def with_named_sums(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The function with names for what the sums in its results add up. The same object if there are no such sums."""
    returns = [x for x in own_nodes_of(definition) if isinstance(x, ast.Return) and x.value is not None]
    naming = _Naming({*names_in(returns, ast.Load)})
    changed: ast.FunctionDef = naming.generic_visit(deepcopy(definition))  # type: ignore[assignment]
    return changed if naming.count else definition


def _sums(value: ast.expr) -> Iterator[ast.Call]:
    """The sums of comprehensions that are always computed with an expression, each an operand in its arithmetic."""
    match value:
        case ast.Call(ast.Name("sum"), [ast.GeneratorExp(elt) | ast.ListComp(elt)], []) if not _is_number(elt):
            yield value
        case ast.BinOp(left, _, right):
            yield from _sums(left)
            yield from _sums(right)
        case ast.UnaryOp(_, operand):
            yield from _sums(operand)


def _is_number(elt: ast.expr) -> bool:
    """Whether an expression gives a number of Python's or a bool, whatever the values in it are."""
    match elt:
        case ast.Compare(_, operators):
            return all(isinstance(x, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for x in operators)
    return isinstance(elt, ast.Constant) or isinstance(elt, ast.UnaryOp) and isinstance(elt.op, ast.Not)


class _Naming(ast.NodeTransformer):
    """Inserts an assignment of the list before each statement that returns such a sum, or assigns it to a name in
    `returned`."""

    def __init__(self, returned: set[str]) -> None:
        self.returned = returned
        self.count = 0

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
                return node
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), value=ast.expr() as value):
                before = self._lists(value) if name in self.returned else []
            case ast.Return(ast.Tuple(parts)) | ast.Return(ast.Dict(values=parts)):
                before = self._parts(parts)
            case ast.Return(ast.expr() as value):
                before = self._lists(value)
            case _:
                return self.generic_visit(node)
        return [*(placed(node, ast.copy_location(s, node)) for s in before), node]

    def _parts(self, parts: list[ast.expr]) -> list[ast.stmt]:
        """As `_lists`, for the parts of a tuple: the parts before such a sum get names too, so that they are still computed
        first."""
        last = max((i for i, part in enumerate(parts) if any(_sums(part))), default=-1)
        before: list[ast.stmt] = []
        for i, part in enumerate(parts[: last + 1]):
            if any(_sums(part)):
                before += self._lists(part)
            elif any(isinstance(x, ast.Call) for x in every_node(part)):
                before.append(self._named(part))
                parts[i] = ast.copy_location(ast.Name(before[-1].targets[0].id, ast.Load()), part)  # type: ignore[attr-defined]
        return before

    def _lists(self, value: ast.expr) -> list[ast.stmt]:
        """Assignments of the lists that the sums in an expression add up."""
        before = []
        for call in _sums(value):
            of = call.args[0]
            assert isinstance(of, COMPREHENSIONS)
            before.append(self._named(ast.copy_location(ast.ListComp(of.elt, of.generators), of)))
            call.args = [ast.copy_location(ast.Name(before[-1].targets[0].id, ast.Load()), of)]
        return before

    def _named(self, value: ast.expr) -> Any:
        self.count += 1
        return ast.Assign([ast.Name(hidden(f"part_{self.count}"), ast.Store())], value)
