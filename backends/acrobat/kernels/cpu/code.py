"""Builds TensorIR statements directly (without parsing scripts) and compiles them to an object file with plain C symbols.

Vectors are explicit (`Ramp`, `Broadcast`), so that none of TVM's passes are needed, only its LLVM code generator: 20 to 300 ms
a kernel, half of it LLVM's. (LowerTVMBuiltin fails on local buffers; LowerIntrin doubles the time.) An accumulator is a "local"
buffer that is indexed by constants; LLVM keeps it in registers. TVM assumes that accesses through a parameter are aligned to an
element (4 bytes), so all accesses of vectors are unaligned ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import tvm
from tvm import ir, tirx

from backends.acrobat.kernels.cpu.target import CpuTarget

Expr: TypeAlias = Any
"""A TVM expression, or a Python number."""

EXTENT = 1 << 40
"""The declared size of buffers over pointers. Nothing checks offsets against it."""


def i64(value: Expr) -> Expr:
    """A constant of type int64, or an expression as it is."""
    return tirx.IntImm("int64", value) if isinstance(value, int) else value


def i32(value: Expr) -> Expr:
    """A constant of type int32, or an expression as it is."""
    return tirx.IntImm("int32", value) if isinstance(value, int) else value


def div(a: Expr, b: int) -> Expr:
    """Quotient of non-negative integers."""
    if b == 1:
        return a
    return a // b if isinstance(a, int) else tirx.truncdiv(a, i64(b))


def mod(a: Expr, b: int) -> Expr:
    """Remainder of non-negative integers."""
    if b == 1:
        return 0
    return a % b if isinstance(a, int) else tirx.truncmod(a, i64(b))


def times(a: Expr, b: int) -> Expr:
    """a * b; no multiplication is written if both are constants, or b is 0 or 1."""
    return a * b if isinstance(a, int) else a if b == 1 else 0 if b == 0 else a * i64(b)


def plus(a: Expr, b: Expr) -> Expr:
    """a + b; no addition is written if both are constants, or one is 0."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int):
        a, b = b, a
    return a if isinstance(b, int) and b == 0 else a + i64(b)


class Code:
    """A function's statements while they are written: a stack of open scopes, each with its statements so far."""

    def __init__(self) -> None:
        self.scopes: list[list[Any]] = [[]]
        self.count = 0

    def add(self, statement: Any) -> None:
        """Appends a statement to the innermost open scope."""
        self.scopes[-1].append(statement)

    def let(self, value: Expr, dtype: str = "int64") -> Expr:
        """Binds the value to a name, which is returned. Python's integers are returned as they are.

        Only integers are bound to TVM's variables. TVM simplifies the value of a variable with the variables in it replaced,
        which takes exponential time where a value is used more than once. It leaves local buffers alone, so floats are stored
        in one, which LLVM makes a register.
        """
        if isinstance(value, int):
            return value
        if dtype.startswith("float32"):
            lanes = int(dtype[8:] or 1)
            buffer = self.local(lanes)
            index = i32(0) if lanes == 1 else tirx.Ramp(i32(0), i32(1), lanes)
            self.add(tirx.BufferStore(buffer, value, [index]))
            return tirx.BufferLoad(buffer, [index])
        self.count += 1
        var = tirx.Var(f"v{self.count}", ir.PrimType(dtype))
        self.add(tirx.Bind(var, value))
        return var

    @contextmanager
    def scope(self) -> Iterator[list[Any]]:
        """Opens a scope; yields the list of the statements that are written in it, which belong to no other scope."""
        self.scopes.append([])
        yield self.scopes[-1]
        self.scopes.pop()

    @contextmanager
    def loop(self, extent: Expr, name: str = "i") -> Iterator[Expr]:
        """A loop from 0 to `extent`; yields its index. If the extent is the constant 1, there is no loop and the index is 0."""
        if isinstance(extent, int) and extent == 1:
            yield 0
            return
        self.count += 1
        var = tirx.Var(f"{name}{self.count}", ir.PrimType("int64"))
        with self.scope() as body:
            yield var
        self.add(tirx.For(var, i64(0), i64(extent), tirx.ForKind.SERIAL, block(body)))

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        """What is written within runs only if the condition holds."""
        with self.scope() as body:
            yield
        self.add(tirx.IfThenElse(condition, block(body), None))

    @contextmanager
    def loop_while(self, condition: Expr) -> Iterator[None]:
        """What is written within is repeated as long as the condition holds."""
        with self.scope() as body:
            yield
        self.add(tirx.While(condition, block(body)))

    def local(self, size: int, dtype: str = "float32") -> Any:
        """A buffer in registers or on the stack."""
        self.count += 1
        buffer = tirx.decl_buffer((size,), dtype, f"local{self.count}", scope="local")
        self.add(tirx.AllocBuffer(buffer))
        return buffer

    def prefetch(self, buffer: Any, index: Expr, level: int = 1) -> None:
        """Prefetches the cache line of an element into the cache of this level."""
        address = tirx.address_of(tirx.BufferLoad(buffer, [i64(index)]))
        self.add(tirx.Evaluate(tirx.call_llvm_intrin("void", "llvm.prefetch", address, i32(0), i32(4 - level), i32(1))))


def block(statements: Sequence[Any]) -> Any:
    """The statements as one."""
    if not statements:
        return tirx.Evaluate(i32(0))
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(list(statements))


def load(buffer: Any, index: Expr) -> Expr:
    """The element at an index of a buffer."""
    return tirx.BufferLoad(buffer, [i64(index)])


def pointer(name: str, dtype: str = "float32") -> Any:
    """A parameter that is an address."""
    return tirx.Var(name, ir.PointerType(ir.PrimType(dtype)))


def scalar(name: str, dtype: str = "int64") -> Any:
    """A parameter that is a number."""
    return tirx.Var(name, ir.PrimType(dtype))


def buffer_over(memory: Any, dtype: str, name: str) -> tuple[Any, Any]:
    """A buffer over a pointer, and the statement that declares it. Two buffers over one pointer are taken not to overlap."""
    buffer = tirx.decl_buffer((i64(EXTENT),), dtype, name, data=memory)
    return buffer, tirx.DeclBuffer(buffer, data=memory)


@cache
def llvm_target(target: CpuTarget) -> Any:
    """TVM's description of the processor."""
    return tvm.target.Target({"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": target.mcpu})


def function(symbol: str, params: Sequence[Any], code: Code) -> Any:
    """`int32_t symbol(params)` in TensorIR. What it writes through one pointer is taken not to overlap with the others."""
    body = block([*code.scopes[0], tirx.Return(i32(0))])
    primitive = tirx.PrimFunc(list(params), body, ret_type=ir.PrimType("int32"))
    return primitive.with_attr("tirx.noalias", True).with_attr("global_symbol", symbol)


def lower(symbol: str, function: Any, target: CpuTarget) -> Any:
    """The LLVM module that defines a function."""
    llvm = llvm_target(target)
    module = tirx.transform.BindTarget(llvm.with_host(llvm))(tvm.IRModule({symbol: function}))
    return tvm.get_global_func("target.build.llvm")(module, llvm)


def object_bytes(module: Any) -> bytes:
    """The object file of a lowered kernel."""
    with tempfile.TemporaryDirectory(prefix="acrobat-") as folder:
        path = Path(folder) / "kernel.o"
        module.write_to_file(str(path), "o")
        return path.read_bytes()
