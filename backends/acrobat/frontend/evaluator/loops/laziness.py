"""Iterators whose elements change something while they are computed, as `map(self.step, xs)` does where `step` assigns to an
attribute. Python computes an element when it is taken, the compiled program all elements where the iterator is made. That is
the same only where an iterator is used up at the place where it is made, as in `list(...)`."""

from __future__ import annotations

import ast
import itertools
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinMethodType, FunctionType

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.callables.nested import captured, lifted
from backends.acrobat.frontend.evaluator.changes.scope import changed_in
from backends.acrobat.frontend.evaluator.changes.state import variable_assigned
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.loops.plain_keys import compares_by_parts
from backends.acrobat.frontend.evaluator.rewriting.desugar import YIELDED
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, passed_to_calls
from backends.acrobat.frontend.evaluator.syntax.reading import is_own
from backends.acrobat.frontend.kinds import is_iterator
from backends.acrobat.frontend.specials import Method, Nested
from backends.acrobat.frontend.syntax_nodes import names_in
from backends.acrobat.frontend.values import Static, Value

TAKE_ALL = (list, tuple, set, frozenset, dict, sorted, sum, min, max, deque, Counter, OrderedDict)
"""Functions of Python's that take all elements of their only argument before they do anything else."""
LAZY = (map, filter, zip, enumerate, iter)


def note_taken_at_once(f: Frame, node: ast.Call, callee: Value) -> None:
    """If the function called takes all elements of its only argument before anything else is computed, note this of the
    argument."""
    others = any(k.arg != "default" for k in node.keywords if callee != Static(sorted))
    if len(node.args) != 1 or others and not compares_by_parts(node, callee):
        return
    if isinstance(callee, Method):
        takes_all = callee.function is None and callee.name == "join"
    else:
        found = callee.value if isinstance(callee, Static) else None
        takes_all = any(found is x for x in TAKE_ALL) or (isinstance(found, BuiltinMethodType) and found.__name__ == "join")
    if takes_all:
        f.taken_at_once.add(node.args[0])


def put_in_at_once(f: Frame, owner: ast.expr, args: Sequence[ast.expr]) -> None:
    """Note that a method takes all elements of its arguments, and puts each into `owner` before it takes the next one. Raises
    Refused if elements are computed from `owner`, which has changed by then."""
    given_on = isinstance(owner, ast.Name) and owner.id == YIELDED  # which nothing else sees
    sees_nothing = given_on or _is_known_here_only(f, owner, args)
    # a generator may see `owner`
    at_once = (a for a in args if sees_nothing or not isinstance(a, ast.Call) or _is_lazy_call(f, a))
    f.taken_at_once.update(at_once)
    name = root_of(owner)
    if name is not None and any(name in names_read(f, part) for a in args for part in _lazy_parts(f, a)):
        what = f"the elements of this iterator are computed from {f.shown(name)}, into which they are put one after the other"
        raise Refused(what, "write a loop, or `list(...)` around the iterator")


def _is_known_here_only(f: Frame, owner: ast.expr, args: Sequence[ast.expr]) -> bool:
    """Whether `owner` is a list that nothing but a variable of the function refers to, so that no function that is called with
    `args` sees it."""
    if not isinstance(owner, ast.Name) or owner.id not in f.owned or not is_own(f.definition, owner.id):
        return False
    return not any(owner.id in names_in(a) for a in args)


def generated(f: Frame, node: ast.GeneratorExp, work: Callable[[], Value]) -> Value:
    """`work()`, the value of a generator expression. Raises Refused."""
    with f.changes() as everything, f.program.carried.heard() as heard:
        value = work()
    f.read_lazily[node] = heard.read
    changed = everything & set(f.env)
    if changed and (at_once := f.changed_by.get(node.generators[0].iter)):  # Python computes that where the iterator is made
        first, *rest = node.generators
        parts = [node.elt, *first.ifs, *(x for g in rest for x in (g.iter, *g.ifs))]
        inside = {x for part in parts for each in ast.walk(part) for x in f.changed_by.get(each, ())}  # type: ignore[call-overload]
        changed = (changed - at_once) | (changed & inside)
    _refuse(f, node, changed)
    return value


def iterated(f: Frame, node: ast.Call, callee: Value, work: Callable[[], Value]) -> Value:
    """`work()`, the value of a call whose arguments are compiled already. Raises Refused, also if the call changes what the
    elements of an iterator among its arguments are computed from, as a `key` function may that runs between two elements."""
    with f.changes() as everything:
        value = work()
    changed = everything & set(f.env)
    if is_iterator(value) and isinstance(callee, Static) and is_lazy(callee.value):
        _refuse(f, node, changed)
    for argument in node.args if changed else ():
        made_by = f.iterators_named.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
        read = changed & {name for part in _lazy_parts(f, made_by) for name in names_read(f, part)}
        if read and argument not in f.taken_at_once:
            what = f"the elements of this iterator are computed from {f.shown(min(read))}, which the call changes meanwhile"
            raise Refused(what, "write a loop, or `list(...)` around the iterator")
    return value


def changed_while_walked(f: Frame, s: ast.For) -> set[str]:
    """The names that the body of a loop changes while the iterators that it walks over read them: Python computes each element
    from the values that names have when its round begins."""
    read = {name for node in _lazy_parts(f, s.iter) for name in names_read(f, node)}
    if not read or f.function is None:
        return set()
    surely = f.changed_roots(s.body)
    handed = set(passed_to_calls(s.body)) - surely
    changed = {*assigned(s.body), *surely, *(x for x in changed_in(f, s.body) if x not in handed)}
    return {x for x in read & changed if getattr(f.env.get(x), "python_object", None) is None}


def _lazy_parts(f: Frame, node: ast.expr) -> Iterator[ast.AST]:
    """The parts of what a loop walks over that Python computes round by round: elements, conditions, mapped functions."""
    match node:
        case ast.IfExp(_, one, other):
            yield from _lazy_parts(f, one)
            yield from _lazy_parts(f, other)
        case ast.GeneratorExp(elt, [first, *rest]):
            yield from (elt, *first.ifs, *rest)
            yield from _lazy_parts(f, first.iter)
        case ast.Call(callee, args):
            with f.trial():
                function = getattr(f.borrowed(callee), "value", None)
            if is_lazy(function):
                yield from args[:1] if function in (map, filter) else [a for a in args if isinstance(a, ast.Lambda)]
                for a in args:
                    yield from _lazy_parts(f, a)


def _is_lazy_call(f: Frame, node: ast.Call) -> bool:
    with f.trial():
        return is_lazy(getattr(f.borrowed(node.func), "value", None))


def names_read(f: Frame, node: ast.AST) -> Iterator[str]:
    """The names in the scope that a part of an expression reads, also by the functions that it names."""
    for x in ast.walk(node):
        if not isinstance(x, (ast.Name, ast.Attribute)) or not isinstance(x.ctx, ast.Load):
            continue
        if isinstance(x, ast.Name) and x.id in f.env:
            yield x.id
        with f.trial():
            value = f.borrowed(x)
            if variable := variable_assigned(f, x):
                yield variable
        function = _function_of(value)
        if isinstance(value, Nested):
            names = captured(f, value)
            yield from names
            function = lifted(f, value, names)
        if isinstance(function, FunctionType):
            yield from f.program.carried.used_by(function)  # what it reads beside its parameters


def _function_of(value: Value) -> object:
    """The function that a call of a value runs, if it is a function, a method or a module."""
    if isinstance(value, Static):
        return value.value
    if isinstance(value, Method):
        owner = getattr(value.owner, "python_object", None)
        return value.function or getattr(type(owner), value.name, None)
    module = getattr(value, "python_object", None)
    return getattr(getattr(module, "forward", None), "__func__", None)


def is_lazy(function: object) -> bool:
    return any(function is x for x in LAZY) or getattr(function, "__module__", "") == itertools.__name__


def _refuse(f: Frame, node: ast.expr, changed: set[str]) -> None:
    if changed and node not in f.taken_at_once:
        name = f.shown(min(changed))
        what = f"computing the elements of this iterator changes {name}, and Python computes each when it is taken"
        raise Refused(what, "write a loop, or `list(...)` around it")
