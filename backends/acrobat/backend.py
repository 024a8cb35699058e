"""ACRoBat behind the harness's contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from backends.acrobat.ablation import steps
from backends.acrobat.codegen.build import newest
from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.measured_devices import MEASURED_DEVICES
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
        self.device = MEASURED_DEVICES[target.device]
        self.checked = checked
        self.policy_trials = policy_trials
        self.ablation = ablation
        self.tune = tune
        self.guide = guide
        self.untuned = untuned
        self.tables = tables

    def available(self) -> str | None:
        try:
            compiler()
        except BuildError as error:
            if newest("") is None:  # a build from the cache needs no compiler
                return str(error)
        return self.device.missing(self.options)

    def emulated(self) -> bool:
        return self.device.emulated()

    def load(self) -> None:
        import backends.acrobat.codegen.devices
        import backends.acrobat.compiler  # noqa: F401
        import workloads.structures  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        if self.ablation == "alone":
            common: dict[str, Any] = {"ablation": "none", "tables": self.tables is not False}
            alone: list[Mapping[str, Any]] = [{}, *({switch: False} for switch in SWITCHES), *self.device.launches]
            return [{**common, **settings} for settings in alone]
        if self.ablation == "cumulative":
            return self.device.steps(steps())
        if self.tune == "curve":
            common = {"tables": self.tables is not False}
            settings = [common | {"tune": trials, "guide": guide} for guide in GUIDES for trials in CURVE]
            return [*settings, common | {"tune": 0, "untuned": False}] if self.untuned else settings
        if self.tables == "both":
            return [{"tables": True}, {"tables": False}]
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Compiled:
        self.device.check(self.options)
        from backends.acrobat.codegen.devices import DEVICES
        from backends.acrobat.compiler import compile
        from backends.acrobat.errors import CompileError
        from backends.acrobat.settings import Settings
        from workloads.spec import loaded

        device = self.device.name
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
