"""A kernel's parameters in TensorIR (in C: `kernels.interface.parameters`), and where the rows of its operands lie."""

from __future__ import annotations

from typing import Any

from tvm import tirx

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.code import Code, Expr, buffer_over, div, load, mod, plus, pointer, scalar, times
from backends.acrobat.kernels.walks import Walk


class Interface:
    """The parameters of a kernel, declared in `code`. Results are written through `out`, a second buffer over the base pointer,
    which is taken not to overlap with `base`: a kernel reads nothing that it writes."""

    def __init__(self, code: Code, kernel: Kernel, out_mode: Mode) -> None:
        self.code = code
        self.kernel = kernel
        self.modes = {p.name: p.mode for p in kernel.params}
        base = pointer("base")
        self.row_begin, self.row_end = scalar("row_begin"), scalar("row_end")
        self.part_begin, self.part_end = scalar("part_begin", "int32"), scalar("part_end", "int32")
        self.params: list[Any] = [base, self.row_begin, self.row_end, self.part_begin, self.part_end]
        self.base = self._buffer(base, "float32", "rows")
        self.out = self._buffer(base, "float32", "results")
        self.operands: dict[str, tuple[Any, ...]] = {}
        for i, p in enumerate(kernel.params):
            match p.mode:
                case Mode.SHARED:
                    self.operands[p.name] = (self._pointer(f"p{i}", "float32"),)
                case Mode.GATHERED:
                    self.operands[p.name] = (self._pointer(f"p{i}", "int64"),)
                case Mode.CONTIGUOUS:
                    self.operands[p.name] = (self._scalar(f"p{i}_start"), self._scalar(f"p{i}_stride"))
                case Mode.LIST:
                    self.operands[p.name] = (self._pointer(f"p{i}_starts", "int64"), self._pointer(f"p{i}_items", "int64"))
        self.out_operand: tuple[Any, ...]
        if out_mode is Mode.GATHERED:
            self.out_operand = (self._pointer("out", "int64"),)
        else:
            self.out_operand = (self._scalar("out_start"), self._scalar("out_stride"))
        self.scratch = self._pointer("scratch", "float32")
        self.first_part = code.let(tirx.Cast("int64", self.part_begin))
        self.part_count = code.let(tirx.Cast("int64", self.part_end - self.part_begin))

    def _buffer(self, memory: Any, dtype: str, name: str) -> Any:
        buffer, declaration = buffer_over(memory, dtype, name)
        self.code.add(declaration)
        return buffer

    def _pointer(self, name: str, dtype: str) -> Any:
        memory = pointer(name, dtype)
        self.params.append(memory)
        return self._buffer(memory, dtype, f"{name}_data")

    def _scalar(self, name: str) -> Any:
        self.params.append(scalar(name))
        return self.params[-1]

    def operand(self, name: str, instance: Expr) -> tuple[Any, Expr]:
        """The buffer that has an operand, and the place in it where the instance's row starts."""
        params = self.operands[name]
        match self.modes[name]:
            case Mode.SHARED:
                return params[0], 0
            case Mode.GATHERED:
                return self.base, load(params[0], instance)
            case Mode.CONTIGUOUS:
                return self.base, params[0] + instance * params[1]
        raise AssertionError(f"{name} is a list")

    def items(self, name: str, instance: Expr) -> tuple[Expr, Expr, Any]:
        """The instance's list: the place of its first item in the table of addresses, the number of items, and that table."""
        starts, items = self.operands[name]
        return load(starts, instance), load(starts, plus(instance, 1)) - load(starts, instance), items

    def result(self, instance: Expr) -> Expr:
        """Where the instance's row of results starts."""
        if len(self.out_operand) == 1:
            return load(self.out_operand[0], instance)
        return self.out_operand[0] + instance * self.out_operand[1]


def walk(w: Walk, i: Expr) -> Expr:
    """The walk's value at a run-time index."""
    value: Expr = w.start
    for d in w.digits:
        digit = div(i, d.divisor)
        value = plus(value, times(mod(digit, d.modulus) if d.modulus else digit, d.stride))
    return value
