"""Writes the C++ of units: how a call is recorded, which is the same for every device; subclasses add how a device runs it."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic

from backends.acrobat.codegen.cpp import c_string, identifier
from backends.acrobat.codegen.units import KernelCall, UnitCode, Units
from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.interface import C, Emitted, Request, Variant


class UnitWriter(ABC, Generic[C]):
    """Writes functions that record and run calls of units, given the emitted kernels. The subclass of a device writes how a
    bucket of calls is run, and what comes before all units."""

    runner: str
    """The prefix of the functions that `run` writes."""
    maker: str
    """The runtime's function that makes the device."""
    includes: tuple[str, ...]
    """The headers of the runtime that generated code includes for this device."""

    def __init__(self, emitted: Mapping[Request, Sequence[Variant[C]]]) -> None:
        self.emitted = emitted
        self.packed: dict[tuple[str, str], int] = {}  # (weight, JSON of its packing) -> index of the packed weight

    def kernels(self) -> Iterable[Emitted[C]]:
        """Each kernel once, in the order of the units."""
        return {v.emitted.symbol: v.emitted for variants in self.emitted.values() for v in variants}.values()

    @abstractmethod
    def opening(self) -> list[str]:
        """The lines before the model's anonymous namespace."""

    @abstractmethod
    def definitions(self) -> list[str]:
        """The first lines within that namespace."""

    @abstractmethod
    def run(self, code: UnitCode) -> str:
        """The function that runs all recorded calls of one bucket."""

    def record(self, code: UnitCode) -> str:
        """The C++ function that records one call and returns the address of its row of results."""
        return f"static inline Tensor record_{code.name}{self.recorder(code, 'Context& cx', str(code.index))}"

    @staticmethod
    def recorder(code: UnitCode, context: str = "Context& cx, int unit", unit: str = "unit") -> str:
        """A function that records one call, without its name; `context` are its first parameters, `unit` the unit's number."""
        params = [f"Tensor {operand(p.name)}" for p in code.gathered]
        params += [f"const List<Tensor>& {operand(p.name)}" for p in code.lists]
        lines = [f"({', '.join([context, 'int64_t depth', *params])}) {{"]
        for p in code.lists:
            if p.name in code.must_not_be_empty:
                lines += [f"    if ({operand(p.name)}.size == 0) empty_list({c_string(code.must_not_be_empty[p.name])});"]
        tensors = ", ".join(operand(p.name) for p in code.gathered)
        lists = ", ".join(f"&{operand(p.name)}" for p in code.lists)
        lines += [
            f"    if (cx.tracks()) [[unlikely]] depth = cx.track({unit}, {{{tensors}}}, {{{lists}}});",
            f"    Bucket& bucket = cx.stage->bucket(depth, {unit});",
            "    const int64_t row = bucket.open();",
        ]
        lines += [f"    bucket.operands[{i}].data[row] = {operand(p.name)};" for i, p in enumerate(code.gathered)]
        for i, p in enumerate(code.lists):
            lines += [f"    bucket.items[{i}].push({operand(p.name)}.data, {operand(p.name)}.size);"]
        for g, group in enumerate(code.groups):
            first = next(i for i, p in enumerate(code.lists) if code.group_of(p.name) == group)
            lines += [f"    bucket.starts[{g}].data[row + 1] = bucket.items[{first}].size;"]
        lines += [
            f"    const Tensor result = bucket.out.data[row] = cx.place({code.row_size});",
            f"    if (cx.tracks()) [[unlikely]] cx.tracked(result, {code.row_size}, row);",
            "    return result;",
            "}",
        ]
        return "\n".join(lines)

    def table(self, units: Units) -> str:
        """The C++ table of `Unit`s (runtime/bucket.h), which describes the units to the runtime."""
        lines = []
        for code in units:
            groups = {g: i for i, g in enumerate(code.groups)}
            of_list = ", ".join(str(groups[code.group_of(p.name)]) for p in code.lists) or "0"
            lines.append(f"static const int kGroups_{code.name}[] = {{{of_list}}};")
        lines.append("static const Unit kUnits[] = {")
        for code in units:
            lines.append(
                f"    {{{c_string(code.name)}, {len(code.gathered)}, {len(code.groups)}, {len(code.lists)}, "
                f"kGroups_{code.name}, {code.row_size}, {self.runner}_{code.name}}},"
            )
        if not len(units):
            lines.append('    {"", 0, 0, 0, nullptr, 0, nullptr},')
        return "\n".join([*lines, "};"])

    @staticmethod
    def weights(code: UnitCode, call: KernelCall) -> dict[str, str]:
        """The name of the weight that each shared parameter of the call's kernel stands for."""
        params = zip(call.request.kernel.params, call.args, strict=True)
        return {p.name: code.shared[str(arg)].name for p, arg in params if p.mode is Mode.SHARED}

    def packed_index(self, variant: Variant[C], param: str, weight: str) -> int:
        """The index of the packed weight for a shared parameter (`weight` in the variant's packing), which equal ones share."""
        key = (weight, json.dumps(variant.emitted.packs[param], sort_keys=True))
        return self.packed.setdefault(key, len(self.packed))


def operand(param: str) -> str:
    """The C++ name of a unit's parameter; no other parameter and nothing else in the generated functions has this name."""
    text = identifier(param)
    return f"arg_{text}" if text == param else f"arg_{text}_{hashlib.sha256(param.encode()).hexdigest()[:8]}"
