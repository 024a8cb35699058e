"""What a body may assign, and whether it may be left early."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache

from backends.acrobat.frontend.changing_methods import changes_owner, root_of
from backends.acrobat.frontend.evaluator.syntax.hidden_names import RETURNED
from backends.acrobat.frontend.evaluator.syntax.own_nodes import is_generator, own_nodes_of
from backends.acrobat.frontend.evaluator.syntax.raised import CaughtTry, RaisedHere, TryKey
from backends.acrobat.frontend.syntax_nodes import children, every_node


def placed(where: ast.AST, statement: ast.stmt) -> ast.stmt:
    """The statement `statement`; its nodes without a position get that of `where`."""
    for node in every_node(statement):
        if isinstance(node, (ast.expr, ast.stmt)) and not hasattr(node, "lineno"):
            ast.copy_location(node, where)
    return statement


BODIES = ("body", "orelse", "finalbody")


def with_bodies(s: ast.stmt, rewritten: Callable[[list[ast.stmt]], list[ast.stmt]], fields: Sequence[str] = BODIES) -> ast.stmt:
    """A copy of a statement with its bodies under these names rewritten, and those of its handlers and cases. Functions and
    classes stay as they are."""
    if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return s
    new = copy(s)
    for field in fields:
        if isinstance(getattr(s, field, None), list):
            setattr(new, field, rewritten(getattr(s, field)))
    for field in ("cases", "handlers"):
        if hasattr(s, field):
            setattr(new, field, [copy(x) for x in getattr(s, field)])
            for x in getattr(new, field):
                x.body = rewritten(x.body)
    return new


def hint_of(target: ast.expr) -> str:
    """A name for the variable of what is assigned to `target`; "" if the target is not a plain name."""
    return target.id if isinstance(target, ast.Name) else ""


def stored(nodes: Sequence[ast.AST]) -> set[str]:
    """The names to which a body may assign, without those that it changes in place only."""
    out: set[str] = set()

    def visit(node: ast.AST) -> None:
        match node:
            case ast.Name(name, ast.Store()) | ast.MatchAs(name=str(name)):
                out.add(name)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                out.add(name)
                return
            case ast.Lambda():
                return
        for child in children(node):
            visit(child)

    for node in nodes:
        visit(node)
    return out


def assigned(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that a body may assign or change in place, in order of appearance, with RETURNED for a `return`."""
    out: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        match node:
            case ast.Name(name, ast.Store()) | ast.MatchAs(name=str(name)):
                out[name] = None
            case ast.Call(ast.Attribute(owner, method)) if changes_owner(method) and (root := root_of(owner)) is not None:
                out[root] = None
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()) if (root := root_of(node)) is not None:
                out[root] = None
            case ast.Return():
                out[RETURNED] = None
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return  # a scope of its own
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                out[name] = None
                return
            case ast.Lambda():
                return
        for child in children(node):
            visit(child)

    for node in nodes:
        visit(node)
    return list(out)


def passed_to_calls(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that a body gives to calls as arguments or receivers: a call may change the lists that they stand for."""
    out: dict[str, None] = {}
    for node in nodes:
        for sub in every_node(node):
            if isinstance(sub, ast.Call):
                arguments = [*sub.args, *(k.value for k in sub.keywords)]
                arguments += [sub.func.value] if isinstance(sub.func, ast.Attribute) else []
                out |= {name: None for name in map(root_of, arguments) if name is not None}
    return list(out)


def leaves(node: ast.AST, in_loop: bool = False, inside: frozenset[TryKey] = frozenset()) -> bool:
    """Whether a statement may leave its body early: by `return`, `break`, `continue` or an error. `in_loop`: the statement is
    in a loop inside of that body, so that only `return` leaves the body; `inside`: it is in these `try`s inside of it."""
    match node:
        case ast.Return():
            return True
        case RaisedHere():
            return node.key not in inside
        case CaughtTry():
            inside |= {node.key}
        case ast.Break() | ast.Continue() | ast.Raise():
            return not in_loop
        case ast.Assert(test):
            return not in_loop and tests_none(test)  # what follows is compiled where the test has narrowed the type
        case ast.If(test, body, []) if raises(body) and not tests_none(test):
            return False
        case ast.For() | ast.While():
            return any(leaves(s, True, inside) for s in node.body)
        case ast.FunctionDef() | ast.ClassDef() | ast.expr():
            return False
    return any(leaves(child, in_loop, inside) for child in children(node))


def ends(node: ast.AST) -> bool:
    """Whether a statement may end the loop it stands in, by `break` or `return`."""
    match node:
        case ast.Break() | ast.Return():
            return True
        case ast.For() | ast.While():
            return any(returns(s) for s in node.body)
        case ast.expr():
            return False
    return any(ends(child) for child in children(node))


@lru_cache(4096)  # asked for at each call
def has_no_end(definition: ast.FunctionDef) -> bool:
    """Whether a generator function goes on for as long as it is asked for values: it has a loop without an end that nothing but
    an error leaves."""
    return is_generator(definition) and any(_is_endless(s) for s in own_nodes_of(definition))


def _is_endless(s: ast.AST) -> bool:
    match s:
        case ast.While(ast.Constant(test)) if test:
            return not any(map(ends, s.body))
        case ast.For(_, ast.Call(ast.Name("count") | ast.Attribute(ast.Name("itertools"), "count"))):
            return not any(map(ends, s.body))
    return False


def returns(node: ast.AST) -> bool:
    """Whether a `return` stands in a statement."""
    return any(isinstance(sub, ast.Return) for sub in every_node(node))


def raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a body does nothing but raise an error."""
    return len(body) == 1 and type(body[0]) is ast.Raise  # one that is caught (`RaisedHere`) is not


def tests_none(test: ast.expr) -> bool:
    """Whether `test`, or a part of it, compares a name or a field with None, or asks for its class."""
    match test:
        case ast.Call(ast.Name("isinstance"), [ast.Name() | ast.Attribute(), _], []):
            return True
        case ast.BoolOp(values=values):
            return any(map(tests_none, values))
        case ast.UnaryOp(ast.Not(), operand):
            return tests_none(operand)
        case ast.Compare(ast.Name() | ast.Attribute(), [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return True
        case ast.Compare(ast.Call(ast.Name("type"), [ast.Name() | ast.Attribute()], []), [_], [_]):
            return True
    return False
