"""Static parts of products: what a product in a loop or recursion computes from parts of a static depth leaves its depth.

    x    = row(@E, word)                 x       = row(@E, word)
    both = cat(x, h)                     share   = linear(x, @"W[0:4]", @b)     static: batched with that of all other words
    y    = linear(both, @W, @b)          product = linear(h, @"W[4:8]")         dynamic: one round after the other
                                         y       = add(product, share)

Rounds of a recursion wait for each other, so that each reads the weights again; a mini-batch of few instances does little else.
The share of the static parts is one product for all rounds, and each round reads only the weights of the other parts.

Source: the paper's operator hoisting, which moves whole operators; taking products apart for it is our own.
"""

from __future__ import annotations

from dataclasses import replace

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.depth import DYNAMIC, StaticDepths, static_depths
from backends.acrobat.ir.nodes import Expr, Fold, Function, Loop, Program, Var, Weight
from backends.acrobat.ir.renaming import Names, names_of
from backends.acrobat.ir.visitor import Binding, map_bodies, map_children, rewrite_chains
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.derivations import Derivations
from backends.acrobat.passes.normal import normalise
from backends.acrobat.passes.products import InputPart, Products, parts, product
from backends.acrobat.passes.variables import Variables


def run(program: Program) -> Program:
    """`program` (in normal form) with the products of loops and recursions split where only some of their parts are static."""
    graph = call_graph(program)
    static = static_depths(program, graph)
    derivations = Derivations(program)
    functions = {
        name: normalise(_StaticParts(f, derivations, static).function(repeated=name in graph.recursive))
        for name, f in program.functions.items()
    }
    return remove_dead(replace(program, functions=functions, weights=derivations.weights, derived=derivations.derived))


class _StaticParts:
    """Splits the products of one function."""

    def __init__(self, function: Function, derivations: Derivations, static: StaticDepths) -> None:
        self._function = function
        self._static = static
        self._products = Products(Names(names_of(function)), derivations)
        self._variables = Variables(function)

    def function(self, repeated: bool) -> Function:
        """The function. `repeated`: it is recursive, so that all of its products are worth splitting."""
        body = self._function.body
        return replace(self._function, body=rewrite_chains(body, self._split) if repeated else self._in_loops(body))

    def _in_loops(self, expr: Expr) -> Expr:
        """The expression with the products in its loops split."""
        if isinstance(expr, Fold | Loop):
            return map_bodies(expr, lambda body: rewrite_chains(body, self._split))
        return map_children(expr, self._in_loops)

    def _split(self, value: Expr, out: list[Binding]) -> Expr:
        """A product as the sum of the product of its static parts with the bias and that of the others; a product whose input
        has only one of these kinds, and any other value, as it is."""
        linear = product(value)
        if linear is None:
            return value
        input_parts = parts(linear, self._variables)
        static = [part for part in input_parts if self._is_static(part)]
        dynamic = [part for part in input_parts if part not in static]
        if not static or not dynamic or all(isinstance(part.atom, Weight) for part in static):
            return linear
        return self._products.in_two(linear, static, dynamic, "share", out)

    def _is_static(self, part: InputPart) -> bool:
        if not isinstance(part.atom, Var):
            return True
        depths = self._static.values.get(self._function.name, {}).get(part.atom.name, (DYNAMIC,))
        return all(0 <= depth < DYNAMIC for depth in depths)
