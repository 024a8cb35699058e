"""The environment variables of a measured process: those that tune libraries do not depend on the backend or the user's shell.

A variable left over in a shell (`OPENBLAS_CORETYPE=Haswell`) can halve the speed of one system and leave another as it is. So
variables that tune libraries are not passed on, except those in `isolate.env`, which are part of the cell.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

PREFIXES = (
    "OPENBLAS_",
    "GOTO_",
    "BLIS_",
    "MKL_",
    "ATEN_",
    "DNNL_",
    "ONEDNN_",
    "OMP_",
    "KMP_",
    "GOMP_",
    "TORCH_",
    "PYTORCH_",
    "TVM_",
    "NUMEXPR_",
    "MALLOC_",
)
NAMES = ("GLIBC_TUNABLES", "LD_PRELOAD", "THP_MEM_ALLOC_ENABLE", "PYTHONMALLOC", "PYTHONOPTIMIZE")
COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
WITHHELD = ("BENCH_CACHE", "BENCH_SWEEP")  # where the oracle's answers are kept, and which sweep this is: not for backends
RESERVED = ("PYTHONPATH", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER")  # set by bench.isolate
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def tunes(name: str) -> bool:
    """Whether this variable can change how fast a library computes."""
    return name in NAMES or name.startswith(PREFIXES)


def withheld_variables(chosen: Mapping[str, str], shell: Mapping[str, str] = os.environ) -> list[str]:
    """The variables of the shell that measured processes do not get."""
    return sorted(name for name in shell if tunes(name) and name not in chosen)


def performance(threads: int, chosen: Mapping[str, str]) -> dict[str, str]:
    """The variables that tune libraries, as a measured process gets them: the same number of threads for every library, huge
    pages for every allocation, and the `chosen` ones, which take precedence.

    Where programs must ask the kernel for huge pages ("madvise"), some systems do and others do not; with this setting the C
    library asks for them on behalf of all. OpenMP's default waiting policy (spin briefly, then sleep) stays: always sleeping
    would make every parallel region of every backend slower than its users see it."""
    variables = {name: str(threads) for name in COUNTS}
    if "[madvise]" in _read(HUGE_PAGES):
        variables["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    return variables | dict(chosen)


def child_environment(
    threads: int, chosen: Mapping[str, str] | None = None, shell: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """All variables of a measured process."""
    passed_on = {name: value for name, value in shell.items() if not tunes(name) and name not in WITHHELD}
    return passed_on | performance(threads, chosen or {})


def validated_variables(variables: Mapping[str, object]) -> dict[str, str]:
    """The variables of `isolate.env` with their values as texts. Raises ValueError where one cannot be set."""
    texts = {}
    for name, value in variables.items():
        if name in RESERVED:
            raise ValueError(f"isolate.env.{name}: the harness sets this one itself")
        if not name or "=" in name or "\0" in f"{name}{value}" or isinstance(value, bool | dict | list) or value is None:
            raise ValueError(f"isolate.env.{name}={value!r}: a variable's name and its text, as in isolate.env.MKL_CBWR=AVX2")
        texts[name] = str(value)
    return texts


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
