"""ACRoBat behind the harness's contract."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from backends.acrobat.codegen.build import newest
from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.kernels.cpu.target import CpuTarget, UnsupportedCpu
from backends.acrobat.kernels.cuda.target import CudaTarget, UnsupportedCuda
from backends.acrobat.options import SWITCHES, Options, takes_options
from bench.contract import Instance, Outputs, Target, Unsupported, Workload

ALWAYS = ("specialise",)
"""Switches that are on in every step of the cumulative ablation. Without `specialise` some weights are operands of each row,
and explicit gather copies them for every row, which is no realistic start."""
CUMULATIVE: Mapping[str, Sequence[str]] = {
    "unfused, vendor": (),
    "unfused, generated": (),
    "fusion": ("vertical",),
    "coarsening": ("coarsen",),
    "static scheduling": ("merge_steps",),
    "inline depth": ("hoist",),
    "phases and ghosts": ("phases", "ghosts", "defer"),
    "gather fusion": ("gather_fusion",),
    "sums of lists": ("fold_sums",),
    "horizontal fusion": ("horizontal",),
    "constant work": ("constant_work", "invariants", "tables"),
    "tuned": (),
}
"""The steps of the cumulative ablation and the switches that each adds (in the order of the paper's ablation figure, then of
our own). The first step runs a vendor's kernels, all others generated ones, whose effect alone the second shows. Before "inline
depth" the executor is `dataflow`, from then on `auto`. The last step tries `TRIALS` schedules of kernels, guided by a
profile."""
TRIALS = 64
CURVE = (0, 8, 16, 32, 64, 128)
"""The numbers of trials that the tuning curve measures."""
GUIDES = ("profile", "static", "even")
"""The lines of the tuning curve, one for each guide."""
SAMPLE_SEED = 7919
"""Is added to a cell's seed for drawing the mini-batch to profile and those that a policy is learned from."""
POLICY_MINIBATCHES = 3
"""How many mini-batches a policy is learned from."""


class Acrobat:
    """ACRoBat as a system under test. Every field of `Options` is a keyword, so that `backend.acrobat.<switch>=false` turns a
    switch off; `codegen=vm` interprets the host program instead of compiling it.

    `kernels=vendor` is the unfused mode: `Options` says what it turns off. `ablation` measures several settings, each as a
    cell: `alone` all switches on, and each switch off by itself; `cumulative` the steps of `CUMULATIVE`. `step` only names the
    step that a cell belongs to.

    `tables=both` measures two cells: one that projects embeddings when the model is loaded (`tables=true`) and one that does so
    in every mini-batch, as systems without such tables must. Together with `ablation` or `tune=curve` it means `true`.

    `tune` is the number of schedules to try; `curve` measures a cell for each number in `CURVE` with each of `GUIDES`. `guide`
    says how trials are shared out: by the profile of a mini-batch of other instances (of a data file: of the first), by static
    weights, or evenly among kernels. With `untuned`, kernels begin as plain loops, as in the paper, and `curve` has one more
    cell: the default schedules.

    `policy_trials`: with `executor=learned`, how often learning runs through the graphs of its mini-batches, which are of other
    instances too. It happens when the model is compiled, outside the clock.
    """

    name = "acrobat"
    packages = ("apache-tvm", "apache-tvm-ffi")
    programs = ("g++",)

    @takes_options
    def __init__(
        self,
        target: Target,
        *,
        step: str = "",
        tables: bool | Literal["both"] = "both",
        checked: bool = False,
        ablation: Literal["none", "alone", "cumulative"] = "none",
        tune: int | Literal["curve"] = 0,
        guide: Literal["profile", "static", "even"] = "profile",
        untuned: bool = False,
        policy_trials: int = 1000,
        **switches: Any,
    ) -> None:
        self.options = Options(tables=tables is not False, **switches)
        if tune != "curve" and tune < 0:
            raise ValueError(f"tune={tune}: the number of schedules to try, 0 or more, or curve")
        if tune == "curve" and ablation != "none":
            raise ValueError(f"tune=curve and ablation={ablation} are measured one at a time: leave one of them out")
        if (tune or untuned) and self.options.kernels == "vendor":
            what = f"tune={tune}" if tune else "untuned=true"
            raise ValueError(f"{what} and kernels=vendor: a library's kernels have no schedules to try; leave one of them out")
        if policy_trials < 0:
            raise ValueError(f"policy_trials={policy_trials}: how often to run through the graphs of the sample, 0 or more")
        self.target = target
        self.checked = checked
        self.policy_trials = policy_trials
        self.ablation = ablation
        self.tune = tune
        self.guide = guide
        self.untuned = untuned
        self.tables = tables

    def available(self) -> str | None:
        if self.target.device == "cuda" and (missing := self._cuda_missing()):
            return missing
        try:
            compiler()
        except BuildError as error:
            if newest("") is None:  # a build from the cache needs no compiler
                return str(error)
        if self.target.device == "cuda":
            return None
        try:
            CpuTarget.detect(self.options.isa)
        except UnsupportedCpu as error:
            return str(error)
        return self._vendor_missing() if self.options.kernels == "vendor" else None

    def _cuda_missing(self) -> str | None:
        import torch

        try:
            target = CudaTarget.detect()
        except UnsupportedCuda as error:
            return str(error)
        if not target.emulated and not torch.cuda.is_available():
            return "this PyTorch was built without CUDA, so it has no tensors there: install a build of PyTorch for CUDA"
        return None

    def _vendor_missing(self) -> str | None:
        from backends.acrobat.codegen import blas

        try:
            library = blas.find()
        except BuildError as error:
            return str(error)
        wanted = self.options.isa
        if wanted != "native" and library.instruction_set != wanted:
            core = (blas.AVX2_CORES if wanted == "avx2" else blas.AVX512_CORES)[0]
            return (
                f"isa={wanted}, but {library.version} has chosen its kernels for {library.core or 'an unknown processor'}; "
                f'give it "+isolate.env.OPENBLAS_CORETYPE={core}", or leave isa=native'
            )
        return None

    def emulated(self) -> bool:
        return self.target.device == "cuda" and CudaTarget.detect().emulated

    def load(self) -> None:
        import backends.acrobat.codegen.devices
        import backends.acrobat.compiler  # noqa: F401
        import workloads.structures  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        if self.ablation == "alone":
            on: dict[str, Any] = {"ablation": "none", "tables": self.tables is not False}
            launches = [on | {"launch": "launches"}] if self.target.device == "cuda" else []
            return [*(on | ({switch: False} if switch else {}) for switch in ("", *SWITCHES)), *launches]
        if self.ablation == "cumulative":
            return steps(self.target.device)
        if self.tune == "curve":
            on = {"tables": self.tables is not False}
            settings = [on | {"tune": trials, "guide": guide} for guide in GUIDES for trials in CURVE]
            return [*settings, on | {"tune": 0, "untuned": False}] if self.untuned else settings
        if self.tables == "both":
            return [{"tables": True}, {"tables": False}]
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Compiled:
        if self.options.precision != "fp32" and self.target.device == "cpu":
            raise Unsupported(
                f"precision={self.options.precision}: ACRoBat's kernels for processors are float32 alone; give device=cuda"
            )
        from backends.acrobat.codegen.devices import DEVICES
        from backends.acrobat.compiler import compile
        from backends.acrobat.errors import CompileError
        from backends.acrobat.settings import Settings
        from workloads.spec import loaded

        device: Literal["cpu", "cuda"] = "cuda" if self.target.device == "cuda" else "cpu"
        try:
            DEVICES[device].check(Settings(device=device, options=self.options, untuned=self.untuned))
        except ValueError as error:
            raise Unsupported(str(error)) from error
        trials = CURVE[-1] if self.tune == "curve" else self.tune
        profiled = trials and self.guide == "profile"
        sample = workload.instances(size, seed + SAMPLE_SEED, batch_size) if profiled else None
        try:
            executable = compile(
                loaded(workload, size, seed),
                device=device,
                threads=self.target.threads,
                options=self.options,
                checked=self.checked,
                tune=trials,
                guide=self.guide if trials else None,
                untuned=self.untuned,
                sample=sample,
                policy_trials=self.policy_trials,
            )
        except CompileError as error:
            raise Unsupported(str(error)) from error
        learns = self.options.executor == "learned"
        if learns:
            drawn = workload.instances(size, seed + SAMPLE_SEED, POLICY_MINIBATCHES * batch_size)
            executable.learn([drawn[i : i + batch_size] for i in range(0, len(drawn), batch_size)])
        options = replace(self.options, tables=False, executor=executable.executor)
        guide = self.guide if trials else ""
        settings = (options, trials, guide, self.untuned, *([self.policy_trials] if learns else []))
        return Compiled(
            executable, self.target.threads, settings=repr(settings), bounds=learns, precision=self.options.precision
        )


def steps(device: str = "cpu") -> list[dict[str, Any]]:
    """The options of each step of the cumulative ablation: its switches and those of all steps before are on. A CUDA device has
    neither a vendor's kernels nor tuning; there each step runs with `launch=launches`, and a last one with `launch=walk`."""
    rows: list[dict[str, Any]] = []
    how: dict[str, Any]
    on = set(ALWAYS)
    for step, switches in CUMULATIVE.items():
        on.update(switches)
        how = {"kernels": "generated" if rows else "vendor", "executor": "auto" if "hoist" in on else "dataflow"}
        how |= {"tune": TRIALS if step == "tuned" else 0}
        rows.append({"ablation": "none", "step": step, **how, **{switch: switch in on for switch in SWITCHES}})
    if device == "cpu":
        return rows
    generated = [each | {"launch": "launches"} for each in rows if each["kernels"] == "generated" and not each["tune"]]
    return [*generated, generated[-1] | {"step": "one launch", "launch": "walk"}]


class Compiled:
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
        self.bounded: list[tuple[Sequence[Instance], int]] = []  # mini-batches with their lower bounds

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
        """The lower bound on the number of batches of `minibatch`, which is run once more for it; the result is kept."""
        for known, bound in self.bounded:
            if known is minibatch:
                return bound
        with self.inference_mode():
            self.bounded.append((minibatch, self.executable.lower_bound(minibatch)))
        return self.bounded[-1][1]

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
