"""What PyTorch computes with on this processor: its own element-wise loops and the library of its matrix products.

Each chooses its instruction set when it starts, and they may differ: on AMD's processors, for instance, Intel's MKL takes
another path than PyTorch's loops. PyTorch says what its loops use; for products, a running product is observed.
"""

from __future__ import annotations

import re

import torch

from bench.facts import SPELLED
from bench.instructions import instruction_sets, observe

WIDTH, ROWS = 512, 64
LOOPS = {"default": "sse", "avx": "avx", "avx2": "avx2", "avx512": "avx512"}


def capability() -> str:
    """The instruction set of PyTorch's own loops; empty if `bench.facts` has no name for it."""
    return LOOPS.get(torch.backends.cpu.get_cpu_capability().lower(), "")


def products() -> str:
    """The library of matrix products with its version, as in "oneMKL 2024.2"."""
    settings = torch.__config__.show()
    if torch.backends.mkl.is_available():
        version = re.search(r"Math Kernel Library Version ([\d.]+)", settings)
        return f"oneMKL {version[1]}" if version else "oneMKL"
    blas = re.search(r"BLAS_INFO=(\w+)", settings)
    return blas[1] if blas else "a BLAS of unknown name"


def products_instructions(dtype: torch.dtype) -> str:
    """The instruction set of a product of a mini-batch with a weight, as in "avx2"; empty if it cannot be observed."""
    weight, rows = torch.randn(WIDTH, WIDTH, dtype=dtype), torch.randn(ROWS, WIDTH, dtype=dtype)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with several threads most observations would be of threads that wait
    try:
        with torch.inference_mode():
            return instruction_sets(observe(lambda: torch.nn.functional.linear(rows, weight)))
    finally:
        torch.set_num_threads(threads)


def what_computes(device: str, dtype: torch.dtype = torch.float32, also: str = "") -> dict[str, str]:
    """What PyTorch adds to `facts` on a device: `library`, as in "PyTorch 2.13.0 (its own loops AVX-512, products oneMKL 2024.2
    on AVX-512)", and on the processor `instruction_set`. `also` is added in the brackets."""
    release = f"PyTorch {torch.__version__}"
    if device != "cpu":
        return {"library": release}
    return {"library": f"{release} ({describe(dtype)}{also})", "instruction_set": capability()}


def describe(dtype: torch.dtype) -> str:
    """All of this in words, as in "its own loops AVX-512, products oneMKL 2024.2 on AVX2"."""
    own = capability()
    instructions = " and ".join(SPELLED.get(name, name) for name in products_instructions(dtype).split(", ") if name)
    parts = [f"its own loops {SPELLED.get(own, own)}"] if own else []
    parts.append(f"products {products()}" + (f" on {instructions}" if instructions else ""))
    return ", ".join(parts)
