"""Writes the kernel of a binding group: its params, its instructions and its results. `vertical` decides what is in a group.

Source: our own.
"""

from __future__ import annotations

from dataclasses import dataclass

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import ListT, TensorT
from backends.acrobat.core.units import Instr, Kernel, Mode
from backends.acrobat.ir.nodes import Atom, Expr, Lit, Op, Weight
from backends.acrobat.passes.chains import Chain
from backends.acrobat.passes.units import UnitOperands, unit_name


def fusion_of(expr: Expr) -> Fusion | None:
    """How an operation fuses (`core.ops.Fusion`); None for any other expression."""
    return OPS[expr.op].fusion if isinstance(expr, Op) else None


@dataclass(frozen=True)
class GroupKernel:
    """The kernel of a binding group. `atoms`: the operand for each of its params; `exposed`: the binding for each of its
    results."""

    kernel: Kernel
    atoms: tuple[Atom, ...]
    exposed: tuple[int, ...]


class KernelBuilder:
    """Writes a kernel's instructions in the order in which its results need them, so that kernels which compute the same way
    become equal wherever their operations stood."""

    def __init__(self, chain: Chain, exposed: tuple[int, ...]) -> None:
        self.chain = chain
        self.exposed = exposed
        self.operands = UnitOperands()
        self.body: dict[int, Instr] = {}

    def build(self, computed: set[int]) -> GroupKernel:
        for i in self.exposed:
            self.instr(i, computed)
        name = unit_name(self.chain.scope.function.name, self.chain.bindings, self.chain.users, self.exposed)
        results = tuple(self.body[i].name for i in self.exposed)
        kernel = Kernel(name, self.operands.params, tuple(self.body.values()), results)
        return GroupKernel(kernel, tuple(self.operands.atoms), self.exposed)

    def instr(self, i: int, computed: set[int]) -> str:
        if i not in self.body:
            value = self.chain.values[i]
            assert isinstance(value, Op) and isinstance(value.type, TensorT)
            args = tuple(self.arg(value, k, computed) for k in range(len(value.args)))
            name = self.operands.names.fresh(self.chain.bindings[i][0].name)
            self.body[i] = Instr(name, value.op, args, value.attrs, value.type)
        return self.body[i].name

    def arg(self, value: Op, k: int, computed: set[int]) -> str | float:
        atom = value.args[k]
        if isinstance(atom, Lit):
            return float(atom.value)
        i = self.chain.index(atom)
        if i is not None and self.chain.base(i) in computed:
            return self.instr(i, computed)
        if isinstance(atom.type, ListT):
            return self.operands.param(atom, Mode.LIST)
        # A weight that a product or a move reads as a row operand is gathered as rows are, although all rows are then the same.
        row = fusion_of(value) is Fusion.MOVE or (value.op == "linear" and k == 0)
        return self.operands.param(atom, Mode.SHARED if isinstance(atom, Weight) and not row else Mode.GATHERED)
