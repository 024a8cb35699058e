"""Just-in-time dynamic batching over PyTorch, behind the harness's contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from backends.pytorch.devices import missing
from backends.pytorch.precision import Precision, check, choose
from bench.contract import Target, Unsupported, Workload

if TYPE_CHECKING:
    from backends.jitbatch.model import Model

GRANULARITIES = ("operator", "cell", "subtree")


class JitBatch:
    """`granularity`: what one deferred call is: an operation of torch; a cell, which is one of the methods that the workload
    names as straight-line code; or a subtree, a recursive call on a structure that occurs more than once in the mini-batch (the
    rest as cells). `best` measures all three. `cache`: whether the analysis of a mini-batch is kept for later ones with the
    same calls. `precision`: what the operands of products may be rounded to (backends/pytorch/precision.py)."""

    name = "jitbatch"
    packages = ("torch", "greenlet")
    uses = ("backends.pytorch",)

    def __init__(
        self,
        target: Target,
        granularity: Literal["best", "operator", "cell", "subtree"] = "best",
        cache: bool = True,
        precision: Precision = "fp32",
    ) -> None:
        check(precision)
        if granularity not in ("best", *GRANULARITIES):
            raise ValueError(f"granularity is best, operator, cell or subtree, not {granularity!r}")
        self.target = target
        self.granularity = granularity
        self.cache = cache
        self.precision = precision

    def available(self) -> str | None:
        if find_spec("greenlet") is None:
            return "greenlet is not installed, with which instances wait for one another: pip install greenlet"
        return missing(self.target.device)

    def load(self) -> None:
        import backends.jitbatch.cells
        import backends.jitbatch.kinds
        import backends.jitbatch.model
        import backends.jitbatch.prepare
        import backends.jitbatch.subtrees  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{"granularity": granularity} for granularity in GRANULARITIES] if self.granularity == "best" else [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Model:
        import torch

        from backends.jitbatch.cells import DeferredCell
        from backends.jitbatch.kinds import Kinds
        from backends.jitbatch.model import Model
        from backends.jitbatch.prepare import prepare
        from backends.jitbatch.subtrees import DeferredSubtree, Structures, recursive_methods
        from workloads.spec import loaded

        torch.set_num_threads(self.target.threads)
        choose(self.precision, self.target.device, "jitbatch")
        granularity = "cell" if self.granularity == "best" else self.granularity
        module = prepare(loaded(workload, size, seed).to(self.target.device))
        undeferred: dict[str, str] = {}
        if granularity != "operator":
            names: Sequence[str] = getattr(workload, "cells", ())
            if not names:
                raise Unsupported(f"granularity={granularity} defers cells, and {workload.name} names no `cells`")
            for name in names:
                module.__dict__[name] = DeferredCell(name, getattr(module, name), undeferred)
        structures = None
        if granularity == "subtree":
            structures = Structures()
            recursive, waiting = recursive_methods(module)
            if not recursive:
                why = f"{waiting[0]} waits for tensors' values" if waiting else "it has none"
                raise Unsupported(f"granularity=subtree defers recursive calls over structures, and of {workload.name}: {why}")
            for name in recursive:
                module.__dict__[name] = DeferredSubtree(name, getattr(module, name), structures, undeferred)
        kinds = Kinds(torch.device(self.target.device))
        return Model(module, kinds, self.cache, undeferred, structures, self.precision)
