"""Constant work: operations on weights and literals alone are done once, when the model is loaded, and give derived weights.

    wt   = permute(@w, dims=(1, 0))             derive wt = permute(w, dims=(1, 0))
    zero = full(shape=(4,), value=0.0)          derive zero = full(shape=(4,), value=0.0)
    y    = linear(x, wt, zero)                  y = linear(x, @wt, @zero)

An address, such as a row of a table, is no work and stays.

Source: constant folding, a standard pass, applied to weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from backends.acrobat.core.ops import OPS, Fusion, evaluate
from backends.acrobat.core.types import TensorT
from backends.acrobat.core.unwritten import Source, Unwritten
from backends.acrobat.ir.nodes import Atom, Function, Let, Lit, Op, Program, Var, Weight
from backends.acrobat.ir.visitor import walk
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.derivations import Derivations
from backends.acrobat.passes.normal import normalise

LARGE = 1 << 18
"""A product with this many elements or more is a table, not a vector or matrix of weights."""


def run(program: Program) -> Program:
    """`program` with derived weights in place of operations on weights and literals alone."""
    derivations = Derivations(program)
    work = _Work(derivations)
    functions = {name: work.function(f) for name, f in program.functions.items()}
    return remove_dead(replace(program, functions=functions, weights=derivations.weights, derived=derivations.derived))


def evaluate_derived(program: Program) -> dict[str, Source]:
    """name -> value of each derived weight, computed in float64 from the module's parameters and rounded once. Elements that
    only move keep their bits. Only large products (tables) are computed in float32, as in a kernel: for 10,000 words a tenth
    of a second and not half of one. They are computed by those who take them."""
    values: dict[str, Source] = {name: np.asarray(v) for name, v in program.values.items()}
    operands = {a for derived in program.derived.values() for a in derived.args}
    for name, derived in program.derived.items():
        t = program.weights[name]
        is_table = derived.op == "linear" and t.size >= LARGE
        dtype = None if OPS[derived.op].fusion is Fusion.MOVE else np.float32 if is_table else np.float64
        args = [np.asarray(values[a], dtype) for a in derived.args]
        if is_table:
            table = Unwritten(t.shape, partial(_write_table, args))
            values[name] = np.asarray(table) if name in operands else table
        else:
            values[name] = evaluate(derived.op, args, dict(derived.attrs), t)
    return {name: _as_stored(values[name], program.weights[name].dtype) for name in program.derived}


def _write_table(args: Sequence[np.ndarray], table: np.ndarray) -> None:
    """Writes what the operation `linear` gives for large arguments."""
    rows, weight, *bias = args
    np.matmul(rows, weight.T, out=table)
    for b in bias:
        table += b


def _as_stored(value: Source, dtype: str) -> Source:
    """The value as an array of its own in the order of rows: itself where it is one, since tables are large."""
    if isinstance(value, Unwritten):
        return value
    own = value.base is None and value.dtype == dtype and value.flags.c_contiguous
    return value if own else np.array(value, dtype, order="C")


class _Work:
    """Rewrites functions of one program; the weights that it derives are in `derivations`."""

    def __init__(self, derivations: Derivations) -> None:
        self.derivations = derivations

    def function(self, function: Function) -> Function:
        function, atoms = normalise(function), dict[str, Atom]()
        for node in walk(function.body):
            if isinstance(node, Let) and isinstance(node.value, Op) and (weight := self._weight(node.var, node.value, atoms)):
                atoms[node.var.name] = weight
        return normalise(function, atoms=atoms)

    def _weight(self, var: Var, op: Op, atoms: Mapping[str, Atom]) -> Weight | None:
        """The derived weight for `op`, if its operands are weights or literals. `atoms`: variables that are weights now."""
        args = [atoms.get(a.name, a) if isinstance(a, Var) else a for a in op.args]
        if op.op == "scalar" and isinstance(args[0], Lit):
            return replace(self._literal(args[0]), span=op.span)
        if OPS[op.op].fusion is Fusion.ADDRESS or not isinstance(op.type, TensorT) or any(isinstance(a, Var) for a in args):
            return None
        weights = [self._literal(a) if isinstance(a, Lit) else a for a in args if isinstance(a, Weight | Lit)]
        return replace(self.derivations.derive(var.name, op.op, weights, **dict(op.attrs)), span=op.span)

    def _literal(self, lit: Lit) -> Weight:
        return self.derivations.full("literal", (), lit.value)
