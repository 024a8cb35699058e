"""Questions about the syntax tree alone: what a body may assign, and whether it may be left early."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backends.acrobat.frontend.changing_methods import CHANGING, changes_owner, root_of
from backends.acrobat.frontend.syntax_nodes import children, every_node, mentions, parameter_names

HIDDEN = "·"
"""Begins names that the source cannot have."""
RETURNED = HIDDEN + "returned"
"""The name that carries the value of a `return` out of a loop."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An entry of `Frame.owned` about the inside of the value of `name`: what is claimed of it. An entry that is a name alone
    claims that nothing else refers to the value itself."""

    what: str
    name: str


Claims: TypeAlias = set[str | Claim]


def deep(name: str) -> Claim:
    """The entry of `Frame.owned` which says that nothing else refers to any part of the value of `name`."""
    return Claim("deep", name)


def spine(name: str) -> Claim:
    """The entry of `Frame.owned` which says that nothing else refers to any list, set or dictionary inside of the value of
    `name`, in it or in an attribute of it, though something may refer to objects in it and to what these hold:
    `chart[k].append(item)` and `chart.items.append(item)` may follow, `chart[k][0].x = 1` may not."""
    return Claim("spine", name)


def each_claim(name: str) -> tuple[str | Claim, ...]:
    """All that `Frame.owned` can say of a name, in a fixed order."""
    return name, deep(name), spine(name)


def claims(name: str) -> Claims:
    """All that `Frame.owned` can say of a name."""
    return set(each_claim(name))


def walked(name: str) -> Claim:
    """The entry of `Frame.owned` which says that a loop walks over a list inside of the value of `name` (`referenced`)."""
    return Claim("walked", name)


def tracked(name: str) -> Claims:
    """All that `Frame.owned` can say of a value that functions take and give beside their parameters."""
    return {*claims(name), walked(name)}


def placed(where: ast.AST, statement: ast.stmt) -> ast.stmt:
    """The statement `statement`; its nodes without a position get that of `where`."""
    for node in every_node(statement):
        if isinstance(node, (ast.expr, ast.stmt)) and not hasattr(node, "lineno"):
            ast.copy_location(node, where)
    return statement


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
            case ast.Call(ast.Attribute(owner, method)) if changes_owner(method) and root_of(owner) is not None:
                out[str(root_of(owner))] = None
            case ast.Call(ast.Attribute(ast.IfExp(body=ast.Name(one), orelse=ast.Name(other)), method)) if method in CHANGING:
                out[one] = out[other] = None
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()) if root_of(node) is not None:
                out[str(root_of(node))] = None
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


def leaves(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement may leave its body early: by `return`, `break`, `continue` or an error. `in_loop` says that the
    statement stands in a loop inside of that body; then only a `return` leaves the body."""
    match node:
        case ast.Return():
            return True
        case ast.Break() | ast.Continue() | ast.Raise():
            return not in_loop
        case ast.Assert(test):
            return not in_loop and tests_none(test)  # what follows is compiled where the test has narrowed the type
        case ast.If(test, body, []) if raises(body) and not tests_none(test):
            return False
        case ast.For() | ast.While():
            return any(leaves(s, True) for s in node.body)
        case ast.FunctionDef() | ast.ClassDef() | ast.expr():
            return False
    return any(leaves(child, in_loop) for child in children(node))


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


def returns(node: ast.AST) -> bool:
    """Whether a `return` stands in a statement."""
    return any(isinstance(sub, ast.Return) for sub in every_node(node))


def raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a body does nothing but raise an error."""
    return len(body) == 1 and isinstance(body[0], ast.Raise)


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


def live_after(body: Sequence[ast.stmt], s: ast.AST, name: str) -> bool:
    """Whether a name may be read after the statement `s` of a function's `body` before it is assigned; False without `s`."""
    way = way_to(body, s)
    for statements, at, loop in reversed(way):
        use = _first_use(statements[at + 1 :], name)
        if use is not None:
            return use
        if loop is not None:  # the next round may read the name
            use = _first_use([loop], name)
            if use:
                return True
    return False


def is_own(definition: ast.FunctionDef | None, name: str) -> bool:
    """Whether a name is a variable of a function's own, which no function inside sees, and no parameter; False without a
    function."""
    if definition is None or name.startswith(HIDDEN):
        return False
    if any(x.arg == name for x in every_node(definition.args) if isinstance(x, ast.arg)):
        return False
    for node in (x for statement in definition.body for x in every_node(statement)):
        match node:
            case ast.FunctionDef() | ast.Lambda() if mentions(node, name):
                return False
            case ast.Nonlocal(names) | ast.Global(names) if name in names:
                return False
    return True


def is_last_use(definition: ast.FunctionDef | None, s: ast.AST, name: str) -> bool:
    """Whether a variable of a function's own, which no function inside sees, is certainly not read after the statement `s`;
    False without a function."""
    if definition is None or not is_own(definition, name):
        return False
    return bool(way_to(definition.body, s)) and not live_after(definition.body, s, name)


def begins_anew(loop: ast.For | ast.While, name: str) -> bool:
    """Whether `name` is the target of a `for` inside of a loop, and no round of the loop reads what it was before the round."""
    targets = [x.target for statement in loop.body for x in every_node(statement) if isinstance(x, ast.For)]
    read = isinstance(loop, ast.While) and reads(loop.test, name) or _first_use(loop.body, name) is True
    return name in assigned(targets) and not read


def way_to(body: Sequence[ast.stmt], s: ast.AST) -> list[tuple[Sequence[ast.stmt], int, ast.stmt | None]]:
    """The bodies around the statement `s`, from outside in: (body, index in it, loop whose body it is). [] if it has none."""
    for i, one in enumerate(body):
        if one is s:
            return [(body, i, None)]
        for inner in bodies(one):
            below = way_to(inner, s)
            if below:
                loop = one if isinstance(one, (ast.For, ast.While)) and inner is one.body else None
                first = (below[0][0], below[0][1], loop)
                return [(body, i, None), first, *below[1:]]
    return []


def bodies(s: ast.stmt) -> list[list[ast.stmt]]:
    """The bodies of a statement; none of a statement without such."""
    match s:
        case ast.If() | ast.For() | ast.While():
            return [s.body, s.orelse]
        case ast.With():
            return [s.body]
        case ast.Match():
            return [c.body for c in s.cases]
    return []


def _first_use(body: Sequence[ast.stmt], name: str) -> bool | None:
    """What happens to a name first: True if it is read, False if it is given a value on every path, None for neither."""
    for s in body:
        use = _use(s, name)
        if use is not None:
            return use
    return None


def _use(s: ast.stmt, name: str) -> bool | None:
    match s:
        case ast.Assign(targets, value):
            if reads(value, name) or any(reads(t, name) for t in targets):
                return True
            return False if any(_stores(t, name) for t in targets) else None
        case ast.AnnAssign(target, _, value):
            if value is not None and reads(value, name):
                return True
            return False if value is not None and _stores(target, name) else None
        case ast.AugAssign(target, _, value):
            return True if reads(value, name) or reads(target, name) or _stores(target, name) else None
        case ast.If(test, then, orelse):
            if reads(test, name):
                return True
            arms = [_first_use(then, name), _first_use(orelse, name)]
            return True if True in arms else False if arms == [False, False] else None
        case ast.For(target, iterated, inner, orelse):
            if reads(iterated, name) or not _stores(target, name) and _first_use(inner, name):
                return True
            return True if _first_use(orelse, name) else None
        case ast.While(test, inner, orelse):
            return True if reads(test, name) or _first_use(inner, name) or _first_use(orelse, name) else None
    return True if reads(s, name) else None


def _stores(target: ast.AST, name: str) -> bool:
    return bool(mentions(target, name, ast.Store))


def reads(node: ast.AST, name: str) -> bool:
    """Whether an expression or a statement reads a name; inner scopes that have a variable of that name do not count."""
    match node:
        case ast.Name(id, ast.Load()):
            return id == name
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            if any(_stores(g.target, name) for g in node.generators):
                return reads(node.generators[0].iter, name)
        case ast.Lambda() if name in parameter_names(node):
            return False
    return any(reads(child, name) for child in children(node))
