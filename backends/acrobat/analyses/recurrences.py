"""Finds recurrences through the elements of a list: loops for which one depth for a whole list is too coarse.

With inline depth (paper) a list has one depth: each element can be used once all of them have been computed. That loses nothing
where a list is read as a whole, or where nothing computed from it is added to it. It loses batches in a loop that reads one
element of a list, computes with it, and appends the result to the list that the next round reads:

    states = [start]
    for link in links:
        states.append(step(word, states[link]))      inline depth: round n has depth n, also if link is 0 in every round
                                                     own operands: one level after `states[link]`, whatever else is in the list

So DAG-RNN reads the row above, and a lattice LSTM the state before a word's first character. For such a program the compiler
takes the executor that finds depths from each operation's own operands (`dataflow`).

The analysis looks for a cycle in the flow of values within one function that contains tensor work, the reading of an element
(by position or in turn) and an append. Reading `[-1]` does not count, because the last element is as deep as its list, nor do
lists that a `Map` makes, whose elements are usually all of one depth. Calls are not followed: a recursion over a tree makes a
new list of its children's results in each call, and its nodes belong together by the depth of the deepest child.

Source: our own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import TypeAlias

from backends.acrobat.analyses.once import once
from backends.acrobat.core.reach import reachable
from backends.acrobat.core.types import ListT, TupleT, Type
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import lets
from backends.acrobat.ir.work import is_work

Leaf: TypeAlias = tuple[str, int]
"""A variable and the number of one of its leaves. A tuple has the leaves of its items one after the other, a list those of an
element; all else is one leaf."""
Leaves: TypeAlias = Sequence[Leaf]


class Kind(Enum):
    """What happens to a value on its way from one leaf to another."""

    MOVE = auto()
    WORK = auto()
    READ = auto()
    APPEND = auto()


@once
def runs_through_elements(program: n.Program) -> bool:
    """Whether the program has a recurrence through the elements of a list."""
    return any(_Flow(f).has_recurrence() for f in program.functions.values())


def _count(type: Type) -> int:
    match type:
        case TupleT(items):
            return sum(map(_count, items))
        case ListT(item):
            return _count(item)
    return 1


def _leaves(atom: n.Atom) -> Leaves:
    return [(atom.name, i) for i in range(_count(atom.type))] if isinstance(atom, n.Var) else []


def _all(atoms: Sequence[n.Atom]) -> Leaves:
    return [leaf for a in atoms for leaf in _leaves(a)]


class _Flow:
    """Which leaves of one function's variables flow into which."""

    def __init__(self, function: n.Function) -> None:
        self._to: defaultdict[Leaf, set[Leaf]] = defaultdict(set)
        self._from: defaultdict[Leaf, set[Leaf]] = defaultdict(set)
        self._kinds: Mapping[Kind, set[tuple[Leaf, Leaf]]] = {kind: set() for kind in Kind}
        self._into(function.body, [])

    def has_recurrence(self) -> bool:
        for a, b in self._kinds[Kind.APPEND]:
            circle = _reachable(b, self._to) & _reachable(a, self._from)  # all that lies on some way from b to a
            if circle and all(
                any(x in circle and y in circle for x, y in self._kinds[kind]) for kind in (Kind.WORK, Kind.READ)
            ):
                return True
        return False

    def _edge(self, a: Leaf, b: Leaf, kind: Kind) -> None:
        self._to[a].add(b)
        self._from[b].add(a)
        self._kinds[kind].add((a, b))

    def _pair(self, a: Leaves, b: Leaves, kind: Kind = Kind.MOVE) -> None:
        """Enters that each leaf of `a` flows into the leaf of `b` at its place. Weights and literals have no leaves."""
        for x, y in zip(a, b, strict=False):
            self._edge(x, y, kind)

    def _mix(self, a: Leaves, b: Leaves, kind: Kind = Kind.MOVE) -> None:
        """Enters that each leaf of `a` flows into every leaf of `b`."""
        for x in a:
            for y in b:
                self._edge(x, y, kind)

    def _into(self, expr: n.Expr, to: Leaves) -> None:
        """Enters all flow inside `expr`, and that its value flows into `to` (empty for a result that nothing is asked
        about)."""
        match expr:
            case n.Let():
                bindings, tail = lets(expr)
                for var, value in bindings:
                    self._into(value, _leaves(var))
                self._into(tail, to)
            case n.Var():
                self._pair(_leaves(expr), to)
            case n.Op(args=args) | n.Launch(args=args):
                self._mix(_all(args), to, Kind.WORK if is_work(expr) else Kind.MOVE)
            case n.Host():
                self._host(expr, to)
            case n.Tuple(items=items):
                self._parts(items, to)
            case n.Field(value=value, index=index):
                assert isinstance(value.type, TupleT)
                at = sum(map(_count, value.type.items[:index]))
                self._pair(_leaves(value)[at : at + len(to)], to)
            case n.ListOf(items=items):
                for item in items:
                    self._pair(_leaves(item), to)
            case n.Construct(args=args):
                self._mix(_all(args), to)
            case n.If(then=then, orelse=orelse):
                self._into(then, to)
                self._into(orelse, to)
            case n.Match(value=value, arms=arms):
                for arm in arms:
                    self._mix(_leaves(value), _all(arm.vars))
                    self._into(arm.body, to)
            case n.Map(var=var, iterable=iterable, body=body):
                self._pair(_leaves(iterable), _leaves(var), Kind.READ)
                self._into(body, to)
            case n.Fold(var=var, iterable=iterable, vars=carried, init=init, body=body):
                self._pair(_leaves(iterable), _leaves(var), Kind.READ)
                self._carry(carried, init, body, to)
            case n.Loop(vars=carried, init=init, cond=cond, body=body):
                self._into(cond, [])
                self._carry(carried, init, body, to)
            case n.Call() | n.Item() | n.Lit() | n.Weight():
                pass

    def _parts(self, items: Sequence[n.Atom], to: Leaves) -> None:
        """Enters that the items flow into the leaves `to` one after the other, each into as many as it has."""
        at = 0
        for item in items:
            count = _count(item.type)
            self._pair(_leaves(item), to[at : at + count])
            at += count

    def _carry(self, carried: Sequence[n.Var], init: Sequence[n.Atom], body: n.Expr, to: Leaves) -> None:
        every = _all(carried)
        self._parts(init, every)
        self._into(body, every)
        self._pair(every, to)

    def _host(self, expr: n.Host, to: Leaves) -> None:
        """Enter from which leaves of the operands the leaves of a host operation's result come."""
        match expr.op, expr.args:
            case "list.get", (source, at):
                last = isinstance(at, n.Lit) and at.value == -1
                self._pair(_leaves(source), to, Kind.MOVE if last else Kind.READ)
            case "list.append", (source, item):
                self._pair(_leaves(source), to)
                self._pair(_leaves(item), to, Kind.APPEND)
            case "list.concat", sources:
                for source in sources:
                    self._pair(_leaves(source), to, Kind.APPEND)
            case (("zip" | "parallel"), sources):
                self._parts(sources, to)
            case "enumerate", (source,):
                self._pair(_leaves(source), to[1:])
            case (("list.slice" | "list.reverse" | "phase"), (source, *_)):
                self._pair(_leaves(source), to)


def _reachable(start: Leaf, edges: Mapping[Leaf, set[Leaf]]) -> set[Leaf]:
    return reachable([start], lambda leaf: edges.get(leaf, ()))
