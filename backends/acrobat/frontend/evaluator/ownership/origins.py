"""Where the lists come from that a name of a function may refer to, as far as the function's source tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backends.acrobat.frontend.syntax_nodes import every_node

Place = tuple[int, int, int, int]
"""The lines and columns at which an expression begins and ends."""

MAKERS = frozenset(
    {"list", "sorted", "set", "dict", "deque", "defaultdict", "Counter", "OrderedDict", "copy", "tolist", "split"}
)
"""Functions and methods that give a new list, set or dictionary, by name."""
PUTTING = frozenset({"append", "appendleft", "add", "insert", "setdefault", "put", "push", "heappush"})
"""Methods that put their last argument into what they belong to."""
TAKING = frozenset({"get", "setdefault", "pop", "popleft"})
"""Methods that give something of what is in what they belong to, or else their second argument."""


def makes(node: ast.expr) -> bool:
    """Whether an expression of this form that has a list, set or dictionary as its value has made it."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name)):
            return name in MAKERS
        case ast.Subscript(slice=index):
            return isinstance(index, ast.Slice)
        case ast.BinOp():
            return True
    return isinstance(node, (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp))


def place_of(node: ast.expr) -> Place:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def origins(definition: ast.FunctionDef, node: ast.expr) -> frozenset[Place]:
    """The places of the expressions that make the lists which `node` may be, as far as they can be found."""
    seen: set[str] = set()
    found: set[Place] = set()

    def follow(x: ast.expr) -> None:
        match x:
            case ast.Name("list" | "set" | "dict"):  # of a `defaultdict`
                found.add(place_of(x))
            case ast.Name(name) if name not in seen:
                seen.add(name)
                for source in _sources(definition, name):
                    follow(source)
            case ast.IfExp(_, one, other):
                follow(one)
                follow(other)
            case ast.BoolOp(values=values):
                for value in values:
                    follow(value)
            case ast.Call(ast.Attribute(owner, method), args) if method in TAKING:
                inside(owner)
                for a in args[1:2]:
                    follow(a)
            case ast.Subscript(owner, index) if not isinstance(index, ast.Slice):
                inside(owner)
            case _ if makes(x):
                found.add(place_of(x))
            case ast.Call(_, args, keywords):  # a function may give back what it is given
                for a in (*args, *(k.value for k in keywords)):
                    follow(a)

    def inside(owner: ast.expr) -> None:
        key = f"in {ast.unparse(owner)}"
        if key not in seen:
            seen.add(key)
            for part in _put_into(definition, owner):
                follow(part)

    follow(node)
    return frozenset(found)


def _sources(definition: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What is assigned to a name."""
    for s in every_node(definition):
        match s:
            case ast.Assign(targets, value):
                for target in targets:
                    if isinstance(target, ast.Name) and target.id == name:
                        yield value
                    elif isinstance(target, ast.Tuple) and any(isinstance(e, ast.Name) and e.id == name for e in target.elts):
                        at = next(i for i, e in enumerate(target.elts) if isinstance(e, ast.Name) and e.id == name)
                        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                            yield value.elts[at]
            case ast.AnnAssign(ast.Name(target), value=ast.expr() as value) if target == name:
                yield value
            case ast.NamedExpr(ast.Name(target), value) if target == name:
                yield value
            case ast.For(ast.Name(target), iterated) if target == name:
                yield ast.Subscript(iterated, ast.Constant(0), ast.Load())


def _put_into(definition: ast.FunctionDef, owner: ast.expr) -> Iterator[ast.expr]:
    """What is put into the list or dictionary that `owner` names, or stands in for what is not in it."""
    text = ast.unparse(owner)
    for x in every_node(definition):
        match x:
            case ast.Assign([ast.Subscript(whole, index)], value) if ast.unparse(whole) == text:
                if not isinstance(index, ast.Slice):
                    yield value
            case ast.Call(ast.Attribute(whole, method), [*_, last]) if method in PUTTING and ast.unparse(whole) == text:
                yield last
            case ast.Call(ast.Attribute(whole, "get" | "pop"), [_, default]) if ast.unparse(whole) == text:
                yield default
    for source in _sources(definition, owner.id) if isinstance(owner, ast.Name) else ():
        yield from _elements(source)


def _elements(node: ast.expr) -> Iterator[ast.expr]:
    """The elements of a new list or tuple, or the values of a new dictionary."""
    match node:
        case ast.List(items) | ast.Tuple(items) | ast.Dict(values=items):
            yield from items
        case ast.ListComp(item) | ast.DictComp(value=item):
            yield item
        case ast.BinOp(one, ast.Mult()):
            yield from _elements(one)
        case ast.BinOp(one, ast.Add(), other) | ast.IfExp(_, one, other):
            yield from _elements(one)
            yield from _elements(other)
        case ast.BoolOp(values=values):
            for x in values:
                yield from _elements(x)
        case ast.Call(ast.Name("defaultdict") | ast.Attribute(attr="defaultdict"), [factory]):
            yield factory.body if isinstance(factory, ast.Lambda) else factory
