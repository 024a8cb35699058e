"""What the result of a function is made of: the expressions, the names and the calls whose values are parts of it, or are
computed with for parts of it. There a number stays one, where another instance or another path has a tensor:

    loss, count = self.loss(words)      # `loss` and `count` are names of the result, and the call is one of it
    mean = loss / max(count, 1)         # and this is computed for it
    return {"loss": loss, "mean": mean}

A function that such a call means gives a part of the result, too. (`numbers_given.py` is about names that have a number at
first and are added to in a loop: these hold tensors, and are not among the names here.)
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backends.acrobat.frontend.evaluator.rewriting.numbers_given import is_whole, starts_of
from backends.acrobat.frontend.evaluator.syntax.own_nodes import operation_of, own_nodes_of
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in


@dataclass
class ResultFlow:
    """What the result of a function is made of."""

    parts: set[ast.AST] = field(default_factory=set)
    """Tuples, dictionaries, objects, conditional expressions and arithmetic."""
    calls: set[ast.AST] = field(default_factory=set)
    """What is called in calls, and attributes, which may be properties."""
    names: set[str] = field(default_factory=set)
    """Names that an `if` may give a number or a tensor. (Those that a loop adds up are of the type of what is added.)"""


def flow_of_result(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ResultFlow:
    """What the result of a function is made of. `namespace` has the values of names from outside of it."""
    nodes = [*own_nodes_of(definition)]
    finding = _Finding(_values(nodes), namespace)
    loops = [_values(every_node(x)) for x in nodes if isinstance(x, (ast.For, ast.While))]
    summed = {name for found in loops for name, values in found.items() if name in names_in(values, ast.Load)}
    finding.follow(x.value for x in nodes if isinstance(x, ast.Return) and x.value is not None)
    finding.follow(value for name in finding.seen for value in _appended(definition, name, finding.seen[name]))
    finding.flow.names = {*finding.seen} - starts_of(definition).keys() - summed
    return finding.flow


class _Finding:
    """Follows what is returned back to what it is made of. `assigned` are the values assigned to the function's names."""

    def __init__(self, assigned: Mapping[str, list[ast.expr]], namespace: Mapping[str, Any]) -> None:
        self.assigned, self.namespace = assigned, namespace
        self.seen: Counter[str] = Counter()  # how often a name is a part
        self.flow = ResultFlow()

    def follow(self, expressions: Iterable[ast.expr]) -> None:
        pending = [*expressions]
        while pending:
            part = pending.pop()
            inside, is_part = self._inside(part)
            pending += inside
            if is_part:
                self.flow.parts.add(part)

    def _inside(self, part: ast.expr) -> tuple[Sequence[ast.expr], bool]:
        """The expressions that an expression consists of, and whether it is one of `ResultFlow.parts`."""
        match part:
            case ast.Name(name):
                self.seen[name] += 1
                return self.assigned.get(name, ()) if self.seen[name] == 1 else (), False
            case ast.Tuple(inside) | ast.List(inside) | ast.Dict(values=inside):
                return inside, True
            case ast.IfExp(_, one, other) | ast.BinOp(one, _, other):
                return (one, other), True
            case ast.UnaryOp(_, operand):
                return (operand,), True
            case ast.Call(_, inside, keywords) if is_whole(part, self.namespace):
                return (*inside, *(k.value for k in keywords)), True
            case ast.Call(ast.Name("abs" | "round" | "sum" as function), inside, []) if function not in self.namespace:
                return inside, True
            case ast.Call(callee):
                self.flow.calls.add(callee)
            case ast.Attribute(one):
                self.flow.calls.add(part)  # of a property
                return (one,), False
            case ast.Subscript(one):
                return (one,), False
            case ast.ListComp(one) | ast.GeneratorExp(one) | ast.Starred(one):
                return (one,), False
        return (), False


def _appended(definition: ast.FunctionDef, name: str, parts: int) -> list[ast.expr]:
    """The values that a function appends to a list, if it uses that list in no other way than by `len`, and `parts` times as a
    part of results; else none."""
    values, others = [], 0
    for node in own_nodes_of(definition):
        match node:
            case ast.Call(ast.Attribute(ast.Name(id), "append"), [value]) if id == name:
                values.append(value)
            case ast.Call(ast.Name("len"), [ast.Name(id)]) if id == name:
                others += 1
    return values if len(mentions(definition, name, ast.Load)) == len(values) + others + parts else []


def _values(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """The expressions assigned to each name, also those assigned to a tuple of names."""
    out: dict[str, list[ast.expr]] = {}
    for node in nodes:
        for target, value in _pairs(node):
            for name in names_in(target, ast.Store):
                out.setdefault(name, []).append(value)
    return out


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of a statement, each with what it gets."""
    match node:
        case ast.Assign(targets, value):
            for target in targets:
                match target, value:
                    case ast.Tuple(parts), ast.Tuple(values) if len(parts) == len(values):
                        yield from zip(parts, values, strict=True)
                    case _:
                        yield target, value
        case ast.AnnAssign(target, value=ast.expr() as value):
            yield target, value
        case ast.AugAssign(target, _, value):
            yield target, operation_of(node) if isinstance(target, ast.Name) else value
