"""Writes the epilogue of a product as C++ functions: from the sums of one row and unit to the stores of the results."""

from __future__ import annotations

from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cuda.text import ELEMENTWISE, OVER_LISTS, Addresses, indented, instance_of, walk
from backends.acrobat.kernels.elements import Constant
from backends.acrobat.kernels.lanes import Address, Compute, Epilogue, Gate, Lane, Load
from backends.acrobat.kernels.literals import number

ITEMS_AT_ONCE = 2
"""The first items of a list, whose addresses are read together with where the list begins and ends: nodes of most trees have
two children at most."""


class CudaEpilogueWriter:
    """Writes what a template does with the sums of a product, in parts, so that a template can read what the epilogue needs
    before it has the sums:

    - `Places places(a, row)`: where the operands and results of a product row's instance lie. It reads tables only.
    - `ready(a, row, unit, x)`: fills the part of `Operands<V>` that is weights, such as the bias, with V units of them.
    - `read(a, at, row, unit, x)`: fills the rest, from rows of the instance; `at` is what `places` gave.
    - `finish(a, at, x, row, unit, gate)`: the epilogue and its stores. `gate[g][j]` is the product element of gate g and unit
      `unit + j`.
    - `finish(a, row, unit, gate)`: all of these, one after the other.

    `row` counts product rows of all instances."""

    def __init__(self, addresses: Addresses, epilogue: Epilogue, rows: int, lanes: int) -> None:
        """`rows`: product rows of an instance. `lanes`: of the vectors that the plan was made for (1 or 4)."""
        self.addresses = addresses
        self.epilogue = epilogue
        self.rows = rows
        self.lanes = lanes
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.loads = list(dict.fromkeys(load for output in epilogue.outputs for load in _loads(output.lane)))

    def write(self, bias: str, of_rows: bool = False) -> list[str]:
        """The functions. `bias` is an expression for the bias of gate `g` and unit `unit + j`, or ""; `of_rows`: whether it is
        a row operand and no weight."""
        gate = f"float (&gate)[{self.epilogue.gates}][V]"
        return [
            *self._places(),
            *self._reads(bias, of_rows),
            "template <int V>",
            "static ACROBAT_DEVICE void finish(const Args& a, const Places& at, const Operands<V>& x, int row, int unit, "
            f"{gate}) {{",
            *indented(self._finish(bool(bias))),
            "}",
            "template <int V>",
            f"static ACROBAT_DEVICE void finish(const Args& a, int row, int unit, {gate}) {{",
            "    const Places at = places(a, row);",
            "    Operands<V> x;",
            "    ready(a, row, unit, x);",
            "    read(a, at, row, unit, x);",
            "    finish(a, at, x, row, unit, gate);",
            "}",
        ]

    def _places(self) -> list[str]:
        """The struct `Places` and the function that fills it."""
        params = dict.fromkeys(load.param for load in self.loads)
        members, lines = [], []
        for param in params:
            i = self.addresses.number[param]
            if self.addresses.modes[param] is Mode.GATHERED:
                members.append(f"p{i}")
                lines.append(f"at.p{i} = {self.addresses.offset(param, 'instance')};")
            elif self.addresses.modes[param] is Mode.LIST:
                members += [f"p{i}_{name}" for name in ("from", "to", *(f"item{n}" for n in range(ITEMS_AT_ONCE)))]
                lines += [f"at.p{i}_from = a.p{i}_starts[instance], at.p{i}_to = a.p{i}_starts[instance + 1];"]
                lines += [
                    f"at.p{i}_item{n} = at.p{i}_from + {n} < at.p{i}_to ? a.p{i}_items[at.p{i}_from + {n}] + a.p{i}_by : 0;"
                    for n in range(ITEMS_AT_ONCE)
                ]
        if self.addresses.out_mode is Mode.GATHERED:
            members.append("out")
            lines.append(f"at.out = {self.addresses.result_offset('instance')};")
        return [
            "struct Places {",
            *([f"    int64_t {', '.join(members)};"] if members else []),
            "};",
            "static ACROBAT_DEVICE Places places(const Args& a, int row) {",
            *indented(instance_of(self.rows)),
            "    Places at;",
            *indented(lines),
            "    return at;",
            "}",
        ]

    def _reads(self, bias: str, of_rows: bool) -> list[str]:
        """The struct `Operands` and the functions that fill it."""
        weights: list[str] = []
        rows: list[str] = []
        if bias:
            lines = rows if of_rows else weights
            lines += [
                "#pragma unroll",
                f"for (int g = 0; g < {self.epilogue.gates}; ++g)",
                f"    for (int j = 0; j < V; ++j) x.bias[g][j] = {bias};",
            ]
        for n, load in enumerate(self.loads):
            lines = weights if self.addresses.modes[load.param] is Mode.SHARED else rows
            lines += self._load(f"x.v{n}", load)
        return [
            "template <int V>",
            "struct Operands {",
            *([f"    float bias[{self.epilogue.gates}][V];"] if bias else []),
            *(f"    float v{n}[V];  // {load.param}" for n, load in enumerate(self.loads)),
            "};",
            "template <int V>",
            "static ACROBAT_DEVICE void ready(const Args& a, int row, int unit, Operands<V>& x) {",
            "    (void)a, (void)row, (void)unit, (void)x;",
            *indented([*self._position(), *weights] if weights else []),
            "}",
            "template <int V>",
            "static ACROBAT_DEVICE void read(const Args& a, const Places& at, int row, int unit, Operands<V>& x) {",
            "    (void)a, (void)at, (void)row, (void)unit, (void)x;",
            *indented([*self._position(), *rows] if rows else []),
            "}",
        ]

    def _finish(self, biased: bool) -> list[str]:
        self.lines = ["(void)a, (void)at, (void)x;", *self._position()]
        if biased:
            self.lines += [
                "#pragma unroll",
                f"for (int g = 0; g < {self.epilogue.gates}; ++g)",
                "    for (int j = 0; j < V; ++j) gate[g][j] += x.bias[g][j];",
            ]
        values = [self._value(output.lane) for output in self.epilogue.outputs]
        gathered = self.addresses.out_mode is Mode.GATHERED
        self.lines.append(f"float* const result = {'a.base + at.out' if gathered else self.addresses.result('instance')};")
        for output, value in zip(self.epilogue.outputs, values, strict=True):
            start = self.addresses.kernel.displacements[output.result]
            self.lines.append(f"store<V>(result + {start} + {self._offset(output.address)}, {value});")
        return self.lines

    def _position(self) -> list[str]:
        """Declares the instance, and the vector and lane that unit `unit` is."""
        vector = "const int vector = unit, lane = 0;"
        if self.lanes > 1:
            vector = f"const int vector = unit / {self.lanes}, lane = unit % {self.lanes};"
        return [*instance_of(self.rows), vector, "(void)vector, (void)lane;"]

    def _offset(self, address: Address) -> str:
        rows, along = walk(address.rows, "part"), walk(address.vectors, "vector")
        terms = [t for t in (rows, along, "lane" if address.stride and self.lanes > 1 else "0") if t != "0"]
        return " + ".join(terms) or "0"

    def _value(self, lane: Lane) -> str:
        """The name of an array with the value's V elements; each value is computed once."""
        if id(lane) not in self.names:
            self.names[id(lane)] = self._compute(lane)
        return self.names[id(lane)]

    def _declare(self, text: str) -> str:
        name = f"v{len(self.names)}"
        self.lines.append(f"float {name}[V]{text};")
        return name

    def _each(self, text: str) -> None:
        self.lines.append(f"for (int j = 0; j < V; ++j) {text}")

    def _compute(self, lane: Lane) -> str:
        """What `_value` says, for a value that has no name yet."""
        match lane:
            case Gate(index):
                return f"gate[{index}]"
            case Load():
                return f"x.v{self.loads.index(lane)}"
            case Constant(value):
                name = self._declare("")
                self._each(f"{name}[j] = {number(value)};")
            case Compute(op, args):
                values = [self._value(a) for a in args]
                name = self._declare("")
                self._each(f"{name}[j] = {ELEMENTWISE[op].format(*(f'{v}[j]' for v in values))};")
        return name

    def _load(self, name: str, load: Load) -> list[str]:
        """Statements that read a value's elements into the array `name`; of a list, the sums over its items."""
        i, mode = self.addresses.number[load.param], self.addresses.modes[load.param]
        if mode is not Mode.LIST:
            start = f"a.base + at.p{i}" if mode is Mode.GATHERED else self.addresses.operand(load.param, "instance")
            return [self._read(name, start, load.address)]
        start, join = OVER_LISTS["list_sum"]
        sum_with_item = f"for (int j = 0; j < V; ++j) {name}[j] = {join.format(f'{name}[j]', 'each[j]')};"

        def add(condition: str, item: str) -> list[str]:
            return [
                f"{condition} {{",
                "    float each[V];",
                f"    {self._read('each', f'a.base + {item}', load.address)}",
                f"    {sum_with_item}",
                "}",
            ]

        lines = [f"for (int j = 0; j < V; ++j) {name}[j] = {start};"]
        for n in range(ITEMS_AT_ONCE):
            lines += add(f"if (at.p{i}_from + {n} < at.p{i}_to)", f"at.p{i}_item{n}")
        head = f"for (int64_t item = at.p{i}_from + {ITEMS_AT_ONCE}; item < at.p{i}_to; ++item)"
        return [*lines, *add(head, f"a.p{i}_items[item] + a.p{i}_by")]

    def _read(self, name: str, start: str, address: Address) -> str:
        """The statement that reads a value's elements into the array `name`, from a row operand that begins at `start`."""
        at = f"{start} + {self._offset(address)}"
        if address.stride or self.lanes == 1:
            return f"load<V>({name}, {at});"
        return f"for (int j = 0; j < V; ++j) {name}[j] = *({at});"


def _loads(lane: Lane) -> list[Load]:
    """The loads that a value is computed from, in order."""
    match lane:
        case Load():
            return [lane]
        case Compute(_, args):
            return [load for arg in args for load in _loads(arg)]
    return []
