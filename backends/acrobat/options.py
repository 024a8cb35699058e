"""The switches of the compiler: each is an axis of the ablation, reachable as `backend.acrobat.<switch>=...`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, TypeVar, get_args, get_type_hints

Device: TypeAlias = Literal["cpu", "cuda"]
Executor: TypeAlias = Literal["auto", "inline", "dataflow", "agenda", "learned"]
Codegen: TypeAlias = Literal["aot", "vm"]
Launch: TypeAlias = Literal["walk", "launches"]
Kernels: TypeAlias = Literal["generated", "vendor"]
Precision: TypeAlias = Literal["fp32", "tf32", "bf16"]
Isa: TypeAlias = Literal["native", "avx2", "avx512"]


@dataclass(frozen=True, slots=True)
class Options:
    specialise: bool = True
    """Parameter reuse: clone functions per weight set, so that each weight is shared by the batch (paper: taint analysis)."""
    tables: bool = True
    """Projections of constants, rows of embeddings among them, are done at load: the product is then a lookup."""
    invariants: bool = True
    """Products that are the same in every round of a loop, or their share that is, are computed once before it."""
    constant_work: bool = True
    """Operations on weights alone are done once, at load."""
    fold_sums: bool = True
    """A sum over a list is one reduction, not a chain of additions."""
    horizontal: bool = True
    """Sibling products (gates; q, k, v) are one product with packed weights."""
    vertical: bool = True
    """Element-wise work joins the product or reduction that feeds it; off: one kernel for each operation."""
    coarsen: bool = True
    """Straight lines of kernels are recorded and scheduled as one unit (paper: static blocks)."""
    merge_steps: bool = True
    """Equal kernels of a static block, with the same weights, that do not wait for each other are one launch of more rows
    (paper: static horizontal batching, scheduling within static blocks)."""
    gather_fusion: bool = True
    """Kernels read scattered operands in place; off: operands are first copied into contiguous memory."""
    hoist: bool = True
    """Operations that depend on no recursive result run at a static depth, before all others."""
    phases: bool = True
    """Stages of `forward` are phases: the next stage starts when every instance has recorded the one before."""
    ghosts: bool = True
    """The shorter arm of a branch is padded, and loops within a wait end together, so that what follows batches."""
    defer: bool = True
    """When calls wait, only what they wait for runs; deeper work stays recorded and meets what is recorded later."""
    wave: int = 64
    """A mini-batch whose results would outgrow the caches runs as several waves, one after the other, of so many instances at
    least, of those that wait four times as many; 0: all instances always run together. A CUDA device, whose launches gain from
    each row more, takes the default as 0."""
    executor: Executor = "auto"
    """What decides which operations run together. `auto`: `inline`, as in the paper, but `dataflow` for a model that goes
    through the elements of a list of its own results and waits for no tensor, whose work inline depth would keep apart
    (`analyses/recurrences.py`). The others say how depths are found: `inline` by counters in the generated code, `dataflow`
    from each operation's operands as it is recorded, `agenda` not at all: what is ready runs, the unit of the lowest average
    depth first (DyNet's agenda). `learned`: what is ready runs, and which unit of it, a table says that was learned from sample
    mini-batches (ED-Batch's finite-state machine; Chen et al., ICML 2023; `codegen/policy.py`)."""
    memory_planning: bool = False
    """Results are placed when batches are formed, so that what reads the rows of one batch in their order finds them one after
    the other, after ED-Batch (`runtime/planning.h`); else where the operation was recorded. It saves copies where operands are
    gathered explicitly (`gather_fusion` off, `kernels="vendor"`). Kernels that read scattered operands in place gain nothing
    from it and planning costs time, so it is off. Without effect with inline depth, which forms no batches ahead."""
    codegen: Codegen = "aot"
    """How the host program runs: compiled ahead of time, or as bytecode that a native loop interprets (paper: AOT compilation
    against the Relay VM). Kernels are compiled either way."""
    kernels: Kernels = "generated"
    """`vendor`: matrix products are calls of a library's GEMM, on operands copied into contiguous memory; all other operations
    are generated kernels of their own. A library's kernel takes nothing else in, so this turns `vertical`, `horizontal`,
    `coarsen` and `gather_fusion` off, whatever they are."""
    launch: Launch = "walk"
    """How a CUDA device is given an execution: `walk`, as one launch that goes over the whole schedule, with barriers of all
    blocks in between; `launches`, as one launch for each step. Without effect on a processor."""
    precision: Precision = "fp32"
    """What the operands of matrix products may be rounded to on a CUDA device; sums, and all that is no product, are in
    float32. `fp32`: nothing is rounded. `tf32` (10 bits of fraction) and `bf16` (7): products of many rows run on tensor cores.
    Products of few rows wait for weights and not for arithmetic: these, and products with vectors, are as with `fp32`. A
    processor refuses both."""
    isa: Isa = "native"
    """The instruction set that kernels are made for: `native` the widest this processor has, `avx2` vectors of 256 bits also
    where it has wider ones, `avx512` vectors of 512 bits, refused where it has none. The host program is compiled for any
    x86-64 processor whatever this is. A vendor's library chooses its own instructions."""

    def __post_init__(self) -> None:
        if isinstance(self.wave, bool) or not isinstance(self.wave, int) or not 0 <= self.wave <= 1 << 32:
            raise ValueError(f"wave={self.wave!r}: the least number of instances of a wave, or 0 for all of them")
        if self.isa not in get_args(Isa):
            raise ValueError(f"isa={self.isa!r}: the instruction set of kernels is one of {', '.join(get_args(Isa))}")
        if self.precision not in get_args(Precision):
            raise ValueError(f"precision={self.precision!r}: operands of products are one of {', '.join(get_args(Precision))}")
        if self.launch not in get_args(Launch):
            raise ValueError(f"launch={self.launch!r}: a device is given an execution as one of {', '.join(get_args(Launch))}")

    def effective(self) -> Options:
        """These options as they are compiled: without the switches that `kernels="vendor"` turns off."""
        if self.kernels == "vendor":
            return replace(self, vertical=False, horizontal=False, coarsen=False, gather_fusion=False)
        return self


SWITCHES = tuple(f.name for f in fields(Options) if f.type == "bool" and f.default)
"""The optimisations that are on by default, which an ablation turns off."""

F = TypeVar("F", bound=Callable[..., None])


def takes_options(constructor: F) -> F:
    """Decorates a constructor that ends in `**switches`: its signature then lists every field of `Options` that is not one of
    its own parameters, with type and default. The harness reads signatures to learn the options of a backend."""
    signature, hints = inspect.signature(constructor), get_type_hints(constructor)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    types = {name: hint for name, hint in get_type_hints(Options).items() if name not in signature.parameters}
    derived = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=types[f.name])
        for f in fields(Options)
        if f.name in types
    ]
    constructor.__signature__ = signature.replace(parameters=[*own, *derived])  # type: ignore[attr-defined]
    constructor.__annotations__ = {**{p.name: hints[p.name] for p in own if p.name in hints}, **types}
    return constructor
