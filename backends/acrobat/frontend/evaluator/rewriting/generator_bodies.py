"""The body of a function with `yield` for one call of it, as statements of the function that calls it: its variables have names
there that nothing else has, and its parameters are assigned the arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from types import FunctionType

from backends.acrobat.frontend.evaluator.rewriting.own_variables import renamed
from backends.acrobat.frontend.evaluator.syntax.bodies import stored
from backends.acrobat.frontend.evaluator.syntax.own_nodes import is_generator, own_nodes, own_nodes_of
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted, replaced_in
from backends.acrobat.frontend.source import harmless
from backends.acrobat.frontend.syntax_nodes import all_parameters, children, every_node, is_variable, names_in

MOST = 4
"""The most `yield`s of a function whose body may be put into the caller's, where each is replaced by the body of a loop."""
NOT_INSIDE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Import, ast.ImportFrom, ast.Await)
"""What a function does not contain whose body may be put into the caller's: it has names of its own, or binds others."""


@dataclass(frozen=True)
class Generator:
    """A function with `yield` that a call calls. `function` is None for one inside of the function that calls it; `bound`:
    whether its first parameter is what stands before the dot, and `of_module`: whether that is a module."""

    definition: ast.FunctionDef
    function: FunctionType | None
    bound: bool
    of_module: bool

    def is_like(self, other: Generator) -> bool:
        """Whether two are the same function, of which there may be several syntax trees."""
        places = ((x.definition.lineno, x.definition.col_offset) for x in (self, other))
        return next(places) == next(places) and (self.function, self.bound) == (other.function, other.bound)


def has_simple_form(definition: ast.FunctionDef) -> bool:
    """Whether the body of a function with `yield` can stand in the function that calls it: each `yield` is a statement outside
    of a `try` with `except`, which would catch what the caller raises, and the function does not call itself."""
    args, nodes = definition.args, list(own_nodes_of(definition))
    everything = [x for s in definition.body for x in every_node(s)]
    statements = {x.value for x in nodes if isinstance(x, ast.Expr)}
    yields = [x for x in everything if isinstance(x, (ast.Yield, ast.YieldFrom))]
    tried = [x for x in nodes if isinstance(x, ast.Try) and x.handlers]
    bound = [x for x in everything if isinstance(x, (ast.MatchStar, ast.MatchMapping, ast.NamedExpr))]
    return (
        is_generator(definition)
        and args.vararg is None
        and args.kwarg is None
        and all(harmless(d) and ast.unparse(d) != "classmethod" for d in definition.decorator_list)
        and len(yields) <= MOST
        and all(x in statements for x in yields)
        and not any(isinstance(x, (ast.Yield, ast.YieldFrom)) for t in tried for x in own_nodes(t))
        and not any(isinstance(x, NOT_INSIDE) for x in everything)
        and not any(isinstance(x, ast.MatchStar) or getattr(x, "rest", None) or isinstance(x, ast.NamedExpr) for x in bound)
        and definition.name not in {*_called(everything)}
        and not {"super", "__class__"} & {*names_in(definition.body)}
    )


def _called(nodes: list[ast.AST]) -> Iterator[str]:
    for x in nodes:
        match x:
            case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(attr=name)):
                yield name


def free_names(definition: ast.FunctionDef) -> set[str]:
    """The names from outside of a function that it uses."""
    return {name for s in definition.body for name in _names_read(s)} - all_parameters(definition) - _own(definition)


def _names_read(node: ast.AST) -> Iterator[str]:
    """The names that stand in a node, without those that comprehensions and lambdas in it bind."""
    bound = set[str]()
    match node:
        case ast.Name(name):
            yield name
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            bound = {*names_in([g.target for g in node.generators], ast.Store)}
            yield from _names_read(node.generators[0].iter)
        case ast.Lambda():
            bound = {x.arg for x in every_node(node.args) if isinstance(x, ast.arg)}
    yield from (name for child in children(node) for name in _names_read(child) if name not in bound)


def _own(definition: ast.FunctionDef) -> set[str]:
    """The variables of a function, its parameters among them where it assigns to them."""
    elsewhere = {name for x in own_nodes_of(definition) if isinstance(x, ast.Nonlocal) for name in x.names}
    return stored(definition.body) - elsewhere


def at_call(
    generator: Generator, call: ast.Call, fresh: Callable[[str], str], rebound: Set[str]
) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """The assignments of the arguments of a call, which Python computes when it makes the generator, and the body that it
    executes from the first `next` on. `fresh` gives new names, and `rebound` are those that get other values while the body
    is executed: an argument that is another name stands for the parameter itself. None where the arguments are not known."""
    definition = generator.definition
    arguments = _arguments(generator, call)
    if arguments is None:
        return None
    own, first = _own(definition), definition.body
    elsewhere = {*stored(first)} - own
    names, before = dict[str, str](), list[ast.stmt]()
    paths = dict[str, ast.expr]()
    for parameter, value in arguments:
        if isinstance(value, ast.Name) and parameter not in own and value.id not in rebound | elsewhere:
            names[parameter] = value.id
        elif generator.of_module and call.func is not value and value is _receiver(call) and parameter not in own:
            paths[parameter] = value
        else:
            names[parameter] = fresh(parameter)
            before += quoted(call, "name = value", name=names[parameter], value=copied(value))
    names |= {x: fresh(x) for x in sorted(own - names.keys())}
    body = [renamed(s, names) for s in first if not isinstance(s, ast.Nonlocal)]

    def in_place(node: ast.AST) -> ast.AST:
        return copied(paths[node.id]) if isinstance(node, ast.Name) and node.id in paths else node

    return before, replaced_in(body, in_place)


def _receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _arguments(generator: Generator, call: ast.Call) -> list[tuple[str, ast.expr]] | None:
    """The parameters with what they are given, in the order in which that is computed; None where a `*` hides it, or a default
    value is no constant."""
    args = generator.definition.args
    places = [x.arg for x in (*args.posonlyargs, *args.args)]
    receiver = _receiver(call)
    given = [receiver, *call.args] if generator.bound and receiver is not None else [*call.args]
    named = [(k.arg, k.value) for k in call.keywords if k.arg is not None]
    if isinstance(receiver, ast.Call) and is_variable(receiver.func, "super"):
        return None  # the object is another one than that
    if any(isinstance(a, ast.Starred) for a in given) or len(named) < len(call.keywords) or len(given) > len(places):
        return None
    found = [*zip(places, given, strict=False), *named]
    defaults = dict(zip(reversed(places), reversed(args.defaults), strict=False))
    defaults |= {x.arg: d for x, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None}
    for name in (*places, *(x.arg for x in args.kwonlyargs)):
        if name not in {x for x, _ in found}:
            if not isinstance(defaults.get(name), ast.Constant):
                return None
            found.append((name, defaults[name]))
    names = [x for x, _ in found]
    known = {*places, *(x.arg for x in args.kwonlyargs)}
    return found if len({*names}) == len(names) and {*names} <= known else None
