"""Random test cases: a program with its instances, the options it is compiled with, and whether the front end reads it. With an
odd seed the Python text of a model is drawn (`random_models`), with an even one a program. A case depends only on its seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, get_args, get_type_hints

from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.tests.programs import Sample, sample
from backends.acrobat.kernels.cpu.target import CpuTarget, UnsupportedCpu
from backends.acrobat.options import Device, Executor, Options
from backends.acrobat.passes.tests.random_programs import all_used
from backends.acrobat.tests.random_models import Written
from backends.acrobat.tests.random_models import written as written_model


def _can_be(option: str, value: Any) -> bool:
    """Whether this machine supports `value` for `option`: it may lack the instructions that `isa` names."""
    try:
        return option != "isa" or bool(CpuTarget.detect(value))
    except UnsupportedCpu:
        return False


def _axes() -> dict[str, tuple[Any, ...]]:
    types = get_type_hints(Options)
    plain = {bool: (True, False), int: (0, 1, 2)}
    values = {f.name: get_args(types[f.name]) or plain[types[f.name]] for f in fields(Options)}
    return {f.name: (f.default, *(v for v in values[f.name] if v != f.default and _can_be(f.name, v))) for f in fields(Options)}


AXES = _axes()
"""The values that each option is drawn from, its default first: all of a bool or a `Literal`, small ones of a number."""
INSTANCES = 6
LARGE_ONES = 5
"""One of so many programs is large. A small one costs a quarter of that, and small ones find most of what large ones find."""


@dataclass(frozen=True, slots=True)
class Case:
    seed: int
    sample: Sample
    options: Options
    written: bool
    """Whether the program is printed as Python, which the front end then reads."""
    plain: bool = False
    """Whether it has plain kernels (`native_batches`), which take a tenth of the time to compile."""
    also: tuple[Executor, ...] = ()
    """Other executors that the same build is run with."""
    model: Written | None = None
    """The model, if a text was drawn; `sample` is then empty."""
    device: Device = "cpu"
    """The device it is compiled for. Only cases for the processor are built many at once."""


NOTHING = Sample(Program({}, {}, {}), ())


def case_of(seed: int, fixed: Mapping[str, Any] | None = None) -> Case:
    """The case of a seed, with the options in `fixed` instead of drawn ones."""
    choose = Random(seed).randrange
    options = dict(fixed or {})
    if choose(2):  # most of the time goes into the C++ compiler, which takes half as long for interpreted programs
        options.setdefault("codegen", "vm")
    for _ in range(choose(3)):
        axis = list(AXES)[choose(len(AXES))]
        options.setdefault(axis, AXES[axis][1 + choose(len(AXES[axis]) - 1)])
    drawn = Options(**options).effective()
    plain = drawn.kernels == "generated" and drawn.isa == "native" and choose(8) > 0
    other: Executor = ("dataflow", "agenda", "inline")[choose(3)]
    also = (other,) if other != drawn.executor else ()
    if seed % 2:
        return Case(seed, NOTHING, drawn, True, plain, also, written_model(choose))
    written, waits, live, again = choose(2) == 0, choose(3) > 0, choose(4) > 0, choose(2) > 0
    made = sample(choose, waits, 1 + choose(INSTANCES), rounds=not written, small=choose(LARGE_ONES) > 0)
    if live:
        made = replace(made, program=all_used(made.program))
    if again:
        made = replace(made, instances=(*made.instances, made.instances[0]))
    return Case(seed, made, drawn, written, plain, also)
