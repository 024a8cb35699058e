"""ACRoBat: an auto-batching compiler for dynamic PyTorch models (Fegade et al., MLSys 2024). `compile` is what it does;
`phase` and `parallel` are annotations that a model may have.

Ahead of time the Python source of the one-instance model becomes a program in an IR of its own (`frontend`); analyses find
what is shared by the batch, what may wait and at which static depth work stands; passes make kernels and static blocks of it,
pack weights and do work on weights once; kernels are generated for this processor or device, and the host program is C++ (or
bytecode, `codegen=vm`). Products of the vocabulary may be made when the model is loaded (`tables`).

At run time instances are read (`ingest_ms`), and the host program runs for each one and records calls of units at depths
that it counts itself (`construct_ms`): no graph is built. Each depth of a unit is a batch, one call of a kernel that reads
scattered operands in place (`kernel_ms`). Instances that wait for a tensor are coroutines. Other executors find the order at
run time (`executor`): by dataflow, as DyNet's agenda, or by a policy that was learned (ED-Batch); `auto` takes dataflow where
one depth for a list would keep apart what can run together.

What it cannot do: train, compile models outside of `LANGUAGE.md` (each is refused with its line), and what `docs/limits.md`
says.

Sources: Fegade et al., ACRoBat: Optimizing Auto-batching of Dynamic Deep Learning at Compile Time, MLSys 2024; Chen et al.,
ED-Batch, ICML 2023, for `executor=learned` and `memory_planning`.
"""

from __future__ import annotations

from typing import Any

from backends.acrobat.markers import parallel, phase

__all__ = ["compile", "parallel", "phase"]


def __getattr__(name: str) -> Any:
    # The harness imports this package to read option names; torch and the compiler load when they are used.
    if name == "compile":
        from backends.acrobat.compiler import compile

        return compile
    raise AttributeError(name)
