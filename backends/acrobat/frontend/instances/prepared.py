"""Parts of `forward` that Python computes from an instance's arguments before the mini-batch: the parsing of a text by Python's
own modules, `ast.parse(source)` or `json.loads(text)["items"]`, whose result is then a part of the instance like others.

Such a part reads the parameters only, and every call of `forward` comes to it: it stands in the first statements, before
anything that may end the call or choose what it does."""

from __future__ import annotations

import ast
import copy
import html
import json
import shlex
import textwrap
import types
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend.source import LIFTED, Lifted, closure
from backends.acrobat.frontend.syntax_nodes import bound_names, every_node

PARSERS: tuple[Callable[..., Any], ...] = (
    ast.literal_eval,
    ast.parse,
    html.unescape,
    json.loads,
    shlex.split,
    textwrap.dedent,
    unicodedata.normalize,
)
"""Functions of Python's own modules that Python computes: their results depend on their arguments alone, and share nothing with
them."""
OF_STRINGS = {"casefold", "decode", "encode", "expandtabs", "lower", "lstrip", "replace", "rstrip", "strip", "title", "upper"}
"""The methods whose results may be an argument of a parser."""


@dataclass(frozen=True)
class Prepared:
    """A part of `forward` as it is `written`, with the parameters that it reads. In `text` the parsers that it calls have names
    of their own."""

    written: str
    text: str
    reads: tuple[str, ...]
    parsers: tuple[tuple[str, Callable[..., Any]], ...]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "_function"}

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return eval(f"lambda {', '.join(self.reads)}: {self.text}", dict(self.parsers))  # type: ignore[no-any-return]

    def of(self, arguments: Mapping[str, Any]) -> Any:
        """The value for an instance with these arguments, by parameter. Raises InstanceError with what Python raises."""
        try:
            return self._function(*(arguments[name] for name in self.reads))
        except Exception as error:
            what = f"`{self.written}` raises {type(error).__name__}: {error}"
            raise InstanceError(what) from error


def prepared_parts(
    definition: ast.FunctionDef, function: types.FunctionType, params: Sequence[str], strings: Sequence[str]
) -> dict[ast.expr, Prepared]:
    """The parts of a definition that are computed before, in the order in which they stand. `params` are the parameters that an
    instance gives, `strings` those of them that cannot be changed."""
    namespace = function.__globals__ | closure(function)
    for name in bound_names(definition):
        namespace.pop(name, None)
    found: dict[ast.expr, Prepared] = {}
    usable = set(params)
    for s, goes_on in _certain(definition.body):
        for part in _largest(s, usable, namespace):
            found[part] = _prepared(part, usable, namespace)
        met = {x.id for root in s for x in every_node(root) if isinstance(x, ast.Name)}
        stored = {x.id for root in s for x in every_node(root) if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load)}
        usable -= stored | (met - set(strings))
        if not goes_on:
            break
    return found


def _certain(body: Sequence[ast.stmt]) -> Iterator[tuple[list[ast.AST], bool]]:
    """What every call computes at the beginning of a function, statement by statement, and whether the next one follows."""
    for s in body:
        match s:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr():
                yield [s], True
            case ast.Pass():
                pass
            case ast.With(items, inside):
                yield [x.context_expr for x in items], True
                yield from _certain(inside)
                return
            case ast.Return(value) if value is not None:
                yield [value], False
                return
            case ast.If(test=first) | ast.For(iter=first):
                yield [first], False
                return
            case _:
                return


def _largest(roots: Sequence[ast.AST], usable: set[str], namespace: Mapping[str, Any]) -> Iterator[ast.expr]:
    """The largest parts of what a statement computes that can be computed before and call a parser. Not in a part that is only
    computed for some instances, or several times."""
    for x in roots:
        if isinstance(x, ast.expr) and _is_plain(x, usable, namespace) and any(_parser(y, namespace) for y in every_node(x)):
            yield x
            continue
        match x:
            case ast.IfExp(test=first):
                yield from _largest([first], usable, namespace)
            case ast.BoolOp(values=[first, *_]) | ast.Compare(left=first):
                yield from _largest([first], usable, namespace)
            case ast.ListComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]):
                yield from _largest([first.iter], usable, namespace)
            case ast.SetComp(generators=[first, *_]) | ast.DictComp(generators=[first, *_]):
                yield from _largest([first.iter], usable, namespace)
            case ast.Lambda():
                pass
            case _:
                yield from _largest(list(ast.iter_child_nodes(x)), usable, namespace)


def _is_plain(x: ast.expr, usable: set[str], namespace: Mapping[str, Any]) -> bool:
    """Whether an expression reads nothing but parameters and constants and calls nothing but parsers and methods of strings."""

    def plain(*parts: ast.expr) -> bool:
        return all(_is_plain(p, usable, namespace) for p in parts)

    match x:
        case ast.Constant():
            return True
        case ast.Name(name):
            return name in usable
        case ast.Attribute(value, ctx=ast.Load()) | ast.Subscript(value, ast.Constant(), ctx=ast.Load()):
            return plain(value)
        case ast.Call(function, args, keywords):
            values = [*args, *(k.value for k in keywords if k.arg is not None)]
            if len(values) < len(args) + len(keywords) or not plain(*values):
                return False
            of_string = isinstance(function, ast.Attribute) and function.attr in OF_STRINGS and plain(function.value)
            return of_string or _parser(x, namespace) is not None
        case ast.ListComp(elt, [ast.comprehension(ast.Name(item), values, tests, 0)]):
            inside = usable | {item}
            return plain(values) and all(_is_plain(p, inside, namespace) for p in (elt, *tests))
    return False


def _parser(x: ast.AST, namespace: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The parser that an expression calls; None if it is no such call."""
    match x:
        case ast.Call(ast.Name(name)):
            called = namespace.get(name)
        case ast.Call(ast.Attribute(ast.Name(name), attribute)) if isinstance(namespace.get(name), types.ModuleType):
            called = getattr(namespace[name], attribute, None)
        case _:
            return None
    return next((p for p in PARSERS if p is called), None)


def _prepared(part: ast.expr, usable: set[str], namespace: Mapping[str, Any]) -> Prepared:
    """An expression as it is computed before: parsers have names of their own in it."""
    tree, parsers = copy.deepcopy(part), list[tuple[str, Callable[..., Any]]]()
    for x in every_node(tree):
        if isinstance(x, ast.Call) and (parser := _parser(x, namespace)) is not None:
            parsers.append((f"parser_{len(parsers)}_", parser))
            x.func = ast.Name(parsers[-1][0], ast.Load())
    reads = sorted({x.id for x in every_node(part) if isinstance(x, ast.Name) and x.id in usable})
    return Prepared(ast.unparse(part), ast.unparse(ast.fix_missing_locations(tree)), tuple(reads), tuple(parsers))


_with_parameters: dict[tuple[types.FunctionType, tuple[str, ...]], tuple[types.FunctionType, list[str]]] = {}
"""(function, texts of what is computed before) -> the function that gets it, and its parameters' names."""


def taking(
    function: types.FunctionType, definition: ast.FunctionDef, file: str, found: Mapping[ast.expr, Prepared], bound: bool
) -> tuple[types.FunctionType, list[str]]:
    """The function with a parameter more in the place of each part of its definition that is computed before, and the names of
    these parameters, which come first, behind the object of a method. The same each time that it is asked for."""
    key = function, tuple(p.written for p in found.values())
    if key not in _with_parameters:
        names = _names(definition, found)
        replaced = dict(zip(map(id, found), names, strict=True))

        class _Replace(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> Any:
                if id(node) in replaced:
                    return ast.copy_location(ast.Name(replaced[id(node)], ast.Load()), node)
                return self.generic_visit(node)

        new = _Replace().visit(_copied(definition, replaced))
        args = new.args.posonlyargs if len(new.args.posonlyargs) > int(bound) else new.args.args
        at = int(bound) if args is new.args.posonlyargs or not new.args.posonlyargs else 0
        args[at:at] = [ast.copy_location(ast.arg(name), part) for name, part in zip(names, found, strict=True)]
        parts = function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        made = types.FunctionType(*parts)
        made.__kwdefaults__, made.__qualname__, made.__module__ = (
            function.__kwdefaults__,
            function.__qualname__,
            function.__module__,
        )
        LIFTED[made] = Lifted(new, file, function, ())
        _with_parameters[key] = made, names
    return _with_parameters[key]


def _copied(definition: ast.FunctionDef, replaced: dict[int, str]) -> ast.FunctionDef:
    """A copy of a definition. `replaced` gets the parts of the copy in the place of those of the original."""
    new = copy.deepcopy(definition)
    pairs = list(zip(every_node(definition), every_node(new), strict=True))
    for old, copied in pairs:
        if id(old) in replaced:
            replaced[id(copied)] = replaced.pop(id(old))
    return new


def _names(definition: ast.FunctionDef, found: Mapping[ast.expr, Prepared]) -> list[str]:
    """A name for each part, after the parser, that the definition does not use."""
    used = {x.id for x in every_node(definition) if isinstance(x, ast.Name)} | {
        x.arg for x in every_node(definition) if isinstance(x, ast.arg)
    }
    names = list[str]()
    for p in found.values():
        base = f"{p.parsers[0][1].__name__}_of_{p.reads[0] if p.reads else 'text'}"
        name = next(x for i in range(len(used) + len(names) + 2) if (x := base + "_" * i) not in used and x not in names)
        names.append(name)
    return names
