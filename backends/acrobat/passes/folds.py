"""Reductions of a list (`fold_sums`): a loop that only adds something to a variable in each round becomes one operation,
`list_sum`, in place of a chain of additions whose depth grows with the list; likewise `list_max` and `list_min` for chains of
`maximum` and `minimum`. The terms become a `Map`, whose elements are independent of each other and so have one depth.

    both = fold x in xs with a = @zeros, h = @start          added = map x in xs
             t = tanh(x)                                               t = tanh(x)
             a_1 = add(a, t)                                           t
             h_1 = linear(h, @w)                             a_2 = list_sum(added)
             (a_1, h_1)                                      rest = fold x in xs with h = @start
    a_2 = both[0]                                                     h_1 = linear(h, @w)
                                                                      (h_1,)

A variable is reduced if its next value is a chain of one of these operations on it, if nothing else in the loop uses it, if the
terms use no carried variable, and if nothing else needs the work for the terms. A start other than the operation's neutral
value is added (or compared) afterwards.

Source: our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from backends.acrobat.core.reach import reachable
from backends.acrobat.core.types import ListT, TensorT, TupleT
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Atom, Expr, Field, Fold, Function, Host, Lit, Map, Op, Program, Tuple, Var, Weight
from backends.acrobat.ir.renaming import Names, names_of, rename
from backends.acrobat.ir.visitor import Binding, free_vars, from_lets, lets, operands, rewrite_chains, walk, works
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.normal import normalise
from backends.acrobat.passes.simplify import MAX_LENGTH
from backends.acrobat.passes.variables import Variables

REDUCTIONS = {"add": ("list_sum", 0.0), "maximum": ("list_max", -math.inf), "minimum": ("list_min", math.inf)}
"""Operation -> the reduction of a list that a chain of it is, and its neutral value, with which a chain may begin."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """The values (`atoms`) that a loop combines with a variable by `op` in each round."""

    op: str
    atoms: list[Atom]


def run(program: Program) -> Program:
    """`program` (in normal form) with its reductions of lists as operations."""
    functions = {name: normalise(_ListReductions(program, f).function()) for name, f in program.functions.items()}
    return remove_dead(replace(program, functions=functions))


class _ListReductions:
    """Takes the reductions out of the loops of one function."""

    def __init__(self, program: Program, function: Function) -> None:
        self._program = program
        self._function = function
        self._names = Names(names_of(function))
        self._variables = Variables(function)

    def function(self) -> Function:
        return replace(self._function, body=rewrite_chains(self._function.body, self._sums))

    def _sums(self, fold: Expr, out: list[Binding]) -> Expr:
        """The tuple of a loop's last values; reductions, and what is left of the loop, are bound in `out`. Anything but a loop
        that reduces stays as it is."""
        if not isinstance(fold, Fold):
            return fold
        bindings, tail = lets(fold.body)
        if not isinstance(tail, Tuple):
            return fold
        body = {var.name: value for var, value in bindings}
        terms = {i: _terms(var, item, fold, body) for i, (var, item) in enumerate(zip(fold.vars, tail.items, strict=True))}
        reductions = {i: own_terms for i, own_terms in terms.items() if own_terms is not None}
        carried = {v.name for v in fold.vars}
        blocked: int | None = -1
        while blocked is not None:  # a variable that must stay in the loop may make others stay
            blocked = None
            for i, own in reductions.items():
                names = _needed_names(own.atoms, body)
                added = {j: terms.atoms for j, terms in reductions.items()}
                others = [a for j, item in enumerate(tail.items) if j != i for a in added.get(j, [item])]
                dependent = carried & (_names(own.atoms) | names.union(*(free_vars(body[name]) for name in names)))
                if dependent or any(works(body[name]) for name in names & _needed_names(others, body)):
                    blocked = i
            if blocked is not None:
                del reductions[blocked]
        return self._split(fold, bindings, tail, reductions, out) if reductions else fold

    def _split(
        self, fold: Fold, bindings: list[Binding], tail: Tuple, reductions: Mapping[int, _Terms], out: list[Binding]
    ) -> Expr:
        """The tuple of the last values of a fold's variables: those in `reductions` become sums over lists, and the others come
        from a loop that carries them alone. New bindings go to `out`."""
        remaining = [i for i in range(len(fold.vars)) if i not in reductions]
        items: dict[int, Atom] = {}
        for i, terms in reductions.items():
            items[i] = self._sum(fold, bindings, i, terms, out)
        if remaining:
            rest_type = TupleT(tuple(fold.vars[i].type for i in remaining))
            nexts = Tuple(tuple(tail.items[i] for i in remaining), rest_type, span=tail.span)
            needed = _needed_names([*nexts.items], {v.name: e for v, e in bindings})
            body = from_lets([b for b in bindings if b[0].name in needed], nexts)
            carried = tuple(fold.vars[i] for i in remaining)
            loop = replace(fold, vars=carried, init=tuple(fold.init[i] for i in remaining), body=body, type=rest_type)
            short = self._bind("rest", loop, out)
            for k, i in enumerate(remaining):
                items[i] = self._bind(fold.vars[i].name, Field(short, k, fold.vars[i].type, span=fold.span), out)
        return Tuple(tuple(items[i] for i in range(len(fold.vars))), fold.type, span=fold.span)

    def _sum(self, fold: Fold, bindings: list[Binding], i: int, terms: _Terms, out: list[Binding]) -> Atom:
        """The last value of variable `i` of a fold: its first value and all terms, added up. New bindings go to `out`."""
        name, init = fold.vars[i].name, fold.init[i]
        op, neutral = REDUCTIONS[terms.op]
        complete_list = self._all_but_first(fold, init)
        if complete_list is not None and terms.atoms == [fold.var]:
            return self._bind(name, replace(make_op(op, (complete_list,), {"nonempty": True}), span=fold.span), out)
        summed: Atom = self._list_of_terms(fold, bindings, terms, out) if terms.atoms != [fold.var] else fold.iterable
        total = self._bind(name, replace(make_op(op, (summed,), {"nonempty": False}), span=fold.span), out)
        if self._is_filled_with(init, neutral) and total.type == fold.vars[i].type:
            return total
        return self._bind(name, replace(make_op(terms.op, (init, total)), span=fold.span), out)

    def _list_of_terms(self, fold: Fold, bindings: list[Binding], terms: _Terms, out: list[Binding]) -> Var:
        """The list of the terms, one for each item of the loop's list; its bindings go to `out`."""
        needed = _needed_names(terms.atoms, {v.name: e for v, e in bindings})
        inner = [b for b in bindings if b[0].name in needed]
        value = terms.atoms[0]
        for term in terms.atoms[1:]:
            value = self._bind("added", replace(make_op(terms.op, (value, term)), span=fold.span), inner)
        loop = Map(fold.var, fold.iterable, from_lets(inner, value), ListT(value.type), span=fold.span)
        return self._bind("added", rename(loop, self._names), out)

    def _bind(self, name: str, value: Expr, out: list[Binding]) -> Var:
        var = Var(self._names.fresh(name), value.type, span=value.span)
        out.append((var, value))
        self._variables.bind(var, value)
        return var

    def _all_but_first(self, fold: Fold, init: Atom) -> Atom | None:
        """The list whose first item is `init` and over whose others the loop runs (as in `reduce`), if there is one."""
        others = self._variables.value(fold.iterable)
        first = self._variables.value(init)
        if not isinstance(others, Host) or others.op != "list.slice" or not isinstance(first, Host) or first.op != "list.get":
            return None
        (xs, start, stop), (same, index) = others.args, first.args
        end = self._variables.value(stop)
        all_of_it = isinstance(end, Host) and (end.op, end.args) == ("list.len", (xs,))
        to_the_end = all_of_it or (isinstance(stop, Lit) and stop.value >= MAX_LENGTH)
        from_first = xs == same and isinstance(start, Lit) and start.value == 1 and isinstance(index, Lit) and index.value == 0
        return xs if from_first and to_the_end else None

    def _is_filled_with(self, atom: Atom, number: float) -> bool:
        """Whether it is known that each element of a tensor is this number."""
        value = self._variables.value(atom)
        if isinstance(atom, Weight) and atom.name in self._program.derived:
            derived = self._program.derived[atom.name]
            return derived.op == "full" and dict(derived.attrs)["value"] == number
        return isinstance(value, Op) and value.op == "full" and dict(value.attrs)["value"] == number


def _terms(var: Var, item: Atom, fold: Fold, body: Mapping[str, Expr]) -> _Terms | None:
    """The terms that the loop combines with `var`, whose next value is `item`; None if it does anything else with `var`."""
    last = body.get(item.name) if isinstance(item, Var) else None
    if not isinstance(last, Op) or last.op not in REDUCTIONS:
        return None
    op = last.op
    tail = lets(fold.body)[1]
    nodes = [node for e in (*body.values(), tail) for node in walk(e) if not isinstance(node, Var)]
    uses = [a.name for node in nodes for a in operands(node) if isinstance(a, Var)]

    def leads(atom: Atom) -> bool:
        """Whether `atom` is `var`, or is computed from it by operations `op`."""
        value = body.get(atom.name) if isinstance(atom, Var) else None
        return isinstance(atom, Var) and (
            atom.name == var.name or isinstance(value, Op) and value.op == op and any(map(leads, value.args))
        )

    terms: list[Atom] = []
    while not (isinstance(item, Var) and item.name == var.name):
        value = body.get(item.name) if isinstance(item, Var) else None
        if not leads(item) or uses.count(item.name) != 1:  # type: ignore[union-attr]
            return None
        assert isinstance(value, Op)
        left, right = value.args
        if leads(left) and leads(right):
            return None
        item, term = (left, right) if leads(left) else (right, left)
        terms.append(term)
    plain = uses.count(var.name) == 1 and isinstance(var.type, TensorT) and all(isinstance(t.type, TensorT) for t in terms)
    return _Terms(op, terms[::-1]) if plain else None


def _names(atoms: list[Atom]) -> set[str]:
    return {a.name for a in atoms if isinstance(a, Var)}


def _needed_names(atoms: list[Atom], body: Mapping[str, Expr]) -> set[str]:
    """The names in `body` on which these atoms depend, directly or through others."""
    names = reachable(_names(atoms), lambda name: free_vars(body[name]) if name in body else ())
    return {name for name in names if name in body}
