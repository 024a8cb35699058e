"""Work on weights alone is done once, at load: its results are weights too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from backends.acrobat.ir.nodes import Atom, Derived, Function, Let, Lit, Op, Program, Var, Weight
from backends.acrobat.ir.ops import OPS, Fusion, evaluate
from backends.acrobat.ir.types import TensorT
from backends.acrobat.ir.visitor import Names, walk
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.normal import normalise


def run(program: Program) -> Program:
    """`program` with a derived weight for each operation that has weights and literals as its only operands. A row of a table
    stays: it is an address and costs nothing."""
    work = _Work(program)
    functions = {name: work.function(f) for name, f in program.functions.items()}
    return remove_dead(replace(program, functions=functions, weights=work.weights, derived=work.derived))


def evaluate_derived(program: Program) -> dict[str, np.ndarray]:
    """The derived weights' values, each computed in float64 from the module's parameters and rounded once."""
    known: dict[str, np.ndarray] = {name: np.asarray(v, np.float64) for name, v in program.values.items()}
    for name, derived in program.derived.items():
        known[name] = evaluate(derived.op, [known[a] for a in derived.args], dict(derived.attrs), program.weights[name])
    return {name: np.array(known[name], program.weights[name].dtype, order="C") for name in program.derived}


class _Work:
    def __init__(self, program: Program) -> None:
        self.weights = dict(program.weights)
        self.derived = dict(program.derived)
        self._known = {d: name for name, d in program.derived.items()}
        self._names = Names(set(program.weights))

    def function(self, function: Function) -> Function:
        function, atoms = normalise(function), dict[str, Atom]()
        for node in walk(function.body):
            if isinstance(node, Let) and isinstance(node.value, Op) and (weight := self._weight(node.var, node.value, atoms)):
                atoms[node.var.name] = weight
        return normalise(function, atoms=atoms)

    def _weight(self, var: Var, op: Op, atoms: Mapping[str, Atom]) -> Weight | None:
        """The weight that `op` amounts to, if its operands are constant."""
        args = [atoms.get(a.name, a) if isinstance(a, Var) else a for a in op.args]
        if op.op == "scalar" and isinstance(args[0], Lit):
            return Weight(self._literal(args[0]), TensorT(()), span=op.span)
        if OPS[op.op].fusion is Fusion.ADDRESS or not isinstance(op.type, TensorT) or any(isinstance(a, Var) for a in args):
            return None
        names = tuple(a.name if isinstance(a, Weight) else self._literal(a) for a in args if isinstance(a, Weight | Lit))
        return Weight(self._derive(var.name, Derived(op.op, names, op.attrs), op.type), op.type, span=op.span)

    def _literal(self, lit: Lit) -> str:
        attrs: tuple[tuple[str, Any], ...] = (("shape", ()), ("value", lit.value))
        return self._derive("literal", Derived("full", (), attrs), TensorT(()))

    def _derive(self, name: str, derived: Derived, t: TensorT) -> str:
        if derived not in self._known:
            name = self._names.fresh(name)
            self._known[derived] = name
            self.weights[name] = t
            self.derived[name] = derived
        return self._known[derived]
