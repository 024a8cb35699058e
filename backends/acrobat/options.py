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

CHOICES = {
    "executor": ("what decides which operations run together is", get_args(Executor)),
    "codegen": ("the host program runs as", get_args(Codegen)),
    "kernels": ("matrix products are kernels of", get_args(Kernels)),
    "launch": ("a device is given an execution as", get_args(Launch)),
    "precision": ("operands of products are", get_args(Precision)),
    "isa": ("the instruction set of kernels is", get_args(Isa)),
}
"""The options that have one of a few values: what an error says of each, and its values."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the passes and the runtime do; each field is a keyword of the backend and explained below it."""

    specialise: bool = True
    """Parameter reuse: clone functions per weight set, so that each weight is shared by the batch (paper: taint analysis)."""
    tables: bool = True
    """Products of constants, such as rows of embeddings, with weights are computed at load; what remains is a lookup."""
    invariants: bool = True
    """Products, and parts of products, that are the same in every round of a loop are computed once before the loop."""
    constant_work: bool = True
    """Operations whose operands are all weights are computed once, at load."""
    fold_sums: bool = True
    """A sum over a list is one reduction, not a chain of additions."""
    horizontal: bool = True
    """Sibling products (gates; q, k, v) are one product with packed weights."""
    vertical: bool = True
    """Element-wise work joins the product or reduction that feeds it; off: one kernel for each operation."""
    coarsen: bool = True
    """Straight lines of kernels are recorded and scheduled as one unit (paper: static blocks)."""
    merge_steps: bool = True
    """Equal kernels of a static block that have the same weights and do not depend on each other are one launch of more rows
    (paper: static horizontal batching, scheduling within static blocks)."""
    gather_fusion: bool = True
    """Kernels read scattered operands in place; off: operands are first copied into contiguous memory."""
    hoist: bool = True
    """Operations that depend on no recursive result run at a static depth, before all others."""
    phases: bool = True
    """Stages of `forward` are phases: the next stage starts when every instance has recorded the one before."""
    ghosts: bool = True
    """The shorter arm of a branch is padded, and a segment ends after loops of unequal lengths, so that later work batches."""
    defer: bool = True
    """At a wait, only the levels that are waited for run; deeper work stays recorded and batches with work of later rounds."""
    wave: int = 64
    """A mini-batch whose results would outgrow the caches runs as several waves, one after the other. A wave has at least so
    many instances, or four times as many if they wait; 0: all instances always run together. A CUDA device, on which wider
    launches are always better, treats the default as 0."""
    executor: Executor = "auto"
    """What decides which operations run together. `inline`: depths that the generated code counts (paper). `dataflow`: depths
    that are found from each operation's operands when it is recorded. `agenda`: of the ready units, the one with the lowest
    average depth runs next (DyNet). `learned`: a table that was learned from sample mini-batches says which of the ready units
    runs next (ED-Batch's finite-state machine; Chen et al., ICML 2023; `codegen/policy.py`). `auto`: `inline`, but `dataflow`
    for a model that waits for no tensor and goes through a list of its own results element by element, whose work inline depth
    would keep apart (`analyses/recurrences.py`)."""
    memory_planning: bool = False
    """Memory for results is assigned when batches are formed, so that a later batch often finds its operands one after the
    other (ED-Batch; `runtime/planning.h`), and not when operations are recorded. It saves copies where operands are gathered
    explicitly (`gather_fusion` off, `kernels="vendor"`). It is off by default because it costs time, and kernels that read
    scattered operands in place gain nothing. It has no effect with inline depth, which does not form batches in advance."""
    codegen: Codegen = "aot"
    """How the host program runs: compiled ahead of time (`aot`), or as bytecode that a native loop interprets (`vm`; the paper
    compares AOT compilation with the Relay VM). Kernels are compiled in both cases."""
    kernels: Kernels = "generated"
    """`vendor`: matrix products are calls of a library's GEMM, on operands copied into contiguous memory; every other operation
    is a generated kernel. Nothing can be fused into a library's kernel, so this turns `vertical`, `horizontal`, `coarsen` and
    `gather_fusion` off, whatever they are set to."""
    launch: Launch = "walk"
    """How a CUDA device runs an execution: `walk`, as one launch that goes through the whole schedule, with barriers of all
    blocks in between; `launches`, as one launch for each step of it. Without effect on a processor."""
    precision: Precision = "fp32"
    """The format that operands of matrix products are rounded to on a CUDA device; all else, sums too, is in float32.
    `fp32`: nothing is rounded. `tf32` (10 bits of fraction) and `bf16` (7): products of many rows run on tensor cores. Products
    of few rows, which are limited by reading weights and not by arithmetic, and products with vectors are as with `fp32`. For
    a processor both are refused."""
    isa: Isa = "native"
    """The instruction set of kernels: `native`, the widest that this processor has; `avx2`, vectors of 256 bits even if it has
    wider ones; `avx512`, vectors of 512 bits, refused if it has none. The host program is always compiled for any x86-64
    processor, and a vendor's library chooses its own instructions."""

    def __post_init__(self) -> None:
        if isinstance(self.wave, bool) or not isinstance(self.wave, int) or not 0 <= self.wave <= 1 << 32:
            raise ValueError(f"wave={self.wave!r}: the least number of instances of a wave, or 0 for all of them")
        for name, (meaning, values) in CHOICES.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name}={getattr(self, name)!r}: {meaning} one of {', '.join(values)}")

    def effective(self) -> Options:
        """These options as they are compiled: without the switches that `kernels="vendor"` turns off."""
        if self.kernels == "vendor":
            return replace(self, vertical=False, horizontal=False, coarsen=False, gather_fusion=False)
        return self


SWITCHES = tuple(f.name for f in fields(Options) if f.type == "bool" and f.default)
"""The optimisations that are on by default, and that an ablation turns off."""

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
