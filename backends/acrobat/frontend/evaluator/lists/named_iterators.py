"""Iterators under a name: `words = iter(sentence)`, then `next(words)`.

An iterator is exhausted by its first use. Where a name for one is used once at most, it stands for all that the iterator gives.
Where it is used several times, it is a list of the kind "iterator" with what was not given yet, which `next` changes as `pop`
changes a list; there is no other use of it but as an argument of a function of the model, and one that takes all that is left.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from types import FunctionType
from typing import Any, TypeGuard

from backends.acrobat.core.types import BOOL, ITERATOR, LIST
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.services import Key
from backends.acrobat.frontend.evaluator.lists.iterator_sources import (
    always_iterator,
    behind,
    changed_before_used,
    compiled_function,
    gives_iterator,
    names_read,
    uses_behind,
)
from backends.acrobat.frontend.evaluator.lists.kept_iterators import note_walked, paths_read
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.ownership.ownership import holds_parts
from backends.acrobat.frontend.evaluator.syntax.bodies import stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.evaluator.syntax.reading import reads
from backends.acrobat.frontend.evaluator.syntax.uses import SEVERAL, after, innermost, uses
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, ITERATION, handles
from backends.acrobat.frontend.kinds import as_kind, is_iterator, is_list, kind, nothing_known, retyped, type_of
from backends.acrobat.frontend.specials import Keywords, Method, Nested
from backends.acrobat.frontend.syntax_nodes import all_parameters, children, every_node
from backends.acrobat.frontend.values import HELD, Dyn, Held, Special, Static, TupleV, Value, unknown

_loops: dict[ast.For, ast.stmt] = {}


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
    always = is_one and not isinstance(definition, ast.Lambda) and always_iterator(f, written)
    if not always and (function, name) not in f.program.may_be_lists:
        f.program.may_be_lists.add((function, name))
        f.program.changed = True
    if uses(body, name) < SEVERAL:
        return value
    if not always:
        raise Refused(HELD["iterator"])
    return remaining(f, definition, value)


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
        return kept(f, s, source, value)
    rest = behind(f, s)
    if fields:
        used = [x for x in rest if reads(x, name)]
        f.kept_iterators.append((fields, s.lineno, max((x.end_lineno or x.lineno for x in used), default=0)))
    if changed_before_used(f, s, source, name):
        f.rebind(name, unknown())
        raise Refused(HELD["iterator"])
    if uses_behind(f, s, name) >= SEVERAL:
        if not always_iterator(f, source):
            f.rebind(name, unknown())
            raise Refused(HELD["iterator"])
        return remaining(f, s, value)
    if name in names_read(source) and name in f.iterators_named:  # `order = reversed(order)`
        f.read_lazily[source] = fields
    f.rebind(name, value if is_iterator(value) else Held("iterator", value))
    f.iterators_named[name] = source
    return None


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


def kept(f: Frame, node: ast.AST, source: ast.expr, value: Value) -> Value:
    """An iterator that becomes an attribute of an object, or an entry of a dictionary, as the value that it has there. What it
    goes through is not changed any more under the names that it has here. Raises Refused."""
    if fields_read_lazily(f, source):
        raise Refused(HELD["iterator"])
    for path in paths_read(source):
        note_walked(f, path)
    items = remaining(f, node, value)
    if isinstance(source, ast.Call) and not nothing_known(items) and not holds_parts(f, items):
        f.given_new.add(source)
    return items


def remaining(f: Frame, node: ast.AST, value: Any) -> Value:
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
    path = s.iter
    while isinstance(path, ast.Attribute):  # to which no iterator is assigned but where the object is made
        path = path.value
    if not isinstance(path, ast.Name) or path.id in stored([s.target, *s.body]) or not f.is_builtin("next"):
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
    if len(names) != 1 or names[0] not in f.owned or f.definition is None or compiled_function(f) is None:
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
