"""Names for an iterator or None: `gold = iter(xs) if xs is not None else None`, then `next(gold)` if it is not None.

The program has an iterator as a list of its remaining items, which cannot also be None. So the name always has an iterator, an
empty one in place of None, and a bool beside it says whether there is one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted, quoted_expression, replaced_in
from backends.acrobat.frontend.evaluator.syntax.reading import is_own
from backends.acrobat.frontend.syntax_nodes import every_node, mentions


def iterators_or_none(definition: ast.FunctionDef, body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body of a function in which each name that is assigned an iterator or None, once, and that is only compared with None
    and given to `next`, is replaced by two names."""
    nodes = [x for s in body for x in every_node(s)]
    found = {name for x in nodes if (name := _name_of(x)) and _is_simple(definition, body, nodes, name)}
    if not found:
        return list(body)
    return replaced_in(body, lambda node: _parted(node, found))


def taken_for_iterators(definition: ast.FunctionDef) -> list[ast.expr]:
    """What a function with such names calls of which the form alone says that it makes iterators, or takes items from them."""
    nodes = [x for s in definition.body for x in every_node(s)]
    if not any((name := _name_of(x)) and _is_simple(definition, definition.body, nodes, name) for x in nodes):
        return []
    return [x.func for x in nodes if isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in ("iter", "next")]


def _name_of(s: ast.AST) -> str:
    """The name that a statement gives an iterator or None; "" for all others."""
    match s:
        case ast.Assign([ast.Name(name)], ast.IfExp(_, one, other)):
            there = _is_iterator(one) and _is_none(other) or _is_none(one) and _is_iterator(other)
            return name if there else ""
    return ""


def _is_iterator(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "iter" and len(node.args) == 1


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_simple(definition: ast.FunctionDef, body: Sequence[ast.stmt], nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether a name is a variable of the function's own that is assigned to once, and all that is done with it is comparing it
    with None and `next(name)`."""
    known = sum(_compared(x) == name or _next_of(x) == name for x in nodes)
    return len(mentions(body, name)) == known + 1 and is_own(definition, name)


def _compared(node: ast.AST) -> str:
    """The name that an expression compares with None; "" for other expressions."""
    match node:
        case ast.Compare(ast.Name(name), [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return name
    return ""


def _next_of(node: ast.AST) -> str:
    """The name in `next(name)` or `next(name, default)`; "" for other expressions."""
    match node:
        case ast.Call(ast.Name("next"), [ast.Name(name), *default], []) if len(default) < 2:
            return name
    return ""


def _parted(node: ast.AST, names: set[str]) -> ast.AST | list[ast.stmt]:
    """A node rewritten with a bool beside each of the names. `next(name, default)` of None is an error in Python, so it becomes
    `next(name)` of an empty iterator."""
    match node:
        case ast.Assign(value=ast.IfExp() as choice) if (name := _name_of(node)) in names:
            there = not _is_none(choice.body)
            made = choice.body if there else choice.orelse
            assert isinstance(made, ast.Call)
            arms = "items if again else []" if there else "[] if again else items"
            # The test is not computed twice where it calls something; otherwise it says in its arms what is not None.
            calls = any(isinstance(x, (ast.Call, ast.NamedExpr)) for x in ast.walk(choice.test))
            again = _bool_of(name, there) if calls else copied(choice.test)
            text = f"has = {there} if test else {not there}; name = iter({arms})"
            has, items = _hidden(name), made.args[0]
            return quoted(node, text, has=has, test=choice.test, name=name, iter=made.func, again=again, items=items)
        case ast.Compare(ops=[how]) if (name := _compared(node)) in names:
            return ast.copy_location(_bool_of(name, isinstance(how, ast.IsNot)), node)
        case ast.Call(next, [_, _]) if (name := _next_of(node)) in names:
            text = "given if has else next(name)"
            return quoted_expression(node, text, has=_hidden(name), given=node, next=next, name=name)
    return node


def _hidden(name: str) -> str:
    return hidden(f"has_{name}")


def _bool_of(name: str, there: bool) -> ast.expr:
    """Whether there is an iterator of that name, or is none."""
    known = ast.Name(_hidden(name), ast.Load())
    return known if there else ast.UnaryOp(ast.Not(), known)
