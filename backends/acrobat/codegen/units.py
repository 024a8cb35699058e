"""The units of a program, each kernel or static block once, and the kernel calls that each consists of on every device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from backends.acrobat.codegen.cpp import Identifiers
from backends.acrobat.core.ops import ITEMWISE
from backends.acrobat.core.units import Block, Kernel, Mode, Param, StepArg, StepResult
from backends.acrobat.ir.nodes import Launch, Weight
from backends.acrobat.kernels.interface import Request

X = TypeVar("X")


@dataclass(frozen=True, slots=True)
class CallPart:
    """One step of a unit within a kernel call. `args` has an entry for each param of the kernel: a param of the unit or a
    result of an earlier step."""

    step: int
    args: tuple[StepArg, ...]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One kernel call of a unit. Several parts are steps of the same kernel with different operands: the call has first all
    rows of the first part, then all rows of the second, and so on."""

    request: Request
    parts: tuple[CallPart, ...]
    over: str
    """The list group that the call runs over, with a row for each item of its lists; empty for a row per call of the unit."""
    leaves: bool
    """Whether the call's results are results of the unit; those of other calls are only used within it."""

    @property
    def args(self) -> tuple[StepArg, ...]:
        """The arguments of the first part. The weights among them are the same in all parts."""
        return self.parts[0].args


@dataclass(slots=True)
class UnitCode:
    """A unit with the weights of its shared parameters, the kernel calls that run it, and the layout of its result row."""

    index: int
    name: str
    """Unique among the units: a part of the names of its C++ functions."""
    unit: Kernel | Block
    shared: dict[str, Weight]
    """The weight of each shared parameter, by the parameter's name."""
    calls: list[KernelCall]
    result_starts: dict[int, int] = field(default_factory=dict)
    """For each step with results of the unit, where in the unit's result row those of the step start (in 4-byte elements)."""
    row_size: int = 0
    """The size of the unit's result row, in 4-byte elements."""
    must_not_be_empty: dict[str, str] = field(default_factory=dict)
    """List parameters that need at least one item, each with the name of the reduction that needs it, for the message."""

    @property
    def gathered(self) -> list[Param]:
        """The parameters that get one tensor for each call."""
        return [p for p in self.unit.params if p.mode is Mode.GATHERED]

    @property
    def lists(self) -> list[Param]:
        """The parameters that get a list of tensors for each call."""
        return [p for p in self.unit.params if p.mode is Mode.LIST]

    def group_of(self, param: str) -> str:
        """The list group of a list param; a param without a group is a group by itself."""
        groups = dict(self.unit.groups) if isinstance(self.unit, Block) else {}
        return groups.get(param, param)

    @property
    def groups(self) -> list[str]:
        """The list groups, in the order of their first parameters."""
        return list(dict.fromkeys(self.group_of(p.name) for p in self.lists))

    def result_displacements(self) -> tuple[int, ...]:
        """Where each result of the unit starts within its row."""
        if isinstance(self.unit, Kernel):
            return self.unit.displacements
        steps = self.unit.steps
        return tuple(self.result_starts[r.step] + steps[r.step].kernel.displacements[r.index] for r in self.unit.results)


class Units:
    """All units of a program, each once: the same kernel or block with the same weights batches together wherever it is
    called."""

    def __init__(self, merge: bool = True) -> None:
        """With `merge`, equal steps of a block that do not wait for each other are one kernel call."""
        self.merge = merge
        self.by_key: dict[tuple[Kernel | Block, tuple[str, ...]], UnitCode] = {}
        self.names = Identifiers(mark="")  # without a mark: each is used behind a prefix only, as in `run_<name>`

    def __iter__(self) -> Iterator[UnitCode]:
        return iter(self.by_key.values())

    def __len__(self) -> int:
        return len(self.by_key)

    def of(self, launch: Launch) -> UnitCode:
        """The unit that a launch calls, which is entered if it is new."""
        unit = launch.unit
        shared = {p.name: a for p, a in zip(unit.params, launch.args, strict=True) if p.mode is Mode.SHARED}
        assert all(isinstance(w, Weight) for w in shared.values()), unit.name
        key = (unit, tuple(w.name for w in shared.values() if isinstance(w, Weight)))
        if key not in self.by_key:
            code = UnitCode(len(self.by_key), self.names.fresh(unit.name), unit, shared, calls=[])  # type: ignore[arg-type]
            plan(code, self.merge)
            self.by_key[key] = code
        return self.by_key[key]

    def requests(self) -> list[Request]:
        """The kernels that all units need, each once."""
        return list(dict.fromkeys(call.request for unit in self for call in unit.calls))


def plan(code: UnitCode, merge: bool = True) -> None:
    """Decides which steps of a unit are one kernel call, the operand modes of each call and where results lie. Fills `code`."""
    unit = code.unit
    if isinstance(unit, Kernel):
        code.calls = [KernelCall(Request(unit, Mode.GATHERED), (CallPart(0, tuple(p.name for p in unit.params)),), "", True)]
        code.result_starts, code.row_size = {0: 0}, unit.row_size
        code.must_not_be_empty = dict(required_lists(unit, {p.name: p.name for p in unit.params}))
        return
    leaving = {r.step for r in unit.results}
    for k, step in enumerate(unit.steps):
        if k in leaving:
            code.result_starts[k] = code.row_size
            code.row_size += step.kernel.row_size
        over = code.group_of(step.over) if step.over else ""
        assert not (over and k in leaving), "a per-item result cannot leave a block"
        params = []
        for p, arg in zip(step.kernel.params, step.args, strict=True):
            mode = p.mode
            if mode is Mode.GATHERED and isinstance(arg, StepResult):
                same_rows = bool(unit.steps[arg.step].over) == bool(over)
                # Intermediates of the same rows are contiguous; one that is used for each item is read through a table.
                mode = Mode.CONTIGUOUS if same_rows and arg.step not in leaving else Mode.GATHERED
            params.append(replace(p, mode=mode))
        kernel = replace(step.kernel, params=tuple(params))
        out_mode = Mode.GATHERED if k in leaving else Mode.CONTIGUOUS
        code.calls.append(KernelCall(Request(kernel, out_mode), (CallPart(k, step.args),), over, k in leaving))
        for arg, reason in required_lists(step.kernel, dict(zip((p.name for p in step.kernel.params), step.args, strict=True))):
            # A list of results per item is as long as the list that the step runs over, so that is the one to be checked.
            source = unit.steps[arg.step].over if isinstance(arg, StepResult) else arg
            assert source is not None, "what a kernel reduces is a list"
            if any(p.name == source for p in unit.params):
                code.must_not_be_empty[source] = reason
    if merge:
        code.calls = merge_equal_calls(unit, code.calls)


def merge_equal_calls(block: Block, calls: Sequence[KernelCall]) -> list[KernelCall]:
    """Merges equal calls of a block (paper: static horizontal batching, and scheduling within static blocks). `calls` has one
    for each step; the result is in an order in which each call follows those that it depends on.

    The level of a call is the length of the longest chain of calls that it depends on, so calls of one level are independent.
    Those with the same kernel and weights, and without lists, become one call that reads its operands through tables."""
    levels: list[int] = []
    for step in block.steps:
        levels.append(max((levels[arg.step] + 1 for arg in step.args if isinstance(arg, StepResult)), default=0))
    groups: dict[object, list[KernelCall]] = {}
    for k, (step, call) in enumerate(zip(block.steps, calls, strict=True)):
        weights = tuple(a for p, a in zip(step.kernel.params, step.args, strict=True) if p.mode is Mode.SHARED)
        alone = call.over or any(p.mode is Mode.LIST for p in step.kernel.params)
        key = (levels[k], k) if alone else (levels[k], step.kernel, weights, call.leaves)
        groups.setdefault(key, []).append(call)
    if len(groups) == len(calls):
        return list(calls)
    out = []
    for equal in sorted(groups.values(), key=lambda equal: levels[equal[0].parts[0].step]):
        if len(equal) == 1:
            out.append(equal[0])
            continue
        kernel = equal[0].request.kernel
        params = tuple(p if p.mode is Mode.SHARED else replace(p, mode=Mode.GATHERED) for p in kernel.params)
        request = Request(replace(kernel, params=params), equal[0].request.out_mode)
        out.append(KernelCall(request, tuple(part for call in equal for part in call.parts), "", equal[0].leaves))
    return out


def required_lists(kernel: Kernel, args: Mapping[str, X]) -> list[tuple[X, str]]:
    """(argument, name of the reduction) of the lists that a kernel reduces without a start, which must not be empty."""
    return [
        (args[str(i.args[0])], ITEMWISE[i.op])
        for i in kernel.body
        if i.op in ITEMWISE and dict(i.attrs).get("nonempty") and str(i.args[0]) in args
    ]
