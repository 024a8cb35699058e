"""ACRoBat behind the harness's contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from backends.acrobat.ablation import steps
from backends.acrobat.codegen.build import newest
from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.kernels.cpu.target import CpuTarget, UnsupportedCpu
from backends.acrobat.kernels.cuda.target import CudaTarget, UnsupportedCuda
from backends.acrobat.measured_model import Compiled
from backends.acrobat.options import SWITCHES, Options, takes_options
from bench.contract import Target, Unsupported, Workload

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
            both = f"{f'tune={tune}' if tune else 'untuned=true'} and kernels=vendor"
            raise ValueError(f"{both}: a library's kernels have no schedules to try; leave one of them out")
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
        isa = self.options.isa
        if isa != "native" and library.instruction_set != isa:
            core = (blas.AVX2_CORES if isa == "avx2" else blas.AVX512_CORES)[0]
            return (
                f"isa={isa}, but {library.version} has chosen its kernels for {library.core or 'an unknown processor'}; "
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
            common: dict[str, Any] = {"ablation": "none", "tables": self.tables is not False}
            launches = [common | {"launch": "launches"}] if self.target.device == "cuda" else []
            return [*(common | ({switch: False} if switch else {}) for switch in ("", *SWITCHES)), *launches]
        if self.ablation == "cumulative":
            return steps(self.target.device)
        if self.tune == "curve":
            common = {"tables": self.tables is not False}
            settings = [common | {"tune": trials, "guide": guide} for guide in GUIDES for trials in CURVE]
            return [*settings, common | {"tune": 0, "untuned": False}] if self.untuned else settings
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
