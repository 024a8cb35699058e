"""Checks that kernels and static blocks are well formed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.ops import OPS, Fusion, infer
from backends.acrobat.core.types import FLOAT, ListT, TensorT, Type
from backends.acrobat.core.units import Block, Kernel, Mode, Param, Step, StepArg, StepResult
from backends.acrobat.ir.printer import type_text


def check_kernel(kernel: Kernel, say: Callable[[str], None]) -> None:
    """Calls `say` with each thing that is wrong with a kernel."""
    type_of: dict[str, Type] = {}
    for p in kernel.params:
        if p.name in type_of:
            say(f"{p.name} is bound twice")
        type_of[p.name] = ListT(p.type) if p.mode is Mode.LIST else p.type
    for i in kernel.body:
        types: list[Type] = []
        for a in i.args:
            if isinstance(a, str):
                if a not in type_of:
                    say(f"{i.name}: there is no {a} yet")
                else:
                    types.append(type_of[a])
            else:
                types.append(FLOAT)
        if len(types) == len(i.args):
            try:
                t = infer(i.op, types, dict(i.attrs))
                if t != i.type:
                    say(f"{i.name} is {type_text(t)}, not {type_text(i.type)}")
            except ShapeError as error:
                say(f"{i.name}: {error}")
        if i.op in OPS and OPS[i.op].fusion is Fusion.ADDRESS:
            say(f"{i.name}: {i.op} is no work for a kernel")
        if i.name in type_of:
            say(f"{i.name} is bound twice")
        type_of[i.name] = i.type
    if missing := [r for r in kernel.results if r not in {i.name for i in kernel.body}]:
        say(f"it does not compute its results {', '.join(missing)}")
    if not kernel.results:
        say("it has no result")


def check_block(block: Block, say: Callable[[str], None]) -> None:
    """Calls `say` with each thing that is wrong with a static block."""
    params = {p.name: p for p in block.params}
    lists = {p.name for p in block.params if p.mode is Mode.LIST}
    groups = {name: name for name in lists} | dict(block.groups)
    if len(params) != len(block.params):
        say("two operands have one name")
    if len(dict(block.groups)) != len(block.groups) or not set(dict(block.groups)) <= lists:
        say("groups are of its lists, each once")
    results: dict[StepResult, tuple[TensorT, str | None]] = {}  # with the list group that its step runs over
    for k, step in enumerate(block.steps):
        if step.over and step.over not in lists:
            say(f"step {k} runs over {step.over}, which is no list operand")
            continue
        over = groups[step.over] if step.over else None
        if len(step.args) != len(step.kernel.params):
            say(f"step {k}: {step.kernel.name} takes {len(step.kernel.params)} operands, got {len(step.args)}")
        for p, arg in zip(step.kernel.params, step.args, strict=False):
            if problem := _step_operand(p, arg, over, step, params, groups, results):
                say(f"step {k}, operand {p.name}: {problem}")
        results.update({StepResult(k, j): (t, over) for j, t in enumerate(step.kernel.result_types)})
    for result in block.results:
        if result not in results:
            say(f"its result {result} is computed by no step")
        elif results[result][1]:
            say(f"its result {result} is one for each item of a list")
    if not block.results:
        say("it has no result")


def _step_operand(
    p: Param,
    arg: StepArg,
    over: str | None,
    step: Step,
    params: Mapping[str, Param],
    groups: Mapping[str, str],
    results: Mapping[StepResult, tuple[TensorT, str | None]],
) -> str:
    """What is wrong with `arg` as the operand `p` of a step that runs over the list group `over`, or ""."""
    t: TensorT
    source: str | None
    if isinstance(arg, str) and arg in params:
        param = params[arg]
        t, source, shared = param.type, groups[arg] if param.mode is Mode.LIST else None, param.mode is Mode.SHARED
    elif isinstance(arg, StepResult) and arg in results:
        (t, source), shared = results[arg], False
    else:
        return f"there is no {arg} yet"
    if t != p.type:
        return f"{arg} is {type_text(t)}, not {type_text(p.type)}"
    if p.mode is Mode.SHARED and not shared:
        return f"{arg} is no shared operand of the block"
    if p.mode is Mode.LIST and (not source or over):
        return f"{arg} is no list here"
    if p.mode is not Mode.LIST and source and source != over:
        return f"{arg} has one tensor for each item of a list over which {step.kernel.name} does not run"
    return ""
