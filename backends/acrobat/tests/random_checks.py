"""The checks of a random case: each way of running it is compared with the interpreter (float64) on the program as drawn."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
import torch

from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.pipeline import optimise
from backends.acrobat.tests import model_checks
from backends.acrobat.tests.model_checks import Raised
from backends.acrobat.tests.native_batches import Member, build_alone, build_batch, generated, loaded
from backends.acrobat.tests.python_source import eagerly, load_source, moved, python_source, weights_of
from backends.acrobat.tests.random_cases import Case
from backends.acrobat.tests.random_models import Written

FAST = ("-O0", "--param=ggc-min-heapsize=500000")
"""Flags with which the C++ compiler is fastest: it optimises nothing and collects no garbage."""
BUILD = "C++ compiler"
REFUSED = "CompileError"
"""Is in the kind of a finding if the front end refuses a model that it should take; all other findings are wrong results."""
EXACT = 1e-9
MODEL = 1e-6
"""The tolerance between the front end's program and a drawn text in eager PyTorch, which uses constants of its own."""
NUMBER = re.compile(r"\d[\d.e+-]*")
TOLERANCE = 1e-3
"""Rounding weights to float32 changes results of the generator's programs by at most 1e-4; defects change them by more."""
X = TypeVar("X")


class Wrong(AssertionError):
    """A result that is not the interpreter's."""


@dataclass(frozen=True, slots=True)
class Finding:
    case: Case
    stage: str
    """Where it was found: generator, printing Python, eager, front end, passes, code generation, C++ compiler, run, process."""
    message: str

    @property
    def kind(self) -> str:
        """A short text that is the same for findings that are likely to have the same cause."""
        lines = [line for line in self.message.strip().splitlines() if line.strip()]
        what = lines[0]
        if what.startswith("Traceback"):  # take the error, and for a refused model its first problem
            at = next((i for i, line in enumerate(lines) if i and not line.startswith(" ")), -1)
            what = lines[at].rpartition("errors.")[2]
            if what.startswith(REFUSED) and at + 1 < len(lines):
                what = f"{REFUSED}: {lines[at + 1].rpartition(': ')[2] if ': ' in lines[at + 1] else lines[at + 1]}"
        if self.stage == BUILD:
            what = next((line.partition("error: ")[2] for line in lines if "error: " in line), what)
        elif re.match(r"(\w+, )?instance ", what):  # leave out the place in the result
            what = "a wrong result"
        return f"{self.stage}: {NUMBER.sub('#', what)[:60]}"

    def __str__(self) -> str:
        case = self.case
        return "\n".join(
            [
                f"seed {case.seed}: {self.stage}: {self.message.strip()}",
                f"options: {case.options}",
                f"device: {case.device}; kernels: {'plain' if case.plain else 'native'}; also: {', '.join(case.also) or '-'}",
                *([case.model.text] if case.model else self._program()),
            ]
        )

    def _program(self) -> list[str]:
        case = self.case
        text = [f"instances: {case.sample.instances!r}", print_program(case.sample.program)]
        return text + (["as Python:", _source(case)] if case.written and self.stage != "printing Python" else [])


@dataclass
class _Running:
    """A case that goes through the stages of the check. `program` is what is compiled in the end, `want` the right results."""

    case: Case
    program: Program
    instances: Sequence[Any]
    want: list[Any]
    finding: Finding | None = field(default=None)

    def at(self, stage: str, work: Callable[[], X]) -> X | None:
        """`work()`; if it raises, a finding of this stage is noted, and the result is None."""
        try:
            return work()
        except Wrong as error:
            self.finding = Finding(self.case, stage, str(error))
        except Exception:
            self.finding = Finding(self.case, stage, traceback.format_exc())
        return None


def check_cases(cases: Sequence[Case], folder: Path, flags: Sequence[str] = FAST) -> list[Finding]:
    """The findings of the cases, at most one for each. Cases for the processor are built together in the new folder `folder`,
    cases for other devices one by one."""
    running = []
    for case in cases:
        r = _Running(case, case.sample.program, case.sample.instances, [])
        running.append(r)
        if case.model is not None:
            _model(r, case.model, folder)
        else:
            r.at("generator", partial(_interpreted, r))
            if r.finding is None and case.written:
                _written(r, folder)
        if r.finding is None:
            r.at("passes", partial(_optimised, r))
    ready = [r for r in running if r.finding is None]
    for i, r in enumerate(ready):
        if r.case.device != "cpu":
            r.at(BUILD, partial(build_alone, r.program, r.case.options, folder / str(i), flags, r.case.device))
            if r.finding is None:
                r.at("run", partial(_run, r, folder, i))
    ready = [r for r in ready if r.case.device == "cpu"]
    members: list[Member] = []
    for r in list(ready):
        member = r.at("code generation", partial(generated, r.program, r.case.options, len(members), r.case.plain))
        if member is None:
            ready.remove(r)
        else:
            members.append(member)
    if ready:
        try:
            build_batch(members, folder / "all", flags)
        except BuildError as error:
            if len(ready) == 1:
                ready[0].finding = Finding(ready[0].case, BUILD, str(error))
            else:
                alone = [f for k, r in enumerate(ready) for f in check_cases([r.case], folder / str(k), flags)]
                return [r.finding for r in running if r.finding] + alone
        else:
            for i, r in enumerate(ready):
                r.at("run", partial(_run, r, folder / "all", i))
    return [r.finding for r in running if r.finding]


def _interpreted(r: _Running) -> None:
    verify(r.program)
    interpreter = Interpreter(r.program)
    r.want = [interpreter.run(instance) for instance in r.instances]


def _written(r: _Running, folder: Path) -> None:
    """Prints the case as Python and checks it in eager PyTorch and in the front end, whose program replaces the drawn one."""
    module = r.at("printing Python", lambda: load_source(_source(r.case), folder / "written", f"random_{r.case.seed}"))
    if module is None:
        return
    model = module.Model(weights_of(r.program))

    def eager() -> None:
        for i, (instance, want) in enumerate(zip(r.instances, r.want, strict=True)):
            same(eagerly(model, moved(instance, module, torch.float64)), want, f"instance {i}, ", EXACT)

    def front_end() -> None:
        program = build(model.float())
        verify(program)
        interpreter = Interpreter(program)
        instances = [moved(i, module, torch.float32) for i in r.instances]
        for i, (instance, want) in enumerate(zip(instances, r.want, strict=True)):
            same(interpreter.run(instance), want, f"instance {i}, ", EXACT)
        r.program, r.instances = program, instances

    r.at("eager", eager)
    if r.finding is None:
        r.at("front end", front_end)


def _model(r: _Running, model: Written, folder: Path) -> None:
    """Checks a drawn text: the front end's program against eager PyTorch, whose results become the right ones."""
    seed = r.case.seed
    loaded = r.at("generator", lambda: model_checks.load(model, seed, folder / "written", f"random_model_{seed}"))
    if loaded is None:
        return
    wanted = r.at("generator", lambda: model_checks.eager(loaded))
    if wanted is None:
        return

    def front_end() -> None:
        program = build(loaded.module, sample=loaded.shown)
        verify(program)
        interpreter = Interpreter(program)
        r.program, r.instances, r.want = program, loaded.instances, wanted
        for i, instance in enumerate(r.instances):
            one(lambda batch: [interpreter.run(batch[0])], instance, wanted[i], f"instance {i}, ", MODEL)

    r.at("front end", front_end)


def one(run: Callable[[list[Any]], list[Any]], instance: Any, want: Any, path: str, tolerance: float) -> None:
    """Runs one instance. Raises Wrong unless it gives the result `want`, or raises the error of the model that `want` is."""
    if not isinstance(want, Raised):
        same(run([instance])[0], want, path, tolerance)
        return
    try:
        got = run([instance])[0]
    except InstanceError as error:
        if want.text not in str(error):
            raise Wrong(f"{path}: right is the error {want.text!r}, not {error}") from None
    else:
        raise Wrong(f"{path}: right is the error {want.text!r}, not {got!r}")


def _source(case: Case) -> str:
    return python_source(case.sample.program, Random(case.seed).randrange)


def _optimised(r: _Running) -> None:
    r.program = optimise(r.program, r.case.options)


def _run(r: _Running, folder: Path, index: int) -> None:
    """Runs the mini-batch, then the instances in reverse order in the same memory, then one instance alone; and the mini-batch
    with the other executors of the case, which use the same build."""
    everything = [i for i, want in enumerate(r.want) if not isinstance(want, Raised)]
    for options in (r.case.options, *(replace(r.case.options, executor=e) for e in r.case.also)):
        executable = loaded(r.program, options, folder, index, r.case.device)
        for i in sorted(set(range(len(r.want))) - set(everything)):
            one(executable, r.instances[i], r.want[i], f"instance {i}, ", TOLERANCE)
        for order in (everything, everything[::-1], everything[:1]) if options is r.case.options else (everything,):
            got = executable([r.instances[i] for i in order])
            for i, g in zip(order, got, strict=True):
                same(g, r.want[i], f"{'' if options is r.case.options else options.executor + ', '}instance {i}, ")
        executable.close()


def same(got: Any, want: Any, path: str = "", tolerance: float = TOLERANCE) -> None:
    """Raises Wrong unless `got` is `want`: structures, integers and names of classes are equal, tensors and floats close."""
    if isinstance(want, np.ndarray):
        if not isinstance(got, (torch.Tensor, np.ndarray)) or tuple(got.shape) != want.shape:
            raise Wrong(f"{path}: a tensor of shape {want.shape} is right, not {got!r}")
        array = got.detach().numpy() if isinstance(got, torch.Tensor) else got
        if not np.allclose(array, want, rtol=tolerance, atol=tolerance):
            raise Wrong(f"{path}: right is\n{want!r}, not\n{array!r}")
    elif isinstance(want, (list, tuple)):
        if type(got) is not type(want) or len(got) != len(want):
            raise Wrong(f"{path}: right is {want!r}, not {got!r}")
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            same(g, w, f"{path}[{i}]", tolerance)
    elif isinstance(want, dict):
        if type(got) is not dict or list(got) != list(want):
            raise Wrong(f"{path}: right is {want!r}, not {got!r}")
        for key, w in want.items():
            same(got[key], w, f"{path}[{key!r}]", tolerance)
    elif is_dataclass(want):
        if type(got).__name__ != type(want).__name__:
            raise Wrong(f"{path}: right is {want!r}, not {got!r}")
        for f in fields(want):
            same(getattr(got, f.name), getattr(want, f.name), f"{path}.{f.name}", tolerance)
    elif isinstance(want, float):
        if type(got) is not float or abs(got - want) > tolerance * (1 + abs(want)):
            raise Wrong(f"{path}: right is {want!r}, not {got!r}")
    elif type(got) is not type(want) or got != want:
        raise Wrong(f"{path}: right is {want!r}, not {got!r}")
