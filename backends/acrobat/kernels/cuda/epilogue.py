"""Writes the epilogue of a product as a C++ function: from the sums of one row and unit to the stores of the results."""

from __future__ import annotations

from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cuda.text import ELEMENTWISE, OVER_LISTS, Addresses, indented, walk
from backends.acrobat.kernels.elements import Constant
from backends.acrobat.kernels.lanes import Address, Compute, Epilogue, Gate, Lane, Load
from backends.acrobat.kernels.literals import number


class CudaEpilogueWriter:
    """Writes `finish<V>(a, row, unit, gate)`: `row` counts product rows of all instances, `gate[g][j]` is the product element
    of gate g and unit `unit + j`."""

    def __init__(self, addresses: Addresses, epilogue: Epilogue, rows: int, lanes: int) -> None:
        """`rows`: product rows of an instance. `lanes`: of the vectors that the plan was made for (1 or 4)."""
        self.addresses = addresses
        self.epilogue = epilogue
        self.rows = rows
        self.lanes = lanes
        self.lines: list[str] = []
        self.names: dict[int, str] = {}

    def write(self, bias: str) -> list[str]:
        """The function. `bias` is an expression for the bias of gate `g` and unit `unit + j`, or ""."""
        instance = [f"const int instance = row / {self.rows}, part = row % {self.rows};"]
        if self.rows == 1:
            instance = ["const int instance = row, part = 0;"]
        vector = ["const int vector = unit, lane = 0;"]
        if self.lanes > 1:
            vector = [f"const int vector = unit / {self.lanes}, lane = unit % {self.lanes};"]
        self.lines = [*instance, *vector, "(void)instance, (void)part, (void)vector, (void)lane;"]
        if bias:
            self.lines += [
                "#pragma unroll",
                f"for (int g = 0; g < {self.epilogue.gates}; ++g)",
                "    for (int j = 0; j < V; ++j)",
                f"        gate[g][j] += {bias};",
            ]
        values = [self._value(output.lane) for output in self.epilogue.outputs]
        self.lines.append(f"float* const result = {self.addresses.result('instance')};")
        for output, value in zip(self.epilogue.outputs, values, strict=True):
            start = self.addresses.kernel.displacements[output.result]
            self.lines.append(f"store<V>(result + {start} + {self._offset(output.address)}, {value});")
        head = (
            f"static ACROBAT_DEVICE void finish(const Args& a, int row, int unit, float (&gate)[{self.epilogue.gates}][V]) {{"
        )
        return ["template <int V>", head, *indented(self.lines), "}"]

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
            case Constant(value):
                name = self._declare("")
                self._each(f"{name}[j] = {number(value)};")
            case Load(param, address) if self.addresses.modes[param] is Mode.LIST:
                start, join = OVER_LISTS["list_sum"]
                head, item = self.addresses.items(param, "instance")
                name = self._declare("")
                self._each(f"{name}[j] = {start};")
                sum_with_item = join.format(f"{name}[j]", "each[j]")
                self.lines += [
                    f"{head} {{",
                    "    float each[V];",
                    f"    {self._read('each', item, address)}",
                    f"    for (int j = 0; j < V; ++j) {name}[j] = {sum_with_item};",
                    "}",
                ]
            case Load(param, address):
                name = self._declare("")
                self.lines.append(self._read(name, self.addresses.operand(param, "instance"), address))
            case Compute(op, args):
                values = [self._value(a) for a in args]
                name = self._declare("")
                self._each(f"{name}[j] = {ELEMENTWISE[op].format(*(f'{v}[j]' for v in values))};")
        return name

    def _read(self, name: str, start: str, address: Address) -> str:
        """The statement that reads a value's elements into the array `name`, from a row operand that begins at `start`."""
        at = f"{start} + {self._offset(address)}"
        if address.stride or self.lanes == 1:
            return f"load<V>({name}, {at});"
        return f"for (int j = 0; j < V; ++j) {name}[j] = *({at});"
