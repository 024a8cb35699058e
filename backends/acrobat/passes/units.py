"""Units made once: kernels or blocks that differ in names only become one object, which shares code and batches together.

Source: our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from backends.acrobat.core.exact import exactly
from backends.acrobat.core.types import ListT, TensorT
from backends.acrobat.core.units import Block, Kernel, Mode, Param, StepArg
from backends.acrobat.ir.nodes import Atom, Lit, Tuple, Weight
from backends.acrobat.ir.renaming import Names
from backends.acrobat.ir.visitor import Binding

Unit = TypeVar("Unit", Kernel, Block)

MAX_NAME = 40


class UnitPool:
    """The units of one program that have been made so far. It begins with `units`, which keep their names."""

    def __init__(self, units: Iterable[Kernel | Block] = ()) -> None:
        self._by_shape = {_shape(unit): unit for unit in units}
        self._names = Names({unit.name for unit in self._by_shape.values()})

    def share(self, unit: Unit) -> Unit:
        """The unit of the pool that equals this one up to names; if there is none, this one, added under a new name."""
        shape = _shape(unit)
        if shape not in self._by_shape:
            self._by_shape[shape] = replace(unit, name=self._names.fresh(unit.name))
        return cast(Unit, self._by_shape[shape])


def unit_name(function: str, bindings: Sequence[Binding], users: Sequence[Sequence[int]], results: Sequence[int]) -> str:
    """A readable name for a unit: the function it stands in and the variables that it computes. If all results go into one
    tuple, the tuple's variable is taken instead, because its name is more likely one of the source."""
    into = {j for i in results for j in users[i] if isinstance(bindings[j][1], Tuple)}
    if len(into) == 1 and all(into.issubset(users[i]) for i in results):
        results = [*into]
    parts = [function.rpartition(".")[2], *dict.fromkeys(re.sub(r"(_\d+)+$", "", bindings[i][0].name) for i in results)]
    return re.sub(r"\W+", "_", "_".join(parts))[:MAX_NAME].rstrip("_")


class UnitOperands:
    """The params of a unit that is being written, one for each operand and mode, and the `atoms` that its launch passes for
    them. `names`: the names that are taken within the unit."""

    def __init__(self) -> None:
        self.names = Names()
        self.atoms: list[Atom] = []
        self._params: dict[tuple[str, Mode], Param] = {}

    @property
    def params(self) -> tuple[Param, ...]:
        return tuple(self._params.values())

    def param(self, atom: Atom, mode: Mode) -> str:
        """The name of the param for an operand, made if there is none. The param of a list has the type of its items."""
        assert not isinstance(atom, Lit)
        key = (atom.name, mode)
        if key not in self._params:
            t = atom.type.item if isinstance(atom.type, ListT) else atom.type
            assert isinstance(t, TensorT)
            self._params[key] = Param(param_name(atom, self.names), t, mode)
            self.atoms.append(atom)
        return self._params[key].name


def param_name(atom: Atom, names: Names) -> str:
    """A new name for a param: the operand's, but of a weight's only the last part, because other weights may be passed too."""
    assert not isinstance(atom, Lit)
    text = atom.name.rpartition(".")[2] if isinstance(atom, Weight) else atom.name
    return names.fresh(re.sub(r"\W+", "_", text))


def value_names(kernel: Kernel) -> list[str]:
    """The names of the kernel's params and of what it computes."""
    return [*(p.name for p in kernel.params), *(i.name for i in kernel.body)]


def _shape(unit: Kernel | Block) -> object:
    return _kernel_shape(unit) if isinstance(unit, Kernel) else _block_shape(unit)


def _kernel_shape(kernel: Kernel) -> object:
    number = {name: i for i, name in enumerate(value_names(kernel))}
    return (
        tuple((p.type, p.mode) for p in kernel.params),
        tuple(
            (i.op, tuple((number[a],) if isinstance(a, str) else exactly(a) for a in i.args), exactly(i.attrs), i.type)
            for i in kernel.body
        ),
        tuple(number[r] for r in kernel.results),
    )


def _block_shape(block: Block) -> object:
    number: dict[StepArg | None, int] = {p.name: i for i, p in enumerate(block.params)}
    groups = dict(block.groups)
    order = {g: i for i, g in enumerate(dict.fromkeys(groups.get(p.name, p.name) for p in block.params))}
    return (
        tuple((p.type, p.mode, order[groups.get(p.name, p.name)]) for p in block.params),
        tuple((s.kernel, tuple(number.get(a, a) for a in s.args), number.get(s.over, s.over)) for s in block.steps),
        block.results,
    )
