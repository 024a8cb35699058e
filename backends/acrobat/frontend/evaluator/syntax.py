"""Questions about the syntax tree alone: what a body may assign, and whether it may be left early."""

from __future__ import annotations

import ast
from collections.abc import Sequence

HIDDEN = "·"
"""Begins names that the source cannot have."""
RETURNED = HIDDEN + "returned"
"""The name that carries the value of a `return` out of a loop."""


LIST_CHANGES = ("append", "extend", "insert", "reverse", "clear")
"""Methods that change a list and give nothing, and whose arguments have no names."""
SET_CHANGES = ("add", "discard", "update")
"""Methods that change a set and give nothing."""
CHANGING = frozenset((*LIST_CHANGES, *SET_CHANGES, "sort", "remove", "pop", "popleft"))
"""Methods that change a list, set or dictionary."""


def hint_of(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else ""


def assigned(nodes: Sequence[ast.AST]) -> list[str]:
    """The names a body may assign, in order of first appearance."""
    out: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        match node:
            case ast.Name(name, ast.Store()) | ast.MatchAs(name=str(name)):
                out[name] = None
            case ast.Call(ast.Attribute(ast.Name(name), method)) if method in CHANGING:
                out[name] = None
            case ast.Call(ast.Attribute(ast.IfExp(body=ast.Name(one), orelse=ast.Name(other)), "append")):
                out[one] = out[other] = None
            case ast.Subscript(ctx=ast.Store()):
                owner: ast.expr = node
                while isinstance(owner, ast.Subscript):
                    owner = owner.value
                if isinstance(owner, ast.Name):
                    out[owner.id] = None
            case ast.Return():
                out[RETURNED] = None
            case ast.ListComp() | ast.GeneratorExp() | ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
                return  # a scope of its own
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return list(out)


def handed_on(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that a body gives to calls, which may change the lists that these stand for."""
    out: dict[str, None] = {}
    for node in nodes:
        for sub in ast.walk(node):
            if isinstance(sub, ast.Call):
                out |= {a.id: None for a in (*sub.args, *(k.value for k in sub.keywords)) if isinstance(a, ast.Name)}
    return list(out)


def leaves(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement may leave the body it stands in."""
    match node:
        case ast.Return():
            return True
        case ast.Break() | ast.Continue() | ast.Raise():
            return not in_loop
        case ast.Assert(test):
            return not in_loop and tests_none(test)  # what follows knows more of what was tested
        case ast.If(test, body, []) if raises(body) and not tests_none(test):
            return False
        case ast.For() | ast.While():
            return any(leaves(s, True) for s in node.body)
        case ast.FunctionDef() | ast.ClassDef() | ast.expr():
            return False
    return any(leaves(child, in_loop) for child in ast.iter_child_nodes(node))


def ends(node: ast.AST) -> bool:
    """Whether a statement may end the loop it stands in, by `break` or `return`."""
    match node:
        case ast.Break() | ast.Return():
            return True
        case ast.For() | ast.While():
            return any(returns(s) for s in node.body)
        case ast.expr():
            return False
    return any(ends(child) for child in ast.iter_child_nodes(node))


def returns(node: ast.AST) -> bool:
    """Whether a statement may leave its function."""
    return any(isinstance(sub, ast.Return) for sub in ast.walk(node))


def raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a body does nothing but raise an error."""
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def tests_none(test: ast.expr) -> bool:
    """Whether `test` compares a name, or a field, with None, or asks for its class."""
    match test:
        case ast.Call(ast.Name("isinstance"), [ast.Name() | ast.Attribute(), _], []):
            return True
        case ast.BoolOp(values=values):
            return any(map(tests_none, values))
        case ast.UnaryOp(ast.Not(), operand):
            return tests_none(operand)
        case ast.Compare(ast.Name() | ast.Attribute(), [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return True
    return False
