"""Loads what cuts a buffer into the tensors of results (`runtime/pytorch/slices.cpp`).

It is the one part that is compiled against PyTorch's headers, once for each PyTorch and compiler on a machine, in 3 s. Where
that fails, as without a compiler or with a PyTorch whose C++ interface differs, PyTorch's own functions do the same: a slice
then takes 160 ns instead of 50 (185 instead of 60 outside inference mode, where it has a version counter).

The tensors of a buffer have version counters of their own: writing to one does not count as a change of the others.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from backends.acrobat.codegen.build import FLAGS, RUNTIME, cached
from backends.acrobat.core.toolchain import BuildError, compiler, compiler_version

SOURCE = RUNTIME / "pytorch" / "slices.cpp"
LIBRARY = "slices.so"
PYTORCH = Path(torch.__file__).parent
LETTERS = {torch.bool: b"b", torch.int64: b"i", torch.float32: b"f"}
"""The dtypes of results, as the library takes them."""
VIEWS = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
"""The dispatch key that makes slices views for autograd. Excluded for `unbind`; splitting makes none, but keeps a dimension."""

Tensors = tuple[torch.Tensor, ...]


class Maker:
    """Cuts buffers into tensors of one shape. `direct` says whether the library does it, where there is one, or PyTorch's
    functions. Only the library makes tensors ahead, when `work` is called with `address`, a C function and its argument."""

    def __init__(self, dtype: torch.dtype, device: str, shape: Sequence[int], direct: bool = True) -> None:
        self._shape = tuple(shape)
        self._lib = library() if direct else None
        self.address: int | None = None
        if self._lib is not None:
            self.address = self._lib.acrobat_maker(LETTERS[dtype], device.encode(), self._shape)

    @property
    def work(self) -> int | None:
        """The address of the function that makes one tensor ahead, if the buffer before had more, and says whether it did."""
        return None if self._lib is None else ctypes.cast(self._lib.acrobat_maker_ahead, ctypes.c_void_p).value

    @property
    def ready(self) -> int:
        """How many tensors were made ahead."""
        return 0 if self._lib is None else int(self._lib.acrobat_maker_ready(self.address))

    def cut(self, buffer: torch.Tensor, count: int) -> Tensors:
        """The `count` tensors of a buffer."""
        if self._lib is not None:
            tensors: Tensors = self._lib.acrobat_maker_cut(self.address, buffer.untyped_storage(), count)
            return tensors
        if self._shape:
            return torch.unsafe_split_with_sizes(buffer, [self._shape[0]] * count)
        with torch._C._ExcludeDispatchKeyGuard(VIEWS):
            return buffer.unbind(0)

    def clear(self) -> None:
        """Drops what was made ahead."""
        if self._lib is not None:
            self._lib.acrobat_maker_clear(self.address)

    def __del__(self) -> None:
        if getattr(self, "address", None) is not None and self._lib is not None:
            self._lib.acrobat_maker_destroy(self.address)


def cut_unevenly(buffer: torch.Tensor, shape: Sequence[int], lengths: list[int], direct: bool = True) -> Tensors:
    """The tensors of a buffer that have these lengths; the other extents are `shape`."""
    lib = library() if direct else None
    if lib is None:
        return torch.unsafe_split_with_sizes(buffer, lengths)
    tensors: Tensors = lib.acrobat_slices(LETTERS[buffer.dtype], buffer.untyped_storage(), tuple(shape), lengths)
    return tensors


@cache
def library() -> ctypes.PyDLL | None:
    """The library; None where it cannot be built or loaded."""
    try:
        lib = ctypes.PyDLL(str(_built()))
    except (BuildError, OSError):
        return None
    py_object, letter, address = ctypes.py_object, ctypes.c_char, ctypes.c_void_p
    for name, result, arguments in (
        ("acrobat_maker", address, [letter, ctypes.c_char_p, py_object]),
        ("acrobat_maker_destroy", None, [address]),
        ("acrobat_maker_clear", None, [address]),
        ("acrobat_maker_ready", ctypes.c_int64, [address]),
        ("acrobat_maker_ahead", ctypes.c_int, [address]),
        ("acrobat_maker_cut", py_object, [address, py_object, ctypes.c_int64]),
        ("acrobat_slices", py_object, [letter, py_object, py_object, py_object]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def _built() -> Path:
    """The library's file, built if it is not in the cache. Raises BuildError and OSError."""
    command, text = compiler(), SOURCE.read_text()
    parts = (text, FLAGS, sys.version, torch.__version__, torch.version.git_version, str(PYTORCH))
    key = hashlib.sha256(repr((parts, compiler_version(command))).encode()).hexdigest()[:32]

    def make(folder: Path) -> None:
        abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
        includes = [f"-isystem{path}" for path in (PYTORCH / "include", sysconfig.get_path("include"))]
        libraries = [f"-L{PYTORCH / 'lib'}", "-ltorch_python", "-ltorch_cpu", "-lc10"]
        arguments = [*FLAGS, "-shared", abi, *includes, str(SOURCE), "-o", str(folder / LIBRARY), *libraries]
        result = subprocess.run([command, *arguments], capture_output=True, text=True)
        if result.returncode:
            raise BuildError(result.stderr[-4000:])

    return cached(f"slices-{key}", make) / LIBRARY
