"""The option `precision` of all systems on top of PyTorch: what the operands of matrix products may be rounded to.

`fp32` rounds nothing, whatever PyTorch's defaults are. `tf32` (10 bits of fraction) is a setting of PyTorch for CUDA's
libraries. `bf16` (7 bits) is PyTorch's setting for oneDNN on a processor with such instructions. On CUDA it is PyTorch's
`autocast`, which also makes the results of products bfloat16, so it suits only programs that do not write them into float32
memory: eager models.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from bench.contract import Unsupported

Precision: TypeAlias = Literal["fp32", "tf32", "bf16"]
PRECISIONS = ("fp32", "tf32", "bf16")
INSTRUCTIONS = ("amx_bf16", "avx512_bf16")
"""The flags of a processor that has products in bfloat16: at least one of them is needed."""


def check(precision: str) -> None:
    """Raises ValueError if it is none of PRECISIONS."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision}: operands of products are one of {', '.join(PRECISIONS)}")


def only_fp32(system: str, precision: Precision, why: str) -> None:
    """For systems that compute in float32 only: raises Unsupported, with the reason `why`, for any other precision."""
    if precision != "fp32":
        raise Unsupported(f"precision={precision}: {system} {why}")


def choose(
    precision: Precision, device: str, system: str, autocast: bool = False
) -> Callable[[], AbstractContextManager[object]]:
    """Sets PyTorch to products of this precision, for the whole process. Returns a function that makes the context in which to
    compute. `autocast`: whether the system can use products that are bfloat16. Raises Unsupported if the device or the system
    does not have this precision."""
    import torch

    if device == "cpu" and precision == "tf32":
        raise Unsupported("precision=tf32: PyTorch computes with it on CUDA devices only; give device=cuda")
    if device == "cpu" and precision == "bf16" and not set(INSTRUCTIONS) & processor_flags():
        raise Unsupported(f"precision=bf16: this processor has no products in bfloat16 ({' or '.join(INSTRUCTIONS)})")
    if device == "cuda" and precision == "bf16" and not autocast:
        only_fp32(system, precision, "puts results into float32 memory, and PyTorch on CUDA gives products as bfloat16")
    libraries: Any = torch.backends
    libraries.mkldnn.matmul.fp32_precision = "bf16" if (device, precision) == ("cpu", "bf16") else "ieee"
    for on_cuda in (libraries.cuda.matmul, libraries.cudnn.conv, libraries.cudnn.rnn):
        on_cuda.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    if device == "cuda" and precision == "bf16":
        return partial(torch.autocast, "cuda", dtype=torch.bfloat16)
    return nullcontext


def processor_flags() -> set[str]:
    """The features of the processor by the names that Linux has for them; none on other systems."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


def fact(precision: Precision) -> dict[str, str]:
    """The entry of `facts`; none for `fp32`."""
    return {} if precision == "fp32" else {"precision": precision}
