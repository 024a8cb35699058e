"""`itertools`, `functools` and Python's functions on iterators. Each result is a list, held as an iterator to be used once."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import operator
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.containers.containers import kind_of
from backends.acrobat.frontend.evaluator.expressions.callees import called
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import is_spread
from backends.acrobat.frontend.evaluator.lists.iterator_sources import gives_iterator
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.lists import as_list, sliced
from backends.acrobat.frontend.evaluator.lists.mapping import flattened, mapped
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.loops.endless import is_endless
from backends.acrobat.frontend.evaluator.loops.laziness import is_lazy
from backends.acrobat.frontend.evaluator.scalars.operators import binary
from backends.acrobat.frontend.evaluator.tables import CALLS, FUNCTIONS, WRITTEN, handles
from backends.acrobat.frontend.kinds import as_tuple, is_list, is_unknown, known, nothing_known, type_of
from backends.acrobat.frontend.specials import Partial
from backends.acrobat.frontend.values import Held, Static, TupleV, Value, guess, unknown
from backends.acrobat.library import iteration


def items_of(f: Frame, node: ast.AST, value: Value) -> Value:
    """`value` as a list of the program. Raises Refused if it cannot be iterated over, or is no list."""
    whole = iterable(f, value)
    result = as_list(f, node, whole)
    if not is_list(result) and not nothing_known(result):
        raise Refused("this takes lists here")
    return result


def _once(value: Value) -> Value:
    return unknown() if nothing_known(value) else Held("iterator", value)


BY_LIBRARY: dict[Any, Callable[..., Any]] = {
    filter: iteration.filtered,
    itertools.compress: iteration.compressed,
    itertools.dropwhile: iteration.dropped_while,
    itertools.filterfalse: iteration.filtered_out,
    itertools.groupby: iteration.grouped,
    itertools.pairwise: iteration.pairwise,
    itertools.starmap: iteration.mapped_to_several,
    itertools.takewhile: iteration.taken_while,
    itertools.zip_longest: iteration.zipped_longest,
}
"""Functions that the library has on lists, with the same parameters."""
ITERATED = {"iterable", "data", "selectors", "first", "second"}
"""Those of their parameters that are walked over."""


def _by_library(theirs: Any, ours: Callable[..., Any]) -> Callable[..., Value]:
    """The handler of a function that the library has."""
    parameters = inspect.signature(ours).parameters
    defaults = {p.name: Static(p.default) for p in parameters.values() if p.default is not p.empty}

    def work(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        bound = CallArguments(theirs.__name__, args, kwargs).bind(*parameters, **defaults)
        values = [items_of(f, node, v) if p in ITERATED else v for p, v in zip(parameters, bound, strict=True)]
        if any(map(nothing_known, values)):
            return unknown()
        return _once(f.call_with(ours, values, node))

    return work


FUNCTIONS |= {theirs: _by_library(theirs, ours) for theirs, ours in BY_LIBRARY.items()}


@handles(FUNCTIONS, itertools.chain)
def _chain(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if len(args) == 1 and isinstance(args[0], Held) and args[0].kind == "spread":
        return _joined(f, node, [args[0].value], {}, "")
    wholes = [iterable(f, a) for a in args]
    if all(isinstance(w, TupleV) for w in wholes):
        return Held("iterator", TupleV(tuple(v for w in wholes for v in w.items)))  # type: ignore[union-attr]
    lists = [as_list(f, node, w) for w in wholes]
    if any(map(nothing_known, lists)):
        return unknown()
    result = lists[0]
    for more in lists[1:]:
        result = binary(f, node, ast.Add(), result, more)
    return _once(result)


@handles(WRITTEN, itertools.chain.from_iterable, itertools.chain)
def _of_iterators(f: Frame, node: ast.Call, function: Any) -> Value | None:
    """`chain.from_iterable(combinations(xs, r) for r in sizes)`: the iterators that a comprehension gives are taken as lists,
    each of which is used once. None for other calls."""
    match node.args, node.keywords:
        case [ast.GeneratorExp() | ast.ListComp() as made], [] if function is not itertools.chain:
            pass
        case [ast.Starred(ast.GeneratorExp() | ast.ListComp() as made)], [] if function is itertools.chain:
            pass
        case _:
            return None
    if not isinstance(made.elt, ast.Call):
        return None
    with f.trial():
        callee = f.borrowed(made.elt.func)
    if not isinstance(callee, Static) or not is_lazy(callee.value):
        return None
    listed = copy(made)
    listed.elt = ast.copy_location(ast.Call(ast.copy_location(CompiledNode(Static(list)), made), [made.elt], []), made.elt)
    return _joined(f, node, [f.borrowed(listed)], {}, "")


@handles(FUNCTIONS, itertools.chain.from_iterable)
def _joined(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (xs,) = CallArguments("from_iterable", args, kwargs).bind("iterable")
    whole = iterable(f, xs)
    if isinstance(whole, TupleV):
        return _chain(f, node, list(whole.items), {}, "")
    if is_unknown(whole):
        return unknown()
    if not is_list(whole) or not isinstance(whole.type.item, ListT):  # type: ignore[union-attr]
        raise Refused("`chain.from_iterable` takes a list of lists here")
    if kind_of(guess(whole.type.item)):  # type: ignore[union-attr]
        whole = mapped(f, [whole], partial(iterable, f))  # the keys of dictionaries; the order of sets is not known
    return unknown() if nothing_known(whole) else _once(flattened(f, whole))  # type: ignore[arg-type]


@handles(FUNCTIONS, itertools.combinations, itertools.combinations_with_replacement, itertools.permutations)
def _choices(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    which = ast.unparse(node.func).rpartition(".")[2]
    xs, r = CallArguments(which, args, kwargs).bind("iterable", "r", r=Static(None))
    whole = iterable(f, xs)
    if nothing_known(r):
        return unknown()
    count = known(r)[1] if known(r)[0] else -1
    if isinstance(whole, TupleV) and known(r)[0]:
        chosen = getattr(itertools, which)(range(len(whole.items)), *([] if count is None else [count]))
        return Held("iterator", TupleV(tuple(TupleV(tuple(whole.items[i] for i in places)) for places in chosen)))
    of_list = {
        ("combinations", 2): iteration.pairs,
        ("combinations", 3): iteration.triples,
        ("combinations_with_replacement", 2): iteration.pairs_with_themselves,
        ("permutations", 2): iteration.ordered_pairs,
        ("permutations", 3): iteration.ordered_triples,
    }
    items = items_of(f, node, whole)
    if nothing_known(items):
        return unknown()
    if (which, count) in of_list:
        return _once(f.program.call(f, node, of_list[which, count], [items], {}))
    if r == Static(None) and which != "permutations":
        raise Refused(f"`{which}` takes a list and how many of it are chosen")
    number = length(f, items) if r == Static(None) else opened(f, node, r)
    of_any_number = {
        "combinations": iteration.combinations,
        "combinations_with_replacement": iteration.combinations_with_replacement,
        "permutations": iteration.permutations,
    }
    return _once(f.program.call(f, node, of_any_number[which], [items, number], {}))


@handles(FUNCTIONS, itertools.tee)
def _tee(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    xs, n = CallArguments("tee", args, kwargs).bind("iterable", "n", n=Static(2))
    items = items_of(f, node, xs)
    return TupleV(tuple(_once(items) for _ in range(constant(n, "how many iterators `tee` makes"))))


@handles(FUNCTIONS, itertools.product)
def _product(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    times = constant(kwargs.get("repeat", Static(1)), "`repeat`")
    if times == len(args) == 1 and is_spread(args[0]):  # `product(*lists)`
        rows = f.call_with(iteration.product_of_all, [args[0].value], node)
        return unknown() if is_unknown(rows) else _once(mapped(f, [rows], as_tuple))
    wholes = [iterable(f, a) for a in args] * times
    if all(isinstance(w, TupleV) for w in wholes):
        chosen = itertools.product(*(w.items for w in wholes))
        return Held("iterator", TupleV(tuple(TupleV(t) for t in chosen)))
    lists = [as_list(f, node, w) for w in wholes]
    if any(map(nothing_known, lists)):
        return unknown()
    rows = f.call_with(iteration.in_tuples, lists[:1], node)
    for items in lists[1:]:
        rows = unknown() if is_unknown(rows) else f.call_with(iteration.with_each, [rows, items], node)
    return _once(rows)


@handles(FUNCTIONS, itertools.accumulate)
def _accumulate(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    xs, function, initial = CallArguments("accumulate", args, kwargs).bind(
        "iterable", "func", "initial", func=Static(operator.add), initial=Static(None)
    )
    items = items_of(f, node, xs)
    function = Static(operator.add) if function == Static(None) else function
    if nothing_known(items) or nothing_known(initial):
        return unknown()
    if initial == Static(None):
        return _once(f.call_with(iteration.accumulated, [function, items], node))
    return _once(f.call_with(iteration.accumulated_from, [function, items, initial], node))


@handles(FUNCTIONS, itertools.islice)
def _islice(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if not 2 <= len(args) <= 4:
        raise Refused("`islice` takes a list and its bounds here")
    if len(args) == 2 and is_endless(args[0]):
        return _once(args[0].value.first(args[1]))  # type: ignore[union-attr]
    bounds = [Static(None), args[1], Static(None)] if len(args) == 2 else [*args[1:], Static(None)][:3]
    items = items_of(f, node, args[0])
    if any(isinstance(b, Static) and isinstance(b.value, int) and b.value < 0 for b in bounds):
        raise Refused("`islice` takes bounds that are not negative")
    return _once(sliced(f, node, items, *bounds))


@handles(FUNCTIONS, iter)
def _iter(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (xs,) = CallArguments("iter", args, kwargs).bind("object")
    return _once(iterable(f, xs))


@handles(FUNCTIONS, next)
def _next(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`next` of an iterator that is made for this call, so that its further items are not used."""
    xs, *default = CallArguments("next", args, kwargs).bind("iterator", "default", default=Held("index", Static(None)))
    if is_endless(xs):
        xs = Held("iterator", xs.value.first(Static(1)))  # type: ignore[union-attr]
    elif is_list(xs) and gives_iterator(f, node.args[0]):
        xs = Held("iterator", xs)
    if not isinstance(xs, Held) or xs.kind != "iterator":
        if nothing_known(xs):
            return unknown()
        raise Refused("`next` takes an iterator that is made for it, as in `next(x for x in xs if ...)`")
    if isinstance(xs.value, TupleV) and xs.value.items:
        return xs.value.items[0]
    items = as_list(f, node, iterable(f, xs))
    if is_unknown(items) or nothing_known(items):
        return unknown()
    if len(args) < 2:
        return f.host("list.get", [items, Static(0)], type_of(items).item, "first")
    there = f.host("gt", [length(f, items), Static(0)], f.atom(Static(True)).type)
    at = lambda: f.host("list.get", [items, Static(0)], type_of(items).item, "first")  # noqa: E731
    return choose(f, node, there, at, lambda: default[0])


# ---- functools


@handles(FUNCTIONS, functools.reduce)
def _reduce(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`functools.reduce` by any function but an addition, which `sums.total` compiles."""
    function, xs, *start = args
    items = as_list(f, node, iterable(f, xs))
    if isinstance(items, TupleV):  # of modules, which no list of the program holds
        if not (start or items.items):
            return fail(f, "TypeError: reduce() of empty iterable with no initial value")
        return functools.reduce(lambda total, item: called(f, node, function, [total, item], {}), (*start, *items.items))
    items = items_of(f, node, items)
    if nothing_known(items) or any(map(nothing_known, start)):
        return unknown()
    if not start:
        return f.call_with(iteration.reduced_alone, [function, items], node)
    return f.call_with(iteration.reduced, [function, items, start[0]], node)


@handles(FUNCTIONS, functools.partial)
def _partial(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if not args:
        raise Refused("`partial` takes a function")
    return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))


@handles(CALLS, Partial)
def _called(f: Frame, node: ast.AST, callee: Partial, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return called(f, node, callee.function, [*callee.args, *args], {**dict(callee.kwargs), **kwargs}, hint)
