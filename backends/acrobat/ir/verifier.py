"""Checks that a program is well formed: every type can be derived again, every name is bound once and before its use.

A violation is a defect of the compiler, never of the user's model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.ops import infer
from backends.acrobat.core.units import Block, Kernel
from backends.acrobat.ir.function_verifier import FunctionCheck, check_declared, declared_text
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import type_text, units
from backends.acrobat.ir.unit_verifier import check_block, check_kernel


class VerifyError(AssertionError):
    """A pass or the front end made an ill-formed program; `violations` says where and how."""

    def __init__(self, violations: Sequence[str]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n".join(["the program is ill-formed", *violations]))


def verify(program: Program) -> None:
    """Raises VerifyError with all violations in `program`."""
    violations: list[str] = []
    _head(program, violations.append)
    used_units = units(program.functions.values())
    names = [u.name for u in used_units]
    ill_formed: set[Kernel | Block] = set()
    for unit in used_units:
        before = len(violations)

        def say(message: str, name: str = unit.name) -> None:
            violations.append(f"{name}: {message}")

        if names.count(unit.name) > 1:
            say("several kernels or blocks have this name")
        check_kernel(unit, say) if isinstance(unit, Kernel) else check_block(unit, say)
        if len(violations) > before:
            ill_formed.add(unit)
    for function in program.functions.values():
        FunctionCheck(program, function, violations, ill_formed).check()
    if violations:
        raise VerifyError(violations)


def _head(program: Program, say: Callable[[str], None]) -> None:
    """Calls `say` with each thing that is wrong with types, weights and the entry."""
    for name, function in program.functions.items():
        if name != function.name:
            say(f"function {function.name} stands under the name {name}")
    for name, data in program.datatypes.items():
        if name != data.name or not data.cases or len({c.name for c in data.cases}) != len(data.cases):
            say(f"type {name}: its cases need names of their own")
        for case in data.cases:
            if len({n for n, _ in case.fields}) != len(case.fields):
                say(f"type {name}: two fields of {case.name} have one name")
            for field, t in case.fields:
                check_declared(program, t, lambda message, at=f"{name}.{case.name}.{field}": say(f"{at}: {message}"))  # type: ignore[misc]
    entry = program.functions.get(program.entry)
    if entry is None or len(entry.params) != 1:
        say(f"the entry {program.entry} must be a function with one parameter, the instance")
    computable = {name: t for name, t in program.weights.items() if name not in program.derived}
    for name, derived in program.derived.items():
        if missing := [a for a in derived.args if a not in computable]:
            say(f"derived weight {name}: its operands {', '.join(missing)} are not known before it")
            continue
        try:
            t = infer(derived.op, [computable[a] for a in derived.args], dict(derived.attrs))
        except ShapeError as error:
            say(f"derived weight {name}: {error}")
            continue
        computable[name] = t
        if program.weights.get(name) != t:
            say(f"derived weight {name}: it is {type_text(t)}, not {declared_text(program.weights.get(name))}")
    for name, value in program.values.items():
        declared = program.weights.get(name)
        if declared is None or name in program.derived or tuple(value.shape) != declared.shape:
            say(f"the value of {name} has shape {tuple(value.shape)}, the weight is {declared_text(declared)}")
