"""The epilogue of a product: element-wise work on its lanes, computed while the sums are still in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cpu.activations import FUNCTIONS, scaled_sigmoid, sigmoid_tanh
from backends.acrobat.kernels.cpu.code import Code, Expr, load, plus
from backends.acrobat.kernels.cpu.operands import Interface, walk
from backends.acrobat.kernels.cpu.vectors import BUNDLE, Bundle, accumulators, load_vector, splat, store_vector
from backends.acrobat.kernels.elements import Constant
from backends.acrobat.kernels.lanes import Address, Compute, Epilogue, Gate, Lane, Load


@dataclass(frozen=True)
class Site:
    """Vector `vector` of an instance's row `row`: its product elements `gates`, the `mask` of lanes that exist (None: all)."""

    instance: Expr
    row: Expr
    vector: Expr
    gates: tuple[Expr, ...]
    mask: Expr | None


class EpilogueWriter:
    """Writes an epilogue at the sites of a tile, as often as its template asks."""

    def __init__(self, code: Code, interface: Interface, epilogue: Epilogue, lanes: int) -> None:
        self.code = code
        self.interface = interface
        self.epilogue = epilogue
        self.lanes = lanes
        self.uses: dict[int, int] = {}
        self.loads: dict[int, Load] = {}
        for output in epilogue.outputs:
            self._count(output.lane)

    def _count(self, lane: Lane) -> None:
        self.uses[id(lane)] = self.uses.get(id(lane), 0) + 1
        if self.uses[id(lane)] > 1:
            return
        if isinstance(lane, Compute):
            for arg in lane.args:
                self._count(arg)
        elif isinstance(lane, Load) and self.interface.modes[lane.param] is not Mode.SHARED:
            self.loads[id(lane)] = lane

    def prefetch(self, sites: Sequence[Site]) -> None:
        """Prefetches the sites' row operands. Each cache line is used by one tile only, and tiles are far apart in time, so the
        processor's own prefetching does not foresee it. (Prefetching rows of results was tried too: it only cost time.)"""
        for site in sites:
            for lane in self.loads.values():
                offset = self._offset(lane.address, site)
                if self.interface.modes[lane.param] is Mode.LIST:
                    first, count, items = self.interface.items(lane.param, site.instance)
                    with self.code.loop(self.code.let(count), "item") as i:
                        self.code.prefetch(self.interface.base, plus(load(items, plus(first, i)), offset))
                else:
                    buffer, start = self.interface.operand(lane.param, site.instance)
                    self.code.prefetch(buffer, plus(start, offset))

    def write(self, sites: Sequence[Site]) -> None:
        """Computes and stores all results at these sites."""
        for first in range(0, len(sites), BUNDLE):
            self._write(sites[first : first + BUNDLE])

    def _write(self, sites: Sequence[Site]) -> None:
        values: dict[int, Bundle] = {}
        for output in self.epilogue.outputs:
            value = self._value(output.lane, sites, values)
            start = self.interface.kernel.displacements[output.result]
            for site, item in zip(sites, value.items, strict=True):
                at = plus(plus(self.interface.result(site.instance), start), self._offset(output.address, site))
                store_vector(self.code, self.interface.out, at, item, self.lanes, site.mask)

    def _offset(self, address: Address, site: Site) -> Expr:
        return plus(walk(address.rows, site.row), walk(address.vectors, site.vector))

    def _value(self, lane: Lane, sites: Sequence[Site], values: dict[int, Bundle]) -> Bundle:
        if id(lane) not in values:
            values[id(lane)] = self._compute(lane, sites, lambda x: self._value(x, sites, values))
        return values[id(lane)]

    def _compute(self, lane: Lane, sites: Sequence[Site], value: Callable[[Lane], Bundle]) -> Bundle:
        match lane:
            case Gate(index):
                return Bundle(self.code, [s.gates[index] for s in sites], self.lanes)
            case Constant(number):
                return Bundle(self.code, [splat(number, self.lanes)] * len(sites), self.lanes)
            case Load(param, address) if self.interface.modes[param] is Mode.LIST:
                return Bundle(self.code, [self._sum(param, address, s) for s in sites], self.lanes)
            case Load(param, address):
                return Bundle.of(self.code, [self._load(param, address, s) for s in sites], self.lanes)
            case Compute("mul", (a, b)):
                return self._times(a, b, value)
            case Compute(op, args):
                return FUNCTIONS[op](*map(value, args))
        raise AssertionError(lane)

    def _times(self, a: Lane, b: Lane, value: Callable[[Lane], Bundle]) -> Bundle:
        """The product of a and b. Together with a sigmoid that nothing else uses it becomes one quotient."""
        if self._only_here(b, "sigmoid"):
            a, b = b, a
        if not self._only_here(a, "sigmoid"):
            return value(a) * value(b)
        assert isinstance(a, Compute)
        if self._only_here(b, "tanh"):
            assert isinstance(b, Compute)
            return sigmoid_tanh(value(a.args[0]), value(b.args[0]))
        return scaled_sigmoid(value(a.args[0]), value(b))

    def _only_here(self, lane: Lane, op: str) -> bool:
        return isinstance(lane, Compute) and lane.op == op and self.uses[id(lane)] == 1

    def _load(self, param: str, address: Address, site: Site) -> Expr:
        buffer, start = self.interface.operand(param, site.instance)
        return load_vector(buffer, plus(start, self._offset(address, site)), self.lanes, site.mask, address.stride)

    def _sum(self, param: str, address: Address, site: Site) -> Expr:
        """The sum of one vector over all items of the instance's list."""
        total = accumulators(self.code, 1, self.lanes)
        first, count, items = self.interface.items(param, site.instance)
        offset = self._offset(address, site)
        with self.code.loop(self.code.let(count), "item") as i:
            at = plus(load(items, plus(first, i)), offset)
            item = load_vector(self.interface.base, at, self.lanes, site.mask, address.stride)
            store_vector(self.code, total, 0, load_vector(total, 0, self.lanes) + item, self.lanes)
        return load_vector(total, 0, self.lanes)
