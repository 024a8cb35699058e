"""Horizontal fusion (paper): products of one input with several weights (gates; q, k and v) become one with packed weights.

    i = linear(x, @wi)                      packed = linear(x, @"wi+wf")            wi above wf, put together at load
    t = tanh(i)                             i = slice(packed, dim=0, start=0, stop=4)
    f = linear(x, @wf)                      f = slice(packed, dim=0, start=4, stop=8)
                                            t = tanh(i)

Products are packed if they stand in one let chain, have the same input, and their columns form equal groups (`_gates`).
Before that, `run` makes a sum of two products one product of both inputs:

    left  = linear(x, @wx)                  both = cat(x, h)
    right = linear(h, @wh)                  sum  = linear(both, @"wx+wh")           wx beside wh
    sum   = add(left, right)

The condition is that the products have no other use, that both or neither have a static depth, and that both are of one phase,
if the model has `phase` markers. `pack` only packs: it is for gates as a model writes them, before other passes take their
products apart.

Source: the paper's horizontal fusion; the sums of products are our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.dependence import Dependence
from backends.acrobat.analyses.depth import static_depths
from backends.acrobat.analyses.phases import marked_phases
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import TensorT
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Atom, Expr, Function, Op, Program, Var, Weight
from backends.acrobat.ir.renaming import Names, names_of
from backends.acrobat.ir.visitor import Binding, free_vars, from_lets, lets, map_bodies
from backends.acrobat.kernels.fusible import LANES
from backends.acrobat.kernels.lanes import MAX_GATES
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.derivations import Derivations
from backends.acrobat.passes.products import product


def run(program: Program, hoist: bool = True) -> Program:
    """`program` with products packed. With `hoist`, a product of static depth is not added to one of dynamic depth."""
    graph = call_graph(program)
    static = static_depths(program, graph).depths if hoist else {}
    phases = marked_phases(program, graph)
    packing = Derivations(program)
    functions = {}
    for name, function in program.functions.items():
        hoisted = frozenset(var for owner, var in static if owner == name)
        functions[name] = _Packer(function, packing, hoisted, phases if name == program.entry else {}).function()
    return remove_dead(replace(program, functions=functions, weights=packing.weights, derived=packing.derived))


def pack(program: Program) -> Program:
    """`program` with products of one input packed and nothing else changed; sums of products stay."""
    packing = Derivations(program)
    functions = {name: _Packer(f, packing, frozenset(), {}, sums=False).function() for name, f in program.functions.items()}
    return remove_dead(replace(program, functions=functions, weights=packing.weights, derived=packing.derived))


class _Packer:
    """Packs the products of one function. `hoisted`: its variables of a static depth; `phases`: variable -> phase, as markers
    say; `sums`: whether sums of products become products, too."""

    def __init__(
        self, function: Function, packing: Derivations, hoisted: frozenset[str], phases: Mapping[str, int], sums: bool = True
    ) -> None:
        self._function = function
        self._packing = packing
        self._hoisted = hoisted
        self._phases = phases
        self._adds_up = sums
        self._names = Names(names_of(function))

    def function(self) -> Function:
        return replace(self._function, body=self._packed_chain(self._function.body))

    def _packed_chain(self, expr: Expr) -> Expr:
        bindings, tail = lets(expr)
        bindings = [(var, map_bodies(value, self._packed_chain)) for var, value in bindings]
        tail = map_bodies(tail, self._packed_chain)
        return from_lets(self._siblings(self._sums(bindings, tail) if self._adds_up else bindings), tail)

    # ---- sums of products

    def _sums(self, bindings: list[Binding], tail: Expr) -> list[Binding]:
        """The bindings with `linear(x, W) + linear(y, U)`, where allowed, as the product of `cat(x, y)` with `cat(W, U)`."""
        values = {var.name: value for var, value in bindings}
        uses = Counter(name for e in (*values.values(), tail) for name in free_vars(e))
        cats: dict[tuple[Atom, Atom], Var] = {}
        out: list[Binding] = []
        summand_names: set[str] = set()
        for var, value in bindings:
            sides = [product(values[a.name]) for a in _summands(value) if a.name in values and uses[a.name] == 1]
            left, right = sides if len(sides) == 2 else (None, None)
            places = {(a.name in self._hoisted, self._phases.get(a.name)) for a in _summands(value)}
            if left and right and left.type == right.type and len(places) == 1:
                x, y = left.args[0], right.args[0]
                if x == y:
                    cats[x, y] = cast(Var, x)
                elif (x, y) not in cats:
                    both = replace(make_op("cat", (x, y), {"dim": len(_shape(left)) - 1}), span=value.span)
                    cats[x, y] = Var(self._names.fresh("both"), both.type, span=value.span)
                    out.append((cats[x, y], both))
                summand_names |= {a.name for a in _summands(value)}
                value = values[var.name] = self._join(cats[x, y], left, right, value.span)
            out.append((var, value))
        return [binding for binding in out if binding[0].name not in summand_names]

    def _join(self, both: Var, left: Op, right: Op, span: Span) -> Op:
        weights = [cast(Weight, left.args[1]), cast(Weight, right.args[1])]
        weight = self._packing.sum_of(*weights) if left.args[0] == right.args[0] else self._cat(weights, 1)
        assert weight is not None
        biases = [cast(Weight, side.args[2]) for side in (left, right) if len(side.args) > 2]
        bias = self._packing.sum_of(biases[0], biases[1] if len(biases) > 1 else None) if biases else None
        return replace(make_op("linear", (both, weight, bias) if bias else (both, weight)), span=span)

    def _cat(self, weights: Sequence[Weight], dim: int) -> Weight:
        return self._packing.derive("+".join(dict.fromkeys(w.name for w in weights)), "cat", weights, dim=dim)

    # ---- products of one input

    def _siblings(self, bindings: list[Binding]) -> list[Binding]:
        """The bindings with products of one input packed, where the first of them stood."""
        of_input: dict[Atom, list[int]] = {}
        for i, (_, value) in enumerate(bindings):
            if linear := product(value):
                of_input.setdefault(linear.args[0], []).append(i)
        dependence = Dependence(bindings)
        first: dict[int, list[int]] = {}
        for indices in of_input.values():
            for group in _gates(indices, [_shape(bindings[i][1])[-1] for i in indices]):
                assert dependence.independent(group), "what reads one value is not needed for it"
                first[group[0]] = group
        packed = {i for group in first.values() for i in group}
        out: list[Binding] = []
        for i, binding in enumerate(bindings):
            if i in first:
                out += self._pack([bindings[j] for j in first[i]])
            elif i not in packed:
                out.append(binding)
        return out

    def _pack(self, group: list[Binding]) -> list[Binding]:
        """One product with the weights of a group of products side by side, and a slice of its result for each of them."""
        products = [cast(Op, value) for _, value in group]
        weight = self._cat([cast(Weight, p.args[1]) for p in products], 0)
        bias: list[Weight] = []
        if any(len(p.args) > 2 for p in products):
            sizes = [_shape(p)[-1] for p in products]
            zeros = [self._packing.full("zeros", (n,), 0.0) for n in sizes]
            own = [cast(Weight, p.args[2]) if len(p.args) > 2 else zero for p, zero in zip(products, zeros, strict=True)]
            bias = [self._cat(own, 0)]
        packed = replace(make_op("linear", (products[0].args[0], weight, *bias)), span=products[0].span)
        var = Var(self._names.fresh("packed"), packed.type, span=packed.span)
        out: list[Binding] = [(var, packed)]
        start = 0
        for part, packed_product in zip(group, products, strict=True):
            stop = start + _shape(packed_product)[-1]
            attrs = {"dim": len(_shape(packed)) - 1, "start": start, "stop": stop}
            out.append((part[0], replace(make_op("slice", (var,), attrs), span=packed_product.span)))
            start = stop
        return out


def _shape(value: Expr) -> tuple[int, ...]:
    assert isinstance(value.type, TensorT)
    return value.type.shape


def _summands(value: Expr) -> list[Var]:
    """The two variables that an addition adds; [] for anything else."""
    summands = [a for a in value.args if isinstance(a, Var)] if isinstance(value, Op) and value.op == "add" else []
    return summands if len(summands) == 2 else []


def _gates(indices: list[int], columns: list[int]) -> list[list[int]]:
    """The products to pack together, as lists of `indices`. `columns` are their numbers of columns. The columns of a packed
    product have to form equal groups, at most MAX_GATES: that is what a product's epilogue can combine."""
    unit = min(columns)
    if unit % LANES == 0 and all(n % unit == 0 for n in columns) and sum(columns) <= MAX_GATES * unit:
        return [indices] if len(indices) > 1 else []
    out = []
    for n in dict.fromkeys(columns):
        equal = [i for i, own in zip(indices, columns, strict=True) if own == n]
        out += [equal[k : k + MAX_GATES] for k in range(0, len(equal), MAX_GATES)]
    return [group for group in out if len(group) > 1]
