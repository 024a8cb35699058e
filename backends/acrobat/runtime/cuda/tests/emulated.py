"""The emulated CUDA driver, which is built when it is first needed."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from backends.acrobat.codegen.build import cached
from backends.acrobat.core.toolchain import compiler, compiler_version

SOURCE = Path(__file__).parent / "emulated_driver.cpp"
VARIABLE = "ACROBAT_CUDA_DRIVER"


@cache
def library(flags: tuple[str, ...] = ()) -> Path:
    """The driver's shared object. Raises BuildError without a C++ compiler."""
    text = SOURCE.read_text()
    key = hashlib.sha256(repr((text, flags, compiler_version(compiler()))).encode()).hexdigest()[:24]

    def make(folder: Path) -> None:
        command = [compiler(), "-std=c++20", "-O1", "-g", "-fPIC", "-shared", *flags, str(SOURCE), "-ldl"]
        subprocess.run([*command, "-o", str(folder / "libcuda_emulated.so")], check=True)

    return cached(f"cuda-driver-{key}", make) / "libcuda_emulated.so"


class Emulated:
    """The emulated driver that this process has loaded, as tests control and question it."""

    def __init__(self) -> None:
        self._lib = ctypes.CDLL(str(library()))
        self._lib.emulated_calls.restype = ctypes.c_int64
        self._lib.emulated_memory.argtypes = [ctypes.c_uint64]

    def fail(self, function: str, code: int, after: int = 0) -> None:
        """Makes a call of one of the driver's functions fail with this code, after so many others of it. The function "run" is
        the work of a launch on the device: after it has failed, all later calls of the driver fail as well."""
        self._lib.emulated_fail(function.encode(), after, code)

    def attribute(self, number: int, value: int) -> None:
        """Sets an attribute of the device (`CUdevice_attribute`)."""
        self._lib.emulated_attribute(number, value)

    def version(self, value: int) -> None:
        """Sets the driver's version: 13000 is CUDA 13.0."""
        self._lib.emulated_version(value)

    def memory(self, size: int) -> None:
        """Sets how many bytes of memory the device has."""
        self._lib.emulated_memory(size)

    def pause_at_barriers(self) -> None:
        """Makes cooperative launches stop at each barrier of all blocks until the host asks again, until `reset`. Without, a
        launch that has begun ends before the host goes on."""
        self._lib.emulated_pause_at_barriers()

    def leave_open(self) -> None:
        """Leaves the device's memory open to the host until `reset`, for who measures what the host does: closing it after each
        piece of work takes the system longer than a small launch."""
        self._lib.emulated_leave_open()

    def calls(self, function: str) -> int:
        """How often a function of the driver was called since the last `reset`."""
        count: int = self._lib.emulated_calls(function.encode())
        return count

    def reset(self) -> None:
        """Resets the driver, except for what is allocated."""
        self._lib.emulated_reset()


@contextmanager
def emulated() -> Iterator[Emulated]:
    """The emulated driver in place of the machine's, for executables made within. A process keeps the first driver it has
    used."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(library())
    driver = Emulated()
    driver.reset()
    try:
        yield driver
    finally:
        driver.reset()
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
