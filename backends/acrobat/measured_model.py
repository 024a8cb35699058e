"""A compiled model behind the harness's contract: it runs mini-batches, and says what it did and what ran."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from bench.contract import Instance, Outputs


class Compiled:
    """What `Acrobat.compile` returns: the methods are those of `Compiled` in `bench/contract.py`."""

    def __init__(
        self, executable: Any, threads: int, settings: str = "", bounds: bool = False, precision: str = "fp32"
    ) -> None:
        """`settings`: what distinguishes this model from others of the same generated source, for `identity`. `bounds`: whether
        `counters` has the lower bound on the number of batches, for which the executor must note dependences."""
        import torch

        self.executable = executable
        self.threads = threads
        self.settings = settings
        self.inference_mode = torch.inference_mode
        self.minibatch: Sequence[Instance] = ()
        self.bounds = bounds
        self.precision = precision
        # by the identities of a mini-batch's instances: the mini-batch, so that these live, and its lower bound
        self.bounded: dict[tuple[int, ...], tuple[Sequence[Instance], int]] = {}

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        device = self.executable.device
        if device == "cpu":
            return list(instances)
        from workloads.structures import map_tensors

        return [map_tensors(lambda t: t.to(device), instance) for instance in instances]

    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        self.minibatch = minibatch
        with self.inference_mode():  # eager PyTorch runs in it too; it makes result tensors cheaper
            outputs = self.executable(minibatch)
            self.executable.synchronize()
            return outputs

    def fetch(self, outputs: Outputs) -> list[Any]:
        from workloads.structures import arrays

        fetched: list[Any] = arrays(outputs)
        return fetched

    def counters(self) -> Mapping[str, Any]:
        c = self.executable.counters()
        width = c["nodes"] / c["batches"] if c["batches"] else 0.0
        bound = {"lower_bound": self.lower_bound(self.minibatch)} if self.bounds else {}
        arena = c["host_bytes"] + c["tensor_bytes"]
        return {**c, "executor": self.executable.executor, "mean_batch_width": width, "arena_bytes": arena, **bound}

    def lower_bound(self, minibatch: Sequence[Instance]) -> int:
        """The lower bound on the number of batches of `minibatch`, which is run once more for it; the result is kept. The
        harness gives a mini-batch as a new list each time, so it is known again by its instances."""
        key = tuple(map(id, minibatch))
        if key not in self.bounded:
            with self.inference_mode():
                self.bounded[key] = minibatch, self.executable.lower_bound(minibatch)
        return self.bounded[key][1]

    def identity(self) -> str:
        """A hash of the generated program. It is the same with and without `tables` if the model projects no embeddings."""
        digest = hashlib.sha256(self.settings.encode())
        for name in ("model.cpp", "manifest.json"):
            digest.update((self.executable.folder / name).read_bytes())
        return digest.hexdigest()

    def facts(self) -> Mapping[str, Any]:
        """What ran: the widest instructions that kernels use, what made the kernels, and CPU threads. `load_time` is "tables"
        if products were computed when the model was loaded that other systems compute in each mini-batch. After a run also
        `properties`."""
        manifest, blas = self.executable.manifest, self.executable.blas
        generated = f"generated kernels, {manifest['generator']}"
        return {
            "instruction_set": blas.instruction_set if blas else manifest["instruction_set"],
            "library": f"{blas.version} ({blas.core}), {generated}" if blas else generated,
            "threads": self.threads,
            "load_time": "tables" if manifest["projects"] else "",
            **({"precision": self.precision} if self.precision != "fp32" else {}),
            **({"properties": self.properties()} if self.minibatch else {}),
        }

    def properties(self) -> dict[str, Any]:
        """Whether the model is recursive, and numbers about the schedule of the last mini-batch, for which it and its first
        instance alone are run once more: `phases`; `depth`, the number of levels with launches; `width_median` and
        `width_most`, the median and largest number of rows of a launch; `width_of_one`, the largest number of rows when one
        instance runs alone (more than 1 is parallelism within an instance)."""
        with self.inference_mode():
            launches = self.executable.schedule(self.minibatch)
            alone = self.executable.schedule(self.minibatch[:1])
        levels = {(phase, depth) for phase, depth, _, _ in launches}
        widths = sorted(rows for _, _, _, rows in launches)
        return {
            "recursive": bool(self.executable.manifest["recursive"]),
            "phases": len({phase for phase, _ in levels}),
            "depth": len(levels),
            "width_median": widths[len(widths) // 2] if widths else 0,
            "width_most": widths[-1] if widths else 0,
            "width_of_one": max((rows for _, _, _, rows in alone), default=0),
        }

    def close(self) -> None:
        self.executable.close()
