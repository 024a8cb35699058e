"""Pieces of CUDA text that all templates share: a kernel's arguments, where operands and results lie, element-wise
operations."""

from __future__ import annotations

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.walks import Walk

ELEMENTWISE = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "maximum": "maximum({0}, {1})",
    "minimum": "minimum({0}, {1})",
    "neg": "-{0}",
    "sigmoid": "sigmoid({0})",
    "tanh": "tanhf({0})",
    "relu": "relu({0})",
    "gelu": "gelu({0})",
    "exp": "expf({0})",
    "log": "logf({0})",
    "sqrt": "sqrtf({0})",
    "floor": "floorf({0})",
    "sin": "sinf({0})",
    "cos": "cosf({0})",
    "less": "float({0} < {1})",
    "less_equal": "float({0} <= {1})",
    "equal": "float({0} == {1})",
    "where": "{0} != 0.0f ? {1} : {2}",
}
"""The element-wise operations in C++, in float32. Operands are put in as names or expressions in brackets."""

OVER_LISTS = {
    "list_sum": ("0.0f", ELEMENTWISE["add"]),
    "list_max": ("-INFINITY", ELEMENTWISE["maximum"]),
    "list_min": ("INFINITY", ELEMENTWISE["minimum"]),
}
"""The operations that combine the tensors of a list element by element: the initial value, and how an item is added to it."""


def members(kernel: Kernel, out_mode: Mode) -> list[str]:
    """The members of the struct of a kernel's arguments, in order: declarations of 8 bytes each."""
    out = ["float* base", "int64_t rows"]
    for i, p in enumerate(kernel.params):
        match p.mode:
            case Mode.SHARED:
                out.append(f"const float* p{i}")
            case Mode.GATHERED:
                out += [f"const int64_t* p{i}", f"int64_t p{i}_by"]
            case Mode.CONTIGUOUS:
                out += [f"int64_t p{i}_start", f"int64_t p{i}_stride"]
            case Mode.LIST:
                out += [f"const int64_t* p{i}_starts", f"const int64_t* p{i}_items", f"int64_t p{i}_by"]
    out += (
        ["const int64_t* out", "int64_t out_by"] if out_mode is Mode.GATHERED else ["int64_t out_start", "int64_t out_stride"]
    )
    return out


class Addresses:
    """Where a kernel's operands and results lie, as C++ expressions over the arguments `a`."""

    def __init__(self, kernel: Kernel, out_mode: Mode, known: str = "") -> None:
        """`known`: the C++ name of an instance whose tables the lines of `read_tables` have read."""
        self.kernel = kernel
        self.out_mode = out_mode
        self.known = known
        self.number = {p.name: i for i, p in enumerate(kernel.params)}
        self.modes = {p.name: p.mode for p in kernel.params}

    def offset(self, param: str, instance: str) -> str:
        """Where the row operand of an instance begins, in elements from the base."""
        i = self.number[param]
        if self.modes[param] is Mode.GATHERED:
            return f"p{i}_at" if instance == self.known else f"a.p{i}[{instance}] + a.p{i}_by"
        assert self.modes[param] is Mode.CONTIGUOUS
        return f"a.p{i}_start + {instance} * a.p{i}_stride"

    def operand(self, param: str, instance: str) -> str:
        """A pointer to the operand of an instance."""
        if self.modes[param] is Mode.SHARED:
            return f"a.p{self.number[param]}"
        return f"a.base + {self.offset(param, instance)}"

    def items(self, param: str, instance: str, item: str = "item") -> tuple[str, str]:
        """The head of a loop over the items of an instance's list, and a pointer to the item for use in the loop."""
        i = self.number[param]
        begin, end = f"a.p{i}_starts[{instance}]", f"a.p{i}_starts[{instance} + 1]"
        if instance == self.known:
            begin, end = f"p{i}_from", f"p{i}_to"
        head = f"for (int64_t {item} = {begin}; {item} < {end}; ++{item})"
        return head, f"a.base + a.p{i}_items[{item}] + a.p{i}_by"

    def result_offset(self, instance: str) -> str:
        """Where the results of an instance begin, in elements from the base."""
        if self.out_mode is Mode.GATHERED:
            return "out_at" if instance == self.known else f"a.out[{instance}] + a.out_by"
        return f"a.out_start + {instance} * a.out_stride"

    def read_tables(self, instance: str) -> list[str]:
        """Declares where the operands and results of the known instance lie, from what tables say of `instance`."""
        lines = []
        for param, mode in self.modes.items():
            i = self.number[param]
            if mode is Mode.GATHERED:
                lines.append(f"const int64_t p{i}_at = a.p{i}[{instance}] + a.p{i}_by;")
            elif mode is Mode.LIST:
                lines.append(f"const int64_t p{i}_from = a.p{i}_starts[{instance}], p{i}_to = a.p{i}_starts[{instance} + 1];")
        if self.out_mode is Mode.GATHERED:
            lines.append(f"const int64_t out_at = a.out[{instance}] + a.out_by;")
        return lines

    def result(self, instance: str) -> str:
        """A pointer to the results of an instance."""
        return f"a.base + {self.result_offset(instance)}"


def walk(w: Walk, index: str) -> str:
    """The walk's value for `index`, which has to be an expression that can stand in a product or a quotient."""
    terms = [str(w.start)] if w.start else []
    for d in w.digits:
        term = index if d.divisor == 1 else f"{index} / {d.divisor}"
        if d.modulus:
            term = f"{term} % {d.modulus}"
        terms.append(term if d.stride == 1 else f"({term}) * {d.stride}")
    return " + ".join(terms) or "0"


def instance_of(rows: int) -> list[str]:
    """Declares the instance that product row `row` belongs to, and which of its `rows` rows it is (`part`)."""
    found = "row, part = 0" if rows == 1 else f"row / {rows}, part = row % {rows}"
    return [f"const int instance = {found};", "(void)instance, (void)part;"]


def indented(lines: list[str], levels: int = 1) -> list[str]:
    """The lines, indented by so many levels."""
    return ["    " * levels + line for line in lines]
