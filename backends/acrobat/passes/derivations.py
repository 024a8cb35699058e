"""Derived weights: weights that passes make of others, computed once at load. Equal ones are made once.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.exact import exactly
from backends.acrobat.core.ops import infer
from backends.acrobat.ir.nodes import Derived, Program, Weight
from backends.acrobat.ir.renaming import Names


def _key(derived: Derived) -> object:
    """What tells derived weights apart: 0.0 and -0.0 are not the same number."""
    return derived.op, derived.args, exactly(derived.attrs)


class Derivations:
    """`weights` and `derived`: those of `program`, and those that were added by the methods below."""

    def __init__(self, program: Program) -> None:
        self.weights = dict(program.weights)
        self.derived = dict(program.derived)
        self._name_of = {_key(d): name for name, d in program.derived.items()}
        self._names = Names(set(program.weights))

    def derive(self, name: str, op: str, args: Sequence[Weight], **attrs: Any) -> Weight:
        """The weight `op(args, **attrs)`. A new one is called `name`, with a number if that is taken. Raises ShapeError."""
        derived = Derived(op, tuple(a.name for a in args), tuple(sorted(attrs.items())))
        key = _key(derived)
        if key not in self._name_of:
            t = infer(op, [a.type for a in args], attrs)
            name = self._names.fresh(name)
            self._name_of[key] = name
            self.weights[name] = t
            self.derived[name] = derived
        return Weight(self._name_of[key], self.weights[self._name_of[key]])

    def full(self, name: str, shape: tuple[int, ...], value: float) -> Weight:
        return self.derive(name, "full", (), shape=shape, value=value)

    def columns(self, weight: Weight, start: int, stop: int) -> Weight:
        """Columns `start` to `stop` of a product's weight of shape [out, in]."""
        if (start, stop) == (0, weight.type.shape[1]):
            return weight
        return self.derive(f"{weight.name}[{start}:{stop}]", "slice", (weight,), dim=1, start=start, stop=stop)

    def sum_of(self, a: Weight | None, b: Weight | None) -> Weight | None:
        """The sum of two weights, either of which may be missing."""
        if a is None or b is None:
            return a or b
        return self.derive(f"{a.name}+{b.name}", "add", (a, b))
