"""Loads what cuts a buffer into the tensors of results (`runtime/pytorch/slices.cpp`).

It is the one part that is compiled against PyTorch's headers, once for each PyTorch and compiler on a machine, in 3 s. Where
that fails, as without a compiler or with a PyTorch whose C++ interface differs, PyTorch's own functions do the same: a slice
then takes 160 ns instead of 50 (185 instead of 60 outside inference mode, where it has a version counter).
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
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

Slices = Callable[[torch.Tensor, Sequence[int], int, "list[int] | None"], "tuple[torch.Tensor, ...]"]
"""Cuts a buffer into a number of tensors: (buffer, shape, number, lengths). With lengths, a tensor's shape is its length and
then `shape`. Each tensor has its own version counter: writing to one does not count as a change of the others."""


@cache
def slices() -> Slices:
    """The fastest way to cut that there is."""
    try:
        function = _function()
    except (BuildError, OSError, AttributeError):
        return by_pytorch

    def direct(buffer: torch.Tensor, shape: Sequence[int], count: int, lengths: list[int] | None) -> tuple[torch.Tensor, ...]:
        cut: tuple[torch.Tensor, ...] = function(buffer.untyped_storage(), LETTERS[buffer.dtype], shape, count, lengths)
        return cut

    return direct


def by_pytorch(buffer: torch.Tensor, shape: Sequence[int], count: int, lengths: list[int] | None) -> tuple[torch.Tensor, ...]:
    """`Slices` by PyTorch's functions, of which these are the fastest."""
    if lengths is not None:
        return torch.unsafe_split_with_sizes(buffer, lengths)
    if shape:
        return torch.unsafe_split_with_sizes(buffer, [shape[0]] * count)
    with torch._C._ExcludeDispatchKeyGuard(VIEWS):
        return buffer.unbind(0)


def _function() -> Callable[..., tuple[torch.Tensor, ...]]:
    command, text = compiler(), SOURCE.read_text()
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    parts = (text, FLAGS, sys.version, torch.__version__, torch.version.git_version, str(PYTORCH))
    key = hashlib.sha256(repr((parts, compiler_version(command))).encode()).hexdigest()[:32]

    def make(folder: Path) -> None:
        includes = [f"-isystem{path}" for path in (PYTORCH / "include", sysconfig.get_path("include"))]
        libraries = [f"-L{PYTORCH / 'lib'}", "-ltorch_python", "-ltorch_cpu", "-lc10"]
        arguments = [*FLAGS, "-shared", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *includes, str(SOURCE), "-o", str(folder / LIBRARY)]
        result = subprocess.run([command, *arguments, *libraries], capture_output=True, text=True)
        if result.returncode:
            raise BuildError(result.stderr[-4000:])

    function = ctypes.PyDLL(str(cached(f"slices-{key}", make) / LIBRARY)).acrobat_slices
    function.restype = ctypes.py_object
    function.argtypes = [ctypes.py_object, ctypes.c_char, ctypes.py_object, ctypes.c_int64, ctypes.py_object]
    return function
