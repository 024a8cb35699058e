"""What the source says of iterators: which expressions give one whenever they are computed, and what may be done to a name for
one behind the statement that makes it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import Path, visible
from backends.acrobat.frontend.evaluator.syntax.own_nodes import is_generator
from backends.acrobat.frontend.evaluator.syntax.reading import reads, way_to
from backends.acrobat.frontend.evaluator.syntax.uses import SEVERAL, after, uses
from backends.acrobat.frontend.kinds import is_iterator
from backends.acrobat.frontend.source import LIFTED, source_of, stripped
from backends.acrobat.frontend.specials import Method, Nested
from backends.acrobat.frontend.syntax_nodes import all_parameters, children, every_node, is_variable
from backends.acrobat.frontend.values import Static

MAKERS = frozenset({"iter", "map", "filter", "zip", "enumerate", "reversed"})
"""Python's functions that give iterators."""


def gives_iterator(f: Frame, node: ast.AST | None) -> bool:
    """Whether an expression is a call of a generator function of the model, or of a function that returns the result of one:
    the program has that result as a list."""
    match f.callees.get(node) if isinstance(node, ast.Call) else None:
        case Nested(definition):
            return is_generator(definition)
        case Static(FunctionType() as function) | Method(function=FunctionType() as function):
            return function in f.program.gives_iterators or is_generator(source_of(function)[0])
    return False


def always_iterator(f: Frame, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression whose value stands for an iterator gives one whenever it is computed, and never a list, which may
    be walked over again. `seen` has the names that were followed to get there."""
    match node:
        case ast.GeneratorExp():
            return True
        case ast.IfExp(body=one, orelse=other):
            return always_iterator(f, one, seen) and always_iterator(f, other, seen)
        case ast.Name(name) if name in f.iterators_named:
            sources = _sources(f.definition, name) if f.definition is not None and name not in seen else []
            return bool(sources) and all(always_iterator(f, x, seen | {name}) for x in sources)
        case ast.Name(name):
            return _is_given_iterators(f, name)
        case ast.Call():
            match f.callees.get(node):
                case Nested(definition):
                    return is_generator(definition)
                case Static(FunctionType() as function):
                    return _gives_always(function, None)
                case Method(function=FunctionType() as function, owner=owner):
                    return _gives_always(function, getattr(owner, "python_object", None))
                case None:  # it is compiled later
                    return isinstance(node.func, ast.Name) and node.func.id in MAKERS and f.is_builtin(node.func.id)
            return True  # of Python's own
    return False


def _sources(definition: ast.FunctionDef, name: str) -> list[ast.expr]:
    """All that a function assigns to a name; none if it gets anything otherwise than by assignments to it alone."""
    out: list[ast.expr] = []
    for x in every_node(definition):
        match x:
            case ast.Assign([ast.Name(target)], value) | ast.AnnAssign(ast.Name(target), value=ast.expr() as value):
                out += [value] if target == name else []
    nodes = every_node(definition)
    known = sum(isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Store) for x in nodes)
    by_patterns = any(isinstance(x, (ast.MatchAs, ast.MatchStar)) and x.name == name for x in every_node(definition))
    return out if known == len(out) and not by_patterns and name not in all_parameters(definition) else []


def _is_given_iterators(f: Frame, name: str) -> bool:
    """Whether a name is a parameter that is never assigned to, for which all calls give iterators."""
    if not is_iterator(f.env.get(name)) or f.definition is None:
        return False
    if name not in all_parameters(f.definition) or name in stored(f.definition.body):
        return False
    function = compiled_function(f)
    return function is not None and (function, name) not in f.program.may_be_lists


def compiled_function(f: Frame) -> Any:
    """The function of which the frame is; None where a part of another one is compiled in it."""
    function = f.key[0] if f.key is not None else None
    outer = LIFTED[function].outer if function in LIFTED else function
    return function if f.function is outer else None


def _gives_always(function: FunctionType, owner: Any) -> bool:
    """Whether a function, or method of `owner`, that gives an iterator does so whenever it is called."""
    definition = source_of(function)[0]
    if is_generator(definition):
        return True
    match [x.value for x in every_node(definition) if isinstance(x, ast.Return)]:
        case [ast.GeneratorExp()]:
            return True
        case [ast.Call(ast.Name(maker))] if maker in MAKERS:
            return True
        case [ast.Call(ast.Attribute(ast.Name("itertools")))]:
            return True
        case [ast.Call(ast.Name(name))]:
            other = function.__globals__.get(name)
        case [ast.Call(ast.Attribute(ast.Name(), name))]:
            other = getattr(type(owner), name, None)
        case _:
            return False
    return isinstance(other, FunctionType) and other is not function and _gives_always(other, owner)


# ---- behind the statement that makes one


def _written(f: Frame, s: ast.stmt) -> tuple[Sequence[ast.stmt], ast.stmt | None]:
    """The body of the function that has the statement `s`, and `s` as it is there: it may be compiled as a copy, and in another
    function, as that of an `__init__` is where the object is made. None for a statement that is not there."""
    assert f.definition is not None
    body = f.definition.body
    if way_to(body, s):
        return body, s
    if f.function is not None and compiled_function(f) is None:
        body = plainly(source_of(stripped(f.function))[0]).body
    statements = (x for b in body for x in every_node(b) if isinstance(x, ast.stmt) and hasattr(x, "lineno"))
    same = [x for x in statements if hasattr(s, "lineno") and _position(x) == _position(s) and type(x) is type(s)]
    return body, same[0] if len(same) == 1 else None


def _position(s: ast.stmt) -> tuple[int, int, int | None, int | None]:
    return s.lineno, s.col_offset, s.end_lineno, s.end_col_offset


def behind(f: Frame, s: ast.stmt) -> Sequence[ast.stmt]:
    """The statements that may run after `s`, also again; all of the function where that is not known."""
    body, own = _written(f, s)
    return body if own is None else after(body, own) or body


def uses_behind(f: Frame, s: ast.stmt, name: str) -> int:
    """The most reads of a name, which `s` assigns to, on one way behind that statement, up to `SEVERAL`."""
    return SEVERAL if _written(f, s)[1] is None else uses(behind(f, s), name)


def names_read(source: ast.AST) -> set[str]:
    """The names from outside of an expression that it reads, without those that its comprehensions bind."""
    match source:
        case ast.Name(name):
            return {name}
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            first = source.generators[0]
            inside = [x for x in children(source) if x is not first]
            read = {name for x in (*inside, *first.ifs) for name in names_read(x)}
            return names_read(first.iter) | read - set(assigned([g.target for g in source.generators]))
    return {name for x in children(source) for name in names_read(x)}


def changed_before_used(f: Frame, s: ast.stmt, source: ast.expr, name: str) -> bool:
    """Whether behind the statement `s`, which gives `name` an iterator, something that its `source` reads is assigned to or
    changed up to the last statement that reads the name."""
    rest = behind(f, s)
    last = max((i for i, b in enumerate(rest) if reads(b, name)), default=-1)
    between = rest[: last + 1]
    changed = {x for x in assigned(between) if x != name}
    if f.function is not None and f.definition is not None:
        changed |= f.changed_roots(between)
    read = names_read(source)
    return bool(read & changed) or any(isinstance(x, Path) and _may_change(between, x) for x in read)


def _may_change(body: Sequence[ast.stmt], path: Path) -> bool:
    """Whether statements may change what an attribute of a name holds: they mention that attribute, or call a method of the
    name."""
    nodes = [x for b in body for x in every_node(b)]
    attribute = visible(path).rpartition(".")[2]
    mentioned = any(isinstance(x, ast.Attribute) and x.attr == attribute for x in nodes)
    methods = (x.func for x in nodes if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute))
    return mentioned or any(is_variable(method.value, path.root) for method in methods)
