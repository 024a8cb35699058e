"""Segment operations: softmax along a list and the sum that it weights become one operation, `list_softmax`; if the scores are
products of one query with a list of keys, these join too (`list_attention`). Each is one kernel over the rows of a ragged
tensor, in place of kernels for every item and lists of their results (the idea is CoRa's: Fegade et al., MLSys 2022).

The pass looks for the form that `torch.softmax(x, 0)` and a product with it, or a user's own loop, have after earlier passes:

    highest = list_max(scores)
    powers  = [exp(score - highest) for score in scores]
    total   = list_sum(powers)
    shares  = [power / total for power in powers]
    result  = list_sum([share * value for share, value in zip(shares, values)])

and, for attention, scores `[scale * (query . key) for key in keys]`. The lists between must have no other uses, and all lists
must be known to have one length.

Source: the operations are CoRa's (Fegade et al., MLSys 2022); finding them is our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.reductions import without_trailing_ones
from backends.acrobat.core.types import ListT, TensorT
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Atom, Expr, Field, Function, Host, Lit, Map, Op, Program, Var, Weight
from backends.acrobat.ir.renaming import Names, names_of
from backends.acrobat.ir.visitor import Binding, from_lets, lets, map_bodies
from backends.acrobat.ir.work import is_view
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.lengths import Lengths
from backends.acrobat.passes.variables import Variables


@dataclass(frozen=True, slots=True)
class ListItem:
    """Any item of the list `xs`."""

    xs: Var


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of `op` on items of lists and on values that are the same for all items."""

    op: Op
    args: tuple[Term, ...]


Term: TypeAlias = ListItem | Computed | Var | Lit | Weight


def run(program: Program) -> Program:
    """`program` (simplified, with its reductions of lists as operations) with segment operations."""
    functions = {name: _Segments(f).function() for name, f in program.functions.items()}
    if all(new is old for new, old in zip(functions.values(), program.functions.values(), strict=True)):
        return program
    return remove_dead(replace(program, functions=functions))


class _Segments:
    """Finds the segment operations of one function."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._names = Names(names_of(function))
        self._variables = Variables(function)
        self._lengths = Lengths(self._variables)

    def function(self) -> Function:
        body = self._with_segments(self._function.body)
        return self._function if body is self._function.body else replace(self._function, body=body)

    def _with_segments(self, expr: Expr) -> Expr:
        """The chain with segment operations in place of the values that are found to be ones."""
        bindings, tail = lets(expr)
        out: list[Binding] = []
        for var, value in bindings:
            value = map_bodies(value, self._with_segments)
            segment = self._segment(var, value)
            if segment is not None and segment.type != value.type:
                bound = Var(self._names.fresh(var.name), segment.type, span=value.span)
                out.append((bound, segment))
                segment = replace(make_op("reshape", (bound,), {"shape": _shape(value.type)}), span=value.span)
            out.append((var, segment or value))
        new_tail = map_bodies(tail, self._with_segments)
        same = len(out) == len(bindings) and all(new is old for (_, new), (_, old) in zip(out, bindings, strict=True))
        return expr if same and new_tail is tail else from_lets(out, new_tail)

    # ---- what a list's items are

    def _item(self, xs: Atom) -> Term | None:
        """What each item of a list is, if the list is a map with nothing but operations and fields in its body; else None."""
        loop = self._variables.value(xs)
        if not isinstance(loop, Map):
            return None
        terms: dict[str, Term | tuple[Term, ...]] = {loop.var.name: self._items_of(loop.iterable)}
        bindings, tail = lets(loop.body)

        def term(atom: Atom) -> Term | tuple[Term, ...]:
            return terms.get(atom.name, atom) if isinstance(atom, Var) else atom

        for var, value in bindings:
            match value:
                case Field(of, index) if isinstance(parts := term(of), tuple):
                    terms[var.name] = parts[index]
                case Op():
                    args = [term(a) for a in value.args]
                    if any(isinstance(a, tuple) for a in args):
                        return None
                    terms[var.name] = Computed(value, tuple(a for a in args if not isinstance(a, tuple)))
                case _:
                    return None
        item = term(tail) if isinstance(tail, Var) else None
        return None if isinstance(item, tuple) else item

    def _items_of(self, iterable: Atom) -> Term | tuple[Term, ...]:
        """An item of the list that a map goes over; of a `zip` the tuple of an item of each list."""
        zipped = self._variables.value(iterable)
        if isinstance(zipped, Host) and zipped.op == "zip":
            return tuple(ListItem(xs) for xs in zipped.args if isinstance(xs, Var))
        assert isinstance(iterable, Var)
        return ListItem(iterable)

    def _own(self, xs: Var, uses: int, by: Var) -> bool:
        """Whether a list has exactly this number of uses, and is computed as often as `by` is."""
        return self._variables.uses(xs) == uses and self._variables.equally_often(xs, by)

    # ---- the patterns

    def _segment(self, result: Var, value: Expr) -> Op | None:
        """The segment operation that gives the same as `value`, perhaps in another shape, if `value` is a weighted sum."""
        if not isinstance(value, Op) or value.op != "list_sum" or not isinstance(value.args[0], Var):
            return None
        summed = value.args[0]
        product = self._item(summed)
        if not isinstance(product, Computed) or product.op.op != "mul" or not self._own(summed, 1, result):
            return None
        for i in (0, 1):
            share, weighted = _below_views(product.args[i]), _below_views(product.args[1 - i])
            if not isinstance(share, ListItem) or not isinstance(weighted, ListItem):
                continue
            if not _for_lines(product.op.args[i].type, product.op.type) or _size(product.op.args[1 - i]) != _size(product.op):
                continue
            scores = self._scores(share.xs, result)
            if scores is None or not self._lengths.equal(share.xs, weighted.xs):
                continue
            attention = self._attention(scores, weighted.xs, result)
            segment = attention or _op_or_none("list_softmax", (scores, weighted.xs), {})
            if segment is not None and _size(segment) == _size(value):
                return replace(segment, span=value.span)
        return None

    def _scores(self, shares: Var, result: Var) -> Var | None:
        """The list of which `shares` is the softmax, if nothing else uses the shares."""
        share = _below_views(self._item(shares))
        if not isinstance(share, Computed) or share.op.op != "div" or not self._own(shares, 1, result):
            return None
        power, total = share.args
        if not isinstance(power, ListItem) or not isinstance(total, Var) or self._variables.uses(total) != 1:
            return None
        if not self._is(total, "list_sum", power.xs) or not self._own(power.xs, 2, result):
            return None
        powers = self._item(power.xs)
        if not isinstance(powers, Computed) or powers.op.op != "exp" or not isinstance(powers.args[0], Computed):
            return None
        shifted = powers.args[0]
        if shifted.op.op != "sub" or not isinstance(shifted.args[0], ListItem) or not isinstance(shifted.args[1], Var):
            return None
        scores, highest = shifted.args[0].xs, shifted.args[1]
        same = self._is(highest, "list_max", scores) and self._variables.equally_often(scores, result)
        return scores if same and highest.type == _item_type(scores) else None

    def _is(self, value: Var, op: str, xs: Var) -> bool:
        """Whether a variable is bound to `op(xs)`."""
        definition = self._variables.value(value)
        return isinstance(definition, Op) and definition.op == op and definition.args == (xs,)

    def _attention(self, scores: Var, values: Var, result: Var) -> Op | None:
        """The `list_attention` with these scores, if they are scaled products of one query with a list of keys."""
        if not self._own(scores, 2, result):
            return None
        scale = 1.0
        term = _below_views(self._item(scores))
        while isinstance(term, Computed) and term.op.op in ("mul", "div"):
            left, right = term.args
            if isinstance(left, Lit) and term.op.op == "mul":
                left, right = right, left
            if not isinstance(right, Lit) or right.value == 0:
                break
            scale = scale * right.value if term.op.op == "mul" else scale / right.value
            term = _below_views(left)
        if not isinstance(term, Computed):
            return None
        factors = _line_by_line(term)
        if factors is None:
            return None
        for i in (0, 1):
            query, key = _below_views(factors[i]), _below_views(factors[1 - i])
            if not isinstance(key, ListItem) or not self._lengths.equal(key.xs, values):
                continue
            while isinstance(query, Var | Weight):
                attention = _op_or_none("list_attention", (query, key.xs, values), {"scale": float(scale)})
                lead = _shape(query.type)[:-1]
                if attention is not None and without_trailing_ones(_shape(_item_type(scores))) == without_trailing_ones(lead):
                    return attention
                view = self._variables.value(query)
                query = view.args[0] if isinstance(view, Op) and is_view(view) and _size(view.args[0]) == _size(view) else None
        return None


def _line_by_line(term: Computed) -> tuple[Term, Term] | None:
    """The two factors of `term` if it multiplies lines (vectors along the last dimension), which lie one after the other in
    both factors, and each line of one with the line at the same place of the other; else None."""
    if term.op.op == "sum" and isinstance(product := term.args[0], Computed) and product.op.op == "mul":
        last = len(_shape(product.op.type)) - 1
        sizes = {_size(a) for a in (*product.op.args, product.op)}
        return product.args[:2] if dict(term.op.attrs)["dim"] == last and len(sizes) == 1 else None  # type: ignore[return-value]
    if term.op.op != "matmul":
        return None
    left, right = (_shape(a.type) for a in term.op.args)
    vectors = left[-2:-1] in ((), (1,)) and (len(right) == 1 or right[-1] == 1)
    return term.args[:2] if vectors and math.prod(left) == math.prod(right) else None  # type: ignore[return-value]


def _for_lines(share: object, result: object) -> bool:
    """Whether a `share` has one element for each position in leading dimensions of `result`, broadcast along the others."""
    s, r = _shape(share), _shape(result)
    lead = without_trailing_ones((*[1] * (len(r) - len(s)), *s))
    return lead == r[: len(lead)] and math.prod(s) == math.prod(lead)


def _below_views(term: Term | None) -> Term | None:
    """The term without the views at its top that show all elements of a tensor, in whatever shape."""
    while isinstance(term, Computed) and is_view(term.op) and _size(term.op.args[0]) == _size(term.op):
        term = term.args[0]
    return term


def _size(e: Op | Atom) -> int | None:
    return e.type.size if isinstance(e.type, TensorT) else None


def _item_type(xs: Var) -> object:
    return xs.type.item if isinstance(xs.type, ListT) else None


def _shape(t: object) -> tuple[int, ...]:
    return t.shape if isinstance(t, TensorT) else ()


def _op_or_none(op: str, args: tuple[Atom, ...], attrs: Mapping[str, float]) -> Op | None:
    try:
        return make_op(op, args, attrs)
    except ShapeError:
        return None
