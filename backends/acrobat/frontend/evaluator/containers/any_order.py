"""Comprehensions over sets where the order does not matter: in a set, or as the argument of `sorted`, `any` and the like; and
what is counted in a Counter whose order nothing shows."""

from __future__ import annotations

import ast
import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from backends.acrobat.core.types import INT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import no_order
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.kinds import is_unknown, type_or_none, variable_of
from backends.acrobat.frontend.syntax_nodes import all_parameters, before_brackets, every_node, mentions, names_in
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Static, Value

Comprehension = TypeVar("Comprehension", bound=ast.ListComp | ast.GeneratorExp)
WITHOUT_ORDER = (any, all, set, frozenset, sorted, min, max, sum)
"""Functions whose result does not depend on the order of the numbers, strings and tuples of these that they walk over; that of
`sum` depends on the order of floats."""


class AnyOrder(ast.expr):
    """A node of the syntax tree for a set that is walked over as a list, since the result does not depend on the order. When it
    was compiled, `is_set` says whether the value was a set; others are walked over as they are."""

    _fields = ("whole",)

    def __init__(self, whole: ast.expr) -> None:
        super().__init__()
        self.whole = whole
        self.is_set = False


@handles(EXPRESSIONS, AnyOrder)
def _listed(f: Frame, node: AnyOrder, hint: str) -> Value:
    whole = containers.as_set(f, node, f.borrowed(node.whole))
    node.is_set |= containers.kind_of(whole) == "set"
    return containers.in_any_order(f, node, whole)


def in_any_order(f: Frame, node: Comprehension) -> Comprehension:
    """A comprehension that may compute its elements in any order: the same one, or where it walks over sets, one that walks
    over the lists of their elements. Raises Refused if computing these changes something."""
    generators, bound = [], set[str]()
    written = [part for g in node.generators for part in _without_chain(f, g)]
    for g in written:
        if bound & set(names_in(g.iter)):  # another one in each round
            listed: AnyOrder | None = ast.copy_location(AnyOrder(g.iter), g.iter)
        else:
            listed = _listed_set(f, g.iter)
        generators.append(g if listed is None else ast.comprehension(g.target, listed, g.ifs, g.is_async))
        bound |= set(names_in(g.target))
    if all(map(operator.is_, generators, written)):
        return node
    with f.isolated_trial() as trial:
        f.expression(ast.copy_location(ast.ListComp(node.elt, generators), node))
    of_sets = [isinstance(g.iter, AnyOrder) and g.iter.is_set for g in generators]
    if not any(of_sets):
        return node
    if trial.changed & set(f.env):
        raise no_order()  # each element may be computed from what the ones before it have changed
    walked = [new if of_set else old for new, of_set, old in zip(generators, of_sets, written, strict=True)]
    return ast.copy_location(type(node)(node.elt, walked), node)


def _listed_set(f: Frame, walked: ast.expr) -> AnyOrder | None:
    """What gives the elements of a set as a list; None for what is no set."""
    listed = ast.copy_location(AnyOrder(walked), walked)
    with f.trial():
        f.expression(listed)
    return listed if listed.is_set else None


def over_set(f: Frame, node: ast.Call, callee: Value, hint: str) -> Value | None:
    """Compiles calls such as `sum(f(x) for x in s)` over a set, or a Counter of one, if the order of the set cannot change the
    result; None for other calls. Raises Refused if the order may change the result."""
    if not isinstance(callee, Static) or len(node.args) != 1:
        return None
    counts = callee.value is Counter
    if counts and shows_order(f, node) or not counts and not any(callee.value is x for x in WITHOUT_ORDER):
        return None
    if isinstance(node.args[0], ast.BinOp) and not node.keywords:
        return _of_sum(f, node, callee.value, node.args[0], hint)
    written = _as_comprehension(f, node.args[0], counts)
    if written is None:
        return None
    key = next((k.value for k in node.keywords if k.arg == "key"), None)
    if key is not None and not _has_element(key) and callee.value not in (min, max):
        return None
    listed: ast.expr = in_any_order(f, written)
    if listed is written:  # it walks over no sets
        return None
    if key is not None and not _has_element(key):  # of a set is checked that only one element has the lowest or highest key
        listed = ast.copy_location(ast.SetComp(written.elt, written.generators), written)
    return _of_listed(f, node, callee.value, listed, hint)


def _of_listed(f: Frame, node: ast.Call, function: Any, listed: ast.expr, hint: str) -> Value:
    """What the called function gives of elements that are `listed` in any order. Raises Refused if the order may change it."""
    result = f.expression(ast.copy_location(ast.Call(node.func, [listed], node.keywords), node), hint)
    f.added.pop(variable_of(result), None)  # of a set that is made in any order
    if is_unknown(result) or function is not sum and _is_plain(type_or_none(result)) or type_or_none(result) == INT:
        return result
    raise no_order()  # a sum of floats, or the order of objects that are equal to each other


def _of_sum(f: Frame, node: ast.Call, function: Any, whole: ast.BinOp, hint: str) -> Value | None:
    """A call with lists that are joined by `+`, of which some are comprehensions over sets; None if none is."""

    def listed(part: ast.expr) -> ast.expr:
        match part:
            case ast.BinOp(left, ast.Add(), right):
                return ast.copy_location(ast.BinOp(listed(left), ast.Add(), listed(right)), part)
            case ast.ListComp():
                return in_any_order(f, part)
            case ast.Call(ast.Name("list"), [of_set], []) if f.is_builtin("list"):
                return _listed_set(f, of_set) or part
        return part

    joined = listed(whole)
    same = ast.dump(joined) == ast.dump(whole)
    return None if same else _of_listed(f, node, function, joined, hint)


def list_in_any_order(f: Frame, node: ast.ListComp | ast.GeneratorExp) -> ast.ListComp | ast.GeneratorExp:
    """A comprehension as it is, or where it walks over sets and has a name that is used in ways only that do not show the order
    of a list, one that walks over the lists of their elements. Raises Refused as `in_any_order`."""
    name = next((name for name, value in _named_expressions(f) if value is node), None)
    return node if name is None or _list_order_is_seen(f, name) else in_any_order(f, node)


def with_places_in_any_order(f: Frame, s: ast.Assign) -> ast.Assign:
    """`x[list(places)] = 0.0` of a set of places, which all get one constant, with a list of them in any order; other
    statements as they are."""
    match s:
        case ast.Assign(
            [ast.Subscript(owner, ast.Call(ast.Name("list" as function), [whole], [])) as target],
            ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant()) | ast.Call(ast.Name("float"), [ast.Constant()], []),
        ) if f.is_builtin(function) and (listed := _listed_set(f, whole)) is not None:
            new = ast.copy_location(ast.Subscript(owner, listed, ast.Store()), target)
            return ast.copy_location(ast.Assign([new], s.value), s)
    return s


def _list_order_is_seen(f: Frame, name: str) -> bool:
    """Whether the function uses a list in a way that shows its order: other than to ask how long it is or what it has, to sort
    it, and to set the parts of a tensor at these places to a constant."""

    def unordered(x: ast.AST) -> Iterable[ast.AST]:
        match x:
            case ast.Call(ast.Name("len" | "bool" | "sorted" | "set" as function), [whole], named) if f.is_builtin(function):
                return [whole] if not any(k.arg == "key" for k in named) else []
            case ast.If(test) | ast.While(test) | ast.IfExp(test):
                return _truths(test)
            case ast.Assign([ast.Subscript(_, places)], ast.Constant()):
                return [places]
        return []

    return _is_used_otherwise(f, name, unordered)


def _truths(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test of which only the truth counts."""
    yield test
    for part in test.values if isinstance(test, ast.BoolOp) else ():
        yield from _truths(part)


def counted_in_any_order(f: Frame, counter: ast.expr, method: str, counted: ast.expr) -> ast.expr:
    """The argument of a method of a Counter that counts its elements: itself, or where that is a set, or a comprehension over
    sets, one that walks over the lists of their elements, if the order of the Counter does not show."""
    if method not in ("update", "subtract") or not isinstance(counter, ast.Name) or not _is_made_here(f, counter.id):
        return counted
    written = None if order_is_seen(f, counter.id) else _as_comprehension(f, counted, True)
    listed = None if written is None else in_any_order(f, written)
    return counted if listed is None or listed is written else listed


def _is_made_here(f: Frame, name: str) -> bool:
    """Whether all that a name of the function ever stands for are Counters which alone it refers to."""
    if f.definition is None or name not in f.owned:
        return False
    made = [v for given, v in _named_expressions(f) if given == name and f.callees.get(v) == Static(Counter)]  # type: ignore[call-overload]
    return 0 < len(made) == len(mentions(f.definition, name, ast.Store))


def _named_expressions(f: Frame) -> Iterator[tuple[str, ast.expr]]:
    """The names to which the function assigns what an expression gives, with these expressions."""
    for s in every_node(f.definition) if f.definition is not None else ():
        match s:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                yield name, value
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                yield from ((t.id, v) for t, v in zip(targets, values, strict=True) if isinstance(t, ast.Name))


def _as_comprehension(f: Frame, node: ast.expr, also_sets: bool) -> ast.ListComp | ast.GeneratorExp | None:
    """A comprehension as it is, and what `chain` joins as one; with `also_sets`, the elements of anything else too, which may
    be a set. None for other expressions."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return node
    if isinstance(node, ast.Starred) or not also_sets and _joined(f, node) is None:
        return None
    return quoted_expression(node, "(item for item in whole)", item=hidden("item", node), whole=node)  # type: ignore[return-value]


def _without_chain(f: Frame, g: ast.comprehension) -> list[ast.comprehension]:
    """`for x in chain.from_iterable(xs)` as `for part in xs for x in part`; others as they are."""
    wholes = _joined(f, g.iter)
    if wholes is None:
        return [g]
    part = hidden("part", g.iter)
    outer, inner = (ast.copy_location(ast.Name(part, ctx), g.iter) for ctx in (ast.Store(), ast.Load()))
    return [ast.comprehension(outer, wholes, [], 0), ast.comprehension(g.target, inner, g.ifs, 0)]


def _joined(f: Frame, node: ast.expr) -> ast.expr | None:
    """The xs of `chain.from_iterable(xs)` and `chain(*xs)`; None for other expressions."""
    match node:
        case ast.Call(function, [ast.Starred(wholes)] | [wholes], []):
            with f.trial():
                callee = f.borrowed(function)
            meant: Any = itertools.chain if isinstance(node.args[0], ast.Starred) else itertools.chain.from_iterable
            return wholes if isinstance(callee, Static) and callee.value == meant else None
    return None


def _has_element(key: ast.expr) -> bool:
    """Whether a `key` function returns its argument as a part of the key, so that different elements have different keys."""
    match key:
        case ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), ast.Tuple(parts) | ast.List(parts)):
            return any(isinstance(x, ast.Name) and x.id == name for x in parts)
        case ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), ast.Name(given)):
            return given == name
    return False


def _is_plain(t: Any) -> bool:
    """Whether a type is that of numbers and strings, or of tuples, lists and sets of these."""
    parts = t.items if isinstance(t, TupleT) else [t.item] if isinstance(t, ListT) and t.rows is None else None
    return isinstance(t, ScalarT) or t == SYMBOL if parts is None else all(map(_is_plain, parts))


def shows_order(f: Frame, made: ast.expr) -> bool:
    """Whether the order of the keys of the dictionary that an expression makes may be seen: it is not bound to a single name,
    or that name is used in ways that show the order (`order_is_seen`)."""
    counts = isinstance(made, ast.Call)
    return next((order_is_seen(f, name, counts) for name, value in _named_expressions(f) if value is made), True)


def order_is_seen(f: Frame, name: str, counts: bool = True) -> bool:
    """Whether the function uses a dictionary in a way that shows the order of its keys: other than to look up or change entries
    and to ask which it has, or, if its values are counts, for the highest, the lowest, the sum and the sorted list of them."""
    if f.definition is None or not mentions(f.definition, name, ast.Store):  # of a function around this one
        return True
    entries = {*before_brackets(f.definition)}

    def unordered(x: ast.AST) -> Iterable[ast.AST]:
        match x:
            case ast.Call(ast.Name("len" | "bool" | "sorted" | "set" as function), [whole], []) if f.is_builtin(function):
                if function == "sorted" and isinstance(whole, ast.Call) and _is_view(whole, "keys", "items"):
                    return [whole, whole.func.value]  # type: ignore[attr-defined]
                return [whole]
            case ast.Call(ast.Attribute(whole, "get" | "pop" | "setdefault" | "update" | "subtract" | "total")):
                return [whole]
            case ast.Call(ast.Name(function), [ast.Call(ast.Attribute(whole)) as view], named) if (
                counts
                and not any(k.arg == "key" for k in named)
                and _is_view(view, "values")
                and function in ("min", "max", "sum", "sorted")
                and f.is_builtin(function)
            ):
                return [whole]
            case ast.If(whole) | ast.While(whole) | ast.IfExp(whole):
                return [whole]
        return [x] if x in entries else []

    return _is_used_otherwise(f, name, unordered)


def _is_used_otherwise(f: Frame, name: str, unordered: Callable[[ast.AST], Iterable[ast.AST]]) -> bool:
    """Whether the function uses a name otherwise than to ask what the value has in it, and where the order does not show:
    `unordered` gives the operands of a node of which that is so. True also for names that are not its own alone."""
    if f.definition is None or name in all_parameters(f.definition) or f.program.carried.is_state(name):
        return True
    asked = set[ast.AST]()
    for x in every_node(f.definition):
        match x:
            case ast.Global(names) | ast.Nonlocal(names) if name in names:
                return True
            case ast.Compare(_, [ast.In() | ast.NotIn()], [whole]) | ast.UnaryOp(ast.Not(), whole):
                asked.add(whole)
            case _:
                asked.update(unordered(x))
    return any(x not in asked for x in mentions(f.definition, name, ast.Load))


def _is_view(node: ast.Call, *methods: str) -> bool:
    """Whether a call is one of these methods of a dictionary, without arguments."""
    return isinstance(node.func, ast.Attribute) and node.func.attr in methods and not node.args and not node.keywords
