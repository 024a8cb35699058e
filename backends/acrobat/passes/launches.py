"""A let chain of launches of kernels: which kernels each binding launches, and which views of other results they can read
themselves. `coarsen` decides by this which bindings become a block.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import cast

from backends.acrobat.core.types import ListT, TensorT, TupleT
from backends.acrobat.core.units import Instr, Kernel, Mode, Param
from backends.acrobat.ir.nodes import Atom, Expr, Field, Host, Launch, Map, Op, Tuple, Var
from backends.acrobat.ir.renaming import Names
from backends.acrobat.ir.visitor import Binding, free_vars, lets
from backends.acrobat.passes.chains import Chain, FunctionScope
from backends.acrobat.passes.legal import fits
from backends.acrobat.passes.units import param_name, value_names


@dataclass(frozen=True)
class PerItem:
    """A `Map` whose body is some work on the host (`host_bindings`), then launches of kernels and fields of their results;
    `result` is the variable that the body gives for each item."""

    map: Map
    host_bindings: tuple[Binding, ...]
    launches: tuple[Binding, ...]
    fields: dict[str, tuple[str, int]]  # variable -> the launch's variable and which of its results
    result: Var


def launches_kernel(expr: Expr) -> bool:
    return isinstance(expr, Launch) and isinstance(expr.unit, Kernel)


class LaunchChain(Chain):
    """`kernels`: for each binding the variables of the launches of kernels in it, its own or those in the body of its map.
    `per_item`: the bindings that are maps of kernels."""

    def __init__(self, scope: FunctionScope, bindings: list[Binding], tail: Expr) -> None:
        super().__init__(scope, bindings, tail)
        self.kernels = [[var.name] if launches_kernel(value) else [] for var, value in bindings]
        self.per_item = {i: per_item for i, value in enumerate(self.values) if (per_item := self.as_per_item(i, value))}
        for i, per_item in self.per_item.items():
            self.kernels[i] = [var.name for var, _ in per_item.launches]

    def viewing(self, launch: Launch, members: Collection[int]) -> tuple[Kernel, list[Atom]]:
        """The launch's kernel and operands. In place of a view of a member's result, it gets the result and takes the view."""
        kernel, args = cast(Kernel, launch.unit), list(launch.args)
        for k in range(len(args)):
            views: list[Op] = []
            while (i := self.index(args[k])) in members and self.is_view[cast(int, i)]:
                views.insert(0, cast(Op, self.values[cast(int, i)]))
                args[k] = views[0].args[0]
            if views:
                kernel = _viewing(kernel, kernel.params[k], cast(Var, args[k]), views)
        return (kernel, args) if kernel == launch.unit else _each_once(kernel, args)

    def needed_by_host(self, i: int) -> set[int]:
        """The bindings that the host needs to make a map's items before it records the block, which must not contain them."""
        return {self.at[name] for _, value in self.per_item[i].host_bindings for name in free_vars(value) if name in self.at}

    def reads(self, i: int, members: set[int]) -> bool:
        """Whether the binding's kernel, if it launches one, may itself take the views of members' results that it reads."""
        value = self.values[i]
        return not isinstance(value, Launch) or fits(self.viewing(value, members)[0])

    def as_per_item(self, i: int, value: Expr) -> PerItem | None:
        """The map if its body is host work on the item and launches of kernels, and only kernels use it; else None."""
        if not isinstance(value, Map) or not isinstance(value.type, ListT) or not isinstance(value.type.item, TensorT):
            return None
        if not self.users[i] or not all(launches_kernel(self.values[j]) for j in self.users[i]):
            return None
        bindings, tail = lets(value.body)
        host_bindings: list[Binding] = []
        launches: list[Binding] = []
        fields: dict[str, tuple[str, int]] = {}
        for var, e in bindings:
            if isinstance(e, Launch):
                if not isinstance(e.unit, Kernel) or any(p.mode is Mode.LIST for p in e.unit.params):
                    return None
                launches.append((var, e))
                if not isinstance(e.type, TupleT):
                    fields[var.name] = (var.name, 0)
            elif isinstance(e, Field) and cast(Var, e.value).name in {v.name for v, _ in launches}:
                fields[var.name] = (cast(Var, e.value).name, e.index)
            elif isinstance(e, Field | Tuple | Host | Op) and not free_vars(e) & fields.keys():
                host_bindings.append((var, e))
            else:
                return None
        per_item = {value.var.name, *(var.name for var, _ in host_bindings)}
        uses = {a.name for _, e in launches for a in cast(Launch, e).args if isinstance(a, Var)}
        if not isinstance(tail, Var) or tail.name not in fields or not uses & per_item:
            return None
        return PerItem(value, tuple(host_bindings), tuple(launches), fields, tail)

    def root(self, xs: Var) -> str:
        """The list from which `xs` is made item by item, perhaps by several maps, and which therefore has the same length."""
        i = self.index(xs)
        while i is not None and isinstance(value := self.values[i], Map) and isinstance(value.iterable, Var):
            xs = value.iterable
            i = self.index(xs)
        return xs.name


def _viewing(kernel: Kernel, param: Param, viewed: Var, views: Sequence[Op]) -> Kernel:
    """The kernel with a param for the tensor `viewed` in place of `param`, which it now computes by these views in turn."""
    names = Names(value_names(kernel))
    base = Param(param_name(viewed, names), cast(TensorT, viewed.type), param.mode)
    instrs, below = [], base.name
    for view in views:
        name = param.name if view is views[-1] else names.fresh(param.name)
        instrs.append(Instr(name, view.op, (below,), view.attrs, cast(TensorT, view.type)))
        below = name
    params = tuple(base if p is param else p for p in kernel.params)
    return replace(kernel, params=params, body=(*instrs, *kernel.body))


def _each_once(kernel: Kernel, args: Sequence[Atom]) -> tuple[Kernel, list[Atom]]:
    """The kernel and its operands with one param for each operand and mode, where several were given the same operand."""
    first: dict[tuple[Atom, Mode], Param] = {}
    new_name: dict[str | float, str] = {}
    for atom, p in zip(args, kernel.params, strict=True):
        new_name[p.name] = first.setdefault((atom, p.mode), p).name
    body = tuple(replace(i, args=tuple(new_name.get(a, a) for a in i.args)) for i in kernel.body)
    return replace(kernel, params=tuple(first.values()), body=body), [atom for atom, _ in first]
