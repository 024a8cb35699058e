"""Loop-invariant products: a product that is the same in every round of a loop is computed once, before the loop.

    fold y in xs with h = @start                 invariant = linear(x, @"W[4:8]", @b)
      both = cat(h, x)                           fold y in xs with h = @start
      next = linear(both, @W, @b)                  product = linear(h, @"W[0:4]")
      (next,)                                      next = add(product, invariant)
                                                   (next,)

As in the example, where only a part of a product's input is the same in every round, the product of that part moves and is
added to that of the rest: half of the work of an RNN whose input does not change. Reductions move as products do. Element-wise
work moves together with a product or reduction that it feeds or uses; otherwise it stays and joins a kernel of the loop. Work
in a branch moves if it is known that the first round takes the branch. If a loop has no round, the work before it is wasted.

Source: loop-invariant code motion, a standard pass; taking products apart for it is our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.ir.nodes import Expr, Fold, Function, If, Let, Lit, Loop, Op, Program, Var
from backends.acrobat.ir.renaming import Names, names_of
from backends.acrobat.ir.visitor import Binding, binders, free_vars, from_lets, lets, rewrite_chains, walk
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.derivations import Derivations
from backends.acrobat.passes.normal import normalise
from backends.acrobat.passes.products import Products, parts, product
from backends.acrobat.passes.variables import Variables

First: TypeAlias = Mapping[str, int | float | bool]
"""The carried variables whose values in the first round are known, with these values."""


def run(program: Program) -> Program:
    """`program` (in normal form) with loop-invariant products before their loops."""
    derivations = Derivations(program)
    functions = {name: normalise(_LoopInvariants(f, derivations).function()) for name, f in program.functions.items()}
    return remove_dead(replace(program, functions=functions, weights=derivations.weights, derived=derivations.derived))


class _LoopInvariants:
    """Moves invariant work out of the loops of one function, inner ones first."""

    def __init__(self, function: Function, derivations: Derivations) -> None:
        self._function = function
        self._products = Products(Names(names_of(function)), derivations)
        self._variables = Variables(function)

    def function(self) -> Function:
        return replace(self._function, body=rewrite_chains(self._function.body, self._without_invariants))

    def _without_invariants(self, loop: Expr, out: list[Binding]) -> Expr:
        """A loop without the work that moves, whose bindings go to `out`; any other value as it is. Inner loops come first, so
        that what leaves them may then leave the outer one."""
        if not isinstance(loop, Fold | Loop):
            return loop
        changing = {
            v.name for node in walk(loop.body) for v in (*binders(node), *([node.var] if isinstance(node, Let) else []))
        }
        changing |= {v.name for v in loop.vars} | ({loop.var.name} if isinstance(loop, Fold) else set())
        first = {v.name: a.value for v, a in zip(loop.vars, loop.init, strict=True) if isinstance(a, Lit)}
        invariant = self._invariant(loop, changing, first)

        def visit(body: Expr) -> Expr:
            bindings, tail = lets(body)
            staying: list[Binding] = []
            for var, value in bindings:
                linear = product(value)
                if var.name in invariant:
                    out.append((var, value))
                elif linear:
                    staying.append((var, self._split(linear, changing - invariant, staying, out)))
                else:
                    staying.append((var, self._known_arm(value, first, visit)))
            return from_lets(staying, self._known_arm(tail, first, visit))

        return replace(loop, body=visit(loop.body))

    def _known_arm(self, value: Expr, first: First, visit: Callable[[Expr], Expr]) -> Expr:
        """The value; if it is a branch and it is known which arm the first round takes, then with this arm visited."""
        if not isinstance(value, If) or not isinstance(value.cond, Var) or value.cond.name not in first:
            return value
        if first[value.cond.name]:
            return replace(value, then=visit(value.then))
        return replace(value, orelse=visit(value.orelse))

    def _invariant(self, loop: Fold | Loop, changing: set[str], first: First) -> set[str]:
        """The variables of the body's work that moves: the products and reductions whose operands do not change, and such work
        that computes their operands or uses their results. `changing`: the variables that the loop or its body binds."""
        unchanging: dict[str, Op] = {}
        for var, value in self._certain(loop.body, first):
            if isinstance(value, Op) and OPS[value.op].fusion is not Fusion.ADDRESS:
                if free_vars(value) & changing <= unchanging.keys():
                    unchanging[var.name] = value
        leaving = {name for name, op in unchanging.items() if OPS[op.op].fusion in (Fusion.PRODUCT, Fusion.REDUCTION)}
        for name, op in unchanging.items():  # in order: what follows
            if free_vars(op) & leaving:
                leaving.add(name)
        for name, op in reversed(unchanging.items()):
            if name in leaving:
                leaving |= free_vars(op) & unchanging.keys()
        return leaving

    def _certain(self, body: Expr, first: First) -> Iterator[Binding]:
        """The bindings that the first round is known to evaluate."""
        bindings, tail = lets(body)
        for var, value in bindings:
            yield var, value
            yield from self._certain_in(value, first)
        yield from self._certain_in(tail, first)

    def _certain_in(self, value: Expr, first: First) -> Iterator[Binding]:
        """The bindings in the arm that the first round takes, if the value is a branch and the arm is known."""
        if isinstance(value, If) and isinstance(value.cond, Var) and value.cond.name in first:
            yield from self._certain(value.then if first[value.cond.name] else value.orelse, first)

    def _split(self, linear: Op, changing: set[str], staying: list[Binding], out: list[Binding]) -> Op:
        """The product as a sum: of the product of the changing part of its input, bound in `staying`, and of that of the other
        part with the bias, bound in `out`. The product as it is if its input has only one of these parts."""
        input_parts = parts(linear, self._variables)
        fixed = [p for p in input_parts if not (isinstance(p.atom, Var) and p.atom.name in changing)]
        changing_parts = [p for p in input_parts if p not in fixed]
        if not fixed or not changing_parts:
            return linear
        return self._products.in_two(linear, fixed, changing_parts, "invariant", staying, out)
