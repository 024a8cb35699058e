"""The components of tuples, and the elements of lists that are known one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, INT, DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator.frame.branches import MergingFrame
from backends.acrobat.frontend.evaluator.tables import COMPONENTS
from backends.acrobat.frontend.kinds import retyped, variable_of
from backends.acrobat.frontend.types import NONE
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value
from backends.acrobat.ir import nodes as n


class TakingApartFrame(MergingFrame):
    """A frame that takes tuples and lists apart."""

    def display(self, value: Value) -> list[Value] | None:
        """The elements of a tuple, or of a list whose elements are known one by one; None for other values."""
        if isinstance(value, TupleV):
            return list(value.items)
        if isinstance(value, Dyn) and isinstance(value.atom, n.Var) and value.atom.name in self.displays:
            return list(self.displays[value.atom.name])
        if (
            isinstance(value, Dyn)
            and isinstance(value.type, ListT)
            and isinstance(size := self.sizes.get(variable_of(value)), int)
        ):
            return [self.host("list.get", [value, Static(i)], value.type.item, "element") for i in range(size)]
        return None

    def static_list(self, value: Any) -> Any:
        """A constant tuple or list, or a list whose elements are known one by one, as TupleV; other values unchanged."""
        if isinstance(value, Static) and isinstance(value.value, (tuple, list)):
            return TupleV(tuple(self.program.wrap(v) for v in value.value))
        items = self.display(value) if isinstance(value, Dyn) else None
        return TupleV(tuple(items)) if items is not None else value

    def spread(self, args: Sequence[Any]) -> list[Any]:
        """The arguments of `f(a, b, c)` or of `f((a, b, c))`: PyTorch takes extents in both forms."""
        if len(args) == 1:
            whole = self.static_list(args[0])
            if isinstance(whole, TupleV):
                return list(whole.items)
        return list(args)

    def components(self, value: Value, count: int | None = None) -> list[Value] | None:
        """The components of a tuple, or `count` elements of a list; None for other values, and if there are not `count`."""
        match value:
            case TupleV(items):
                out = list(items)
            case Static(tuple() as items):
                out = [self.program.wrap(v) for v in items]
            case Dyn(type=ListT(rows=None, container="list" | "tuple")) if count is not None:
                return self._elements(value, count)
            case Dyn(atom) if isinstance(atom.type, ListT) and atom.type.rows == 0 and count is not None:
                return self._elements(retyped(value, ListT(atom.type.item)), count)
            case Dyn(atom) if isinstance(atom.type, DataT) and (parts := self._by_rules(value, count)) is not None:
                out = parts
            case Dyn(atom) if isinstance(atom.type, TupleT):
                out = [
                    Static(None) if t == NONE else self.bind(n.Field(atom, i, t, span=self.span), "field")
                    for i, t in enumerate(atom.type.items)
                ]
                sizes = self.sizes.get(variable_of(value))
                if isinstance(sizes, tuple):
                    self.sizes |= {variable_of(v): size for v, size in zip(out, sizes, strict=True) if size}
            case _:
                return None
        return out if count is None or len(out) == count else None

    def _by_rules(self, value: Dyn, count: int | None) -> list[Value] | None:
        for rule in COMPONENTS:
            result = rule(self, value, count)
            if result is not None:
                return list(result)
        return None

    def _elements(self, xs: Dyn, count: int) -> list[Value]:
        """The `count` elements of a list. As in Python, a list of another length is an error of the instance."""
        assert isinstance(xs.type, ListT)
        if self.sizes.get(variable_of(xs)) == count:
            return self.display(xs) or []
        size = self.host("list.len", [xs], INT, "size")
        wrong = self.host("int", [self.host("ne", [size, Static(count)], BOOL)], INT)
        outside = self.host("mul", [wrong, Static(2**40)], INT, "outside")
        at = [self.host("add", [outside, Static(i)], INT, "index") for i in range(count)]
        return [self.host("list.get", [xs, i], xs.type.item, "element") for i in at]
