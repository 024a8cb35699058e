"""Finds the library for the matrix products of `kernels="vendor"`: OpenBLAS from numpy's or scipy's wheel, or the system's."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Iterator
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

from backends.acrobat.core.toolchain import BuildError

BUNDLING = ("numpy", "scipy")
AVX512_CORES = ("SkylakeX", "Cooperlake", "SapphireRapids")
AVX2_CORES = ("Haswell", "Zen")
"""OpenBLAS's names of the processors whose kernels use these instructions."""
NAMES = [(prefix, suffix) for suffix in ("64_", "") for prefix in ("scipy_", "")]
"""The prefixes and suffixes that builds of OpenBLAS give to names of functions. The suffix `64_` means 64-bit integers."""


@dataclass(frozen=True, slots=True)
class Blas:
    """Addresses of the functions that `Gemm` (runtime/cpu/gemm.h) calls. They are valid as long as `library` is referenced."""

    library: ctypes.CDLL
    sgemm: int
    wide: bool
    """Whether its integers have 64 bits."""
    get_threads: int
    set_threads: int
    version: str
    """A name such as `OpenBLAS 0.3.31`; without the number if the library does not tell it."""
    core: str
    """OpenBLAS's name of the processor whose kernels it chose when it was loaded; empty if it does not tell."""

    @property
    def instruction_set(self) -> str:
        """`avx512`, `avx2`, or the name of the core if its kernels use others."""
        if self.core in AVX512_CORES:
            return "avx512"
        return "avx2" if self.core in AVX2_CORES else self.core


def find() -> Blas:
    """The first candidate that can be loaded and exports the functions of `Blas`. Raises BuildError if there is none."""
    failures = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            failures.append(f"{path}: {error}")
            continue
        if blas := functions(library):
            return blas
        failures.append(f"{path}: exports no cblas_sgemm with functions that set its threads")
    raise BuildError(
        "kernels=vendor needs OpenBLAS, and there is none: "
        + ("; ".join(failures) or "nothing beside numpy or scipy, nor in the system's library folders")
        + ". Install numpy from its wheel (pip install --force-reinstall numpy) or the system's package libopenblas0, "
        "or use kernels=generated"
    )


def candidates() -> Iterator[str]:
    """Paths of OpenBLAS libraries, or names that the system's loader resolves, in the order in which they are tried."""
    for package in BUNDLING:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        for libs in (folder.with_name(f"{package}.libs"), folder / ".libs", folder / ".dylibs"):
            yield from map(str, sorted(libs.glob("*openblas*")))
    if name := find_library("openblas"):
        yield name


def functions(library: ctypes.CDLL) -> Blas | None:
    """The functions, by the first naming scheme of `NAMES` under which the library exports all of them; else None."""
    for prefix, suffix in NAMES:
        names = [f"{prefix}{name}{suffix}" for name in ("cblas_sgemm", "openblas_get_num_threads", "openblas_set_num_threads")]
        if all(hasattr(library, name) for name in names):
            sgemm, get, set_ = (ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names)
            version = re.match(r"OpenBLAS [\d.]*\d", _text(library, f"{prefix}openblas_get_config{suffix}"))
            core = _text(library, f"{prefix}openblas_get_corename{suffix}")
            return Blas(library, sgemm, suffix == "64_", get, set_, version[0] if version else "OpenBLAS", core)
    return None


def _text(library: ctypes.CDLL, name: str) -> str:
    """The string that a function without arguments returns; empty if the library has no such function."""
    if not hasattr(library, name):
        return ""
    function = getattr(library, name)
    function.restype = ctypes.c_char_p
    return (function() or b"").decode()
