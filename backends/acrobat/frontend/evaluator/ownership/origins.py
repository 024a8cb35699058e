"""Where the lists were made that a name of a function may refer to, as far as the function's source tells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from backends.acrobat.frontend.syntax_nodes import Place, every_node, place_of

Parts = tuple[int | str, ...]
"""Which part of a tuple or which attribute of an object is meant, which part of that, and so on."""
FieldsOf = Callable[[ast.Call], Sequence[str] | None]
"""Gives for a call the attributes that its arguments are in what it makes, in their order; None for calls that make no such."""
DEEPEST = 3
"""The most parts of parts that are followed: of `pair = pair[0]` and `node = node.next` there is no end."""

MAKERS = frozenset(
    {"list", "sorted", "set", "dict", "deque", "defaultdict", "Counter", "OrderedDict", "copy", "tolist", "split"}
)
"""Functions and methods that give a new list, set or dictionary, by name."""
PUTTING = frozenset({"append", "appendleft", "add", "insert", "setdefault", "put", "push", "heappush"})
"""Methods that put their last argument into what they belong to."""
TAKING = frozenset({"get", "setdefault", "pop", "popleft"})
"""Methods that give something of what is in what they belong to, or else their second argument."""


def makes(node: ast.expr) -> bool:
    """Whether an expression of this form, if its value is a list, set or dictionary, makes a new one."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name)):
            return name in MAKERS
        case ast.Subscript(slice=index):
            return isinstance(index, ast.Slice)
        case ast.BinOp():
            return True
    return isinstance(node, (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp))


def origins(definition: ast.FunctionDef, node: ast.expr, fields_of: FieldsOf) -> frozenset[Place]:
    """The places of the expressions that make the lists which `node` may be, as far as they can be found."""
    seen: set[tuple[str, Parts]] = set()
    found: set[Place] = set()

    def follow(x: ast.expr, parts: Parts = ()) -> None:
        match x:
            case ast.Tuple(items) if parts:
                if isinstance(parts[0], int) and -len(items) <= parts[0] < len(items):
                    follow(items[parts[0]], parts[1:])
            case ast.Name("list" | "set" | "dict") if not parts:  # of a `defaultdict`
                found.add(place_of(x))
            case ast.Name(name) if (name, parts) not in seen:
                seen.add((name, parts))
                for source in sources(definition, name):
                    follow(source, parts)
            case ast.IfExp(_, one, other):
                follow(one, parts)
                follow(other, parts)
            case ast.BoolOp(values=values):
                for value in values:
                    follow(value, parts)
            case ast.Call(ast.Attribute(owner, method), args) if method in TAKING:
                inside(owner, parts)
                for a in args[1:2]:
                    follow(a, parts)
            case ast.Subscript(owner, index) if not isinstance(index, ast.Slice):
                inside(owner, parts)
                if (k := _constant(index)) is not None and len(parts) < DEEPEST:
                    follow(owner, (k, *parts))
            case ast.Attribute(owner, name) if len(parts) < DEEPEST:
                follow(owner, (name, *parts))
            case _ if makes(x):
                if not parts:
                    found.add(place_of(x))
            case ast.Call() if parts and (fields := fields_of(x)) is not None:
                for a in _given_for(x, fields, parts[0]):
                    follow(a, parts[1:])
            case ast.Call(_, args, keywords):  # a function may give back what it is given
                for a in (*args, *(k.value for k in keywords)):
                    follow(a, parts)

    def inside(owner: ast.expr, parts: Parts) -> None:
        key = f"in {ast.unparse(owner)}", parts
        if key not in seen:
            seen.add(key)
            for part in _put_into(definition, owner):
                follow(part, parts)
            for source in sources(definition, owner.id) if isinstance(owner, ast.Name) else ():
                for whole in _with_its_elements(source):
                    inside(whole, parts)

    follow(node)
    return frozenset(found)


def attributes_with(definition: ast.FunctionDef, node: ast.expr) -> frozenset[str]:
    """The attributes of which the lists that `node` may be are elements, by name: of `self.rows[i]`, and of a name that gets
    it."""
    found: set[str] = set()
    for x in (node, *(sources(definition, node.id) if isinstance(node, ast.Name) else ())):
        match x:
            case ast.Subscript(ast.Attribute(attr=name), index) if not isinstance(index, ast.Slice):
                found.add(name)
            case ast.Call(ast.Attribute(ast.Attribute(attr=name), method)) if method in TAKING:
                found.add(name)
    return frozenset(found)


def _given_for(call: ast.Call, fields: Sequence[str], part: int | str) -> Iterator[ast.expr]:
    """The argument of a call that becomes a part of its result. `fields` has the names of the parts, in order."""
    name = part if isinstance(part, str) else fields[part] if -len(fields) <= part < len(fields) else ""
    for field, a in zip(fields, call.args, strict=False):
        if field == name:
            yield a
    yield from (k.value for k in call.keywords if k.arg == name)


def _constant(index: ast.expr) -> int | None:
    """An index that is a constant; None for others."""
    match index:
        case ast.Constant(int() as k):
            return k
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as k)):
            return -k
    return None


def sources(definition: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """What is assigned to a name."""
    for s in every_node(definition):
        match s:
            case ast.Assign(targets, value):
                for target in targets:
                    yield from _parts_for(target, name, value)
            case ast.AnnAssign(ast.Name(target), value=ast.expr() as value) if target == name:
                yield value
            case ast.NamedExpr(ast.Name(target), value) if target == name:
                yield value
            case ast.For(target, iterated):
                yield from _parts_for(target, name, ast.Subscript(iterated, ast.Name("", ast.Load()), ast.Load()))


def _parts_for(target: ast.expr, name: str, value: ast.expr) -> Iterator[ast.expr]:
    """What a name gets where `value` is assigned to `target`."""
    match target:
        case ast.Name(id) if id == name:
            yield value
        case ast.Tuple(targets):
            whole = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(targets) else None
            for k, part in enumerate(targets):
                of_part = whole[k] if whole is not None else ast.Subscript(value, ast.Constant(k), ast.Load())
                yield from _parts_for(part, name, of_part)


def _put_into(definition: ast.FunctionDef, owner: ast.expr) -> Iterator[ast.expr]:
    """What is put into the list or dictionary that `owner` names, or is given as a default when it is looked up."""
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
    for source in sources(definition, owner.id) if isinstance(owner, ast.Name) else ():
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
        case ast.Call(ast.Name(name), [whole]) if name in MAKERS and name != "defaultdict":
            yield from _elements(whole)
        case ast.Call(ast.Name("defaultdict") | ast.Attribute(attr="defaultdict"), [factory]):
            yield factory.body if isinstance(factory, ast.Lambda) else factory


def _with_its_elements(node: ast.expr) -> Iterator[ast.expr]:
    """The names of lists whose elements are in the value of an expression: it is another name for the list, or a copy of it, or
    joins it with others."""
    match node:
        case ast.Name():
            yield node
        case ast.Call(ast.Name(name), [whole]) if name in MAKERS:
            yield from _with_its_elements(whole)
        case ast.Subscript(whole, ast.Slice()):
            yield from _with_its_elements(whole)
        case ast.BinOp(one, ast.Add(), other) | ast.IfExp(_, one, other):
            yield from _with_its_elements(one)
            yield from _with_its_elements(other)
