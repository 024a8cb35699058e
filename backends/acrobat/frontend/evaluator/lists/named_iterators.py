"""Iterators under a name: `words = iter(sentence)`, then `next(words)`.

An iterator is exhausted by its first use. Where a name for one is used once at most, it stands for all that the iterator gives.
Where it is used several times, it is a list of the kind "iterator" with what was not given yet, which `next` changes as `pop`
changes a list; there is no other use of it but as an argument of a function of the model, and one that takes all that is left.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, TypeGuard

from backends.acrobat.core.types import BOOL, ITERATOR, LIST
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.services import Key
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.ownership.ownership import holds_parts
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import is_generator
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.evaluator.syntax.reading import reads
from backends.acrobat.frontend.evaluator.syntax.uses import SEVERAL, after, innermost, uses
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, ITERATION, handles
from backends.acrobat.frontend.kinds import as_kind, is_iterator, is_list, kind, nothing_known, retyped, type_of
from backends.acrobat.frontend.source import LIFTED, source_of
from backends.acrobat.frontend.specials import Keywords, Method, Nested
from backends.acrobat.frontend.syntax_nodes import all_parameters, children, every_node
from backends.acrobat.frontend.values import HELD, Dyn, Held, Special, Static, TupleV, Value, unknown

_loops: dict[ast.For, ast.stmt] = {}
MAKERS = frozenset({"iter", "map", "filter", "zip", "enumerate", "reversed"})
"""Python's functions that give iterators."""


def has_more(iterator: Any) -> bool:
    """What the program asks of a named iterator before it takes the next item. The compiler has a handler for it."""
    raise NotImplementedError


@handles(FUNCTIONS, has_more)
def _has_more(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (words,) = args
    if not isinstance(words, Dyn):
        return unknown()
    return f.host("gt", [length(f, words), Static(0)], BOOL)


def holds_iterator(value: Any) -> bool:
    """Whether a value is an iterator, or a tuple, or further arguments, with one in it."""
    match value:
        case TupleV(items):
            return any(map(holds_iterator, items))
        case Keywords(entries):
            return any(holds_iterator(v) for _, v in entries)
    return is_iterator(value)


def gives_iterator(f: Frame, node: ast.AST | None) -> bool:
    """Whether an expression is a call of a generator function of the model, or of a function that returns the result of one:
    the program has that result as a list."""
    match f.callees.get(node) if isinstance(node, ast.Call) else None:
        case Nested(definition):
            return is_generator(definition)
        case Static(FunctionType() as function) | Method(function=FunctionType() as function):
            return function in f.program.gives_iterators or is_generator(source_of(function)[0])
    return False


def _always_iterator(f: Frame, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression whose value stands for an iterator gives one whenever it is computed, and never a list, which may
    be walked over again. `seen` has the names that were followed to get there."""
    match node:
        case ast.GeneratorExp():
            return True
        case ast.IfExp(body=one, orelse=other):
            return _always_iterator(f, one, seen) and _always_iterator(f, other, seen)
        case ast.Name(name) if name in f.iterators_named:
            sources = _sources(f.definition, name) if f.definition is not None and name not in seen else []
            return bool(sources) and all(_always_iterator(f, x, seen | {name}) for x in sources)
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
    function = _compiled_function(f)
    return function is not None and (function, name) not in f.program.may_be_lists


def _compiled_function(f: Frame) -> Any:
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


def iterates(f: Frame, source: ast.expr, value: Value) -> bool:
    """Whether the value of an expression is an iterator, or a list that stands for one, or is written as a tuple with such."""
    if isinstance(source, ast.Tuple):
        return holds_iterator(value) or any(gives_iterator(f, e) for e in source.elts)
    return is_iterator(value) or gives_iterator(f, source)


def as_parameter(
    f: Frame,
    function: Any,
    definition: ast.FunctionDef | ast.Lambda,
    name: str,
    value: Value,
    written: ast.expr | None,
) -> Value:
    """An argument that may be an iterator, `written` in the call, as the value of the parameter `name`. Raises Refused."""
    is_one = is_iterator(value) or gives_iterator(f, written)
    if not is_one and not holds_iterator(value):
        return value
    body = definition.body if isinstance(definition, ast.FunctionDef) else [ast.Expr(definition.body)]
    always = is_one and not isinstance(definition, ast.Lambda) and _always_iterator(f, written)
    if not always and (function, name) not in f.program.may_be_lists:
        f.program.may_be_lists.add((function, name))
        f.program.changed = True
    if uses(body, name) < SEVERAL:
        return value
    if not always:
        raise Refused(HELD["iterator"])
    return _remaining(f, definition, value)


def named(f: Frame, s: ast.Assign | ast.AnnAssign, target: ast.expr, source: ast.expr, value: Value) -> Value | None:
    """The value of `source` that the statement `s` assigns to `target`, if it is an iterator: a list of the kind "iterator", or
    None after the name was bound to the iterator itself, because it is used at most once. Other values unchanged. Raises
    Refused for an iterator over something that is changed before the iterator is used."""
    if not is_iterator(value) and not gives_iterator(f, source) or isinstance(target, (ast.Tuple, ast.List)):
        return value
    if not isinstance(target, ast.Name):
        if is_iterator(value) or isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            return value
        raise Refused(HELD["iterator"])
    if nothing_known(value) or f.definition is None or isinstance(value, Held) and isinstance(value.value, Special):
        return value
    name, fields = target.id, fields_read_lazily(f, source)
    if is_hidden(name):  # an attribute of an object that is made
        if fields:
            raise Refused(HELD["iterator"])
        return _remaining(f, s, value)
    rest = after(f.definition.body, s) or f.definition.body
    if fields:
        used = [x for x in rest if reads(x, name)]
        f.kept_iterators.append((fields, s.lineno, max((x.end_lineno or x.lineno for x in used), default=0)))
    if _names_read(source) & _changed_before_used(f, rest, name):
        f.rebind(name, unknown())
        raise Refused(HELD["iterator"])
    if uses(rest, name) >= SEVERAL:
        if not _always_iterator(f, source):
            f.rebind(name, unknown())
            raise Refused(HELD["iterator"])
        return _remaining(f, s, value)
    if name in _names_read(source) and name in f.iterators_named:  # `order = reversed(order)`
        f.read_lazily[source] = fields
    f.rebind(name, value if is_iterator(value) else Held("iterator", value))
    f.iterators_named[name] = source
    return None


def _names_read(source: ast.AST) -> set[str]:
    """The names from outside of an expression that it reads, without those that its comprehensions bind."""
    match source:
        case ast.Name(name):
            return {name}
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            first = source.generators[0]
            inside = [x for x in children(source) if x is not first]
            read = {name for x in (*inside, *first.ifs) for name in _names_read(x)}
            return _names_read(first.iter) | read - set(assigned([g.target for g in source.generators]))
    return {name for x in children(source) for name in _names_read(x)}


def fields_read_lazily(f: Frame, node: ast.expr, seen: frozenset[str] = frozenset()) -> set[Key]:
    """The fields of objects from which elements of iterators in an expression are computed, where not all of them are taken at
    once. `seen` has the names of iterators that were followed to get there."""
    if node in f.taken_at_once or isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        return set()
    if isinstance(node, ast.Name) and node.id in f.iterators_named and node.id not in seen:
        return fields_read_lazily(f, f.iterators_named[node.id], seen | {node.id})
    inside = (fields_read_lazily(f, x, seen) for x in children(node) if isinstance(x, ast.expr))
    return f.read_lazily.get(node, set()).union(*inside)


def own_iterator(f: Frame, target: ast.expr, value: Value) -> None:
    """Note that only its name refers to an iterator that was just assigned."""
    if kind(value) == "iterator" and isinstance(target, ast.Name):
        f.owned |= {target.id} if holds_parts(f, value) else claims(target.id)


def _changed_before_used(f: Frame, rest: Sequence[ast.stmt], name: str) -> set[str]:
    """The names to which statements assign, or whose lists or objects they change, up to the last one that reads `name`."""
    last = max((i for i, s in enumerate(rest) if reads(s, name)), default=-1)
    between = rest[: last + 1]
    changed = {x for x in assigned(between) if x != name}
    return changed if f.function is None or f.definition is None else changed | f.changed_roots(between)


def _remaining(f: Frame, node: ast.AST, value: Any) -> Value:
    """What an iterator gives as a list of the kind "iterator". Raises Refused."""
    items = as_list(f, node, value.value if is_iterator(value) else value)
    if nothing_known(items):
        return unknown()
    if not is_list(items):
        raise Refused(HELD["iterator"])
    return retyped(items, replace(type_of(items), kind=ITERATOR))  # type: ignore[arg-type]


@handles(ITERATION, "iterator")
def _walked(f: Frame, value: Dyn) -> Value:
    if _is_used_up(f, value):
        return as_kind(value, LIST)
    raise Refused("an iterator that has a name and several uses is used by `next` alone", "write list(...) where it is made")


def one_by_one(f: Frame, s: ast.For) -> ast.For | ast.While:
    """A loop over an iterator that is also read elsewhere, rewritten so that each round takes an item by `next`."""
    if not isinstance(s.iter, ast.Name) or s.iter.id in stored([s.target, *s.body]) or not f.is_builtin("next"):
        return s  # one that gets another value in the loop still goes through what it had
    with f.trial():
        value = f.borrowed(s.iter)
    if kind(value) != "iterator" or not isinstance(value, Dyn) or _is_used_up(f, value):
        return s
    if s not in _loops:
        text = "while left(words):\n    target = next(words)\n    body"
        (_loops[s],) = quoted(s, text, left=CompiledNode(Static(has_more)), words=s.iter, target=s.target, body=s.body)
    return _loops[s]  # type: ignore[return-value]


def _is_used_up(f: Frame, value: Dyn) -> bool:
    """Whether the expression that walks over an iterator takes all remaining items, and nothing asks for more later. That holds
    if the iterator has one name, which is no parameter, and each expression that reads that name, other than `next` and to give
    it to a function of the model, is the last that does."""
    names = [name for name, v in f.env.items() if isinstance(v, Dyn) and v.atom == value.atom]
    if len(names) != 1 or names[0] not in f.owned or f.definition is None or _compiled_function(f) is None:
        return False
    if names[0] in all_parameters(f.definition):  # the caller, or the function around this one, may ask for more
        return False
    (name,) = names
    body = f.definition.body
    given = {id(x.args[0]) for x in every_node(f.definition) if _is_next(x)}
    calls = (x for x in every_node(f.definition) if isinstance(x, ast.Call) and _calls_own_function(f, x))
    given |= {id(argument) for x in calls for argument in (*x.args, *(k.value for k in x.keywords))}
    read = [x for x in every_node(f.definition) if isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Load)]
    around = [innermost(body, x) for x in read if id(x) not in given]
    return all(s is not None and uses([s], name) == 1 and not uses(after(body, s), name) for s in around)


def _calls_own_function(f: Frame, call: ast.Call) -> bool:
    """Whether a call is one of a function of the model, which takes what it needs of an iterator."""
    match f.callees.get(call):
        case Static(FunctionType() as function):
            return function not in FUNCTIONS
        case Nested() | Method(function=FunctionType()):
            return True
    return False


def _is_next(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next" and bool(node.args)
