"""The reference emitter: every kernel as nested C++ loops over its definition, one row after another.

Its kernels are slow and plainly right. They need no TVM, so tests of everything around the kernels run with them, and
sanitizers see what they do (TVM's kernels are machine code).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from backends.acrobat.core.ops import ITEMWISE
from backends.acrobat.core.units import Instr, Kernel, Mode, displacements
from backends.acrobat.kernels.interface import parameters
from backends.acrobat.kernels.literals import number

Operand: TypeAlias = tuple[str, Any]
"""An operand in C++: the name of a pointer and its shape, or a literal and None."""

SCALAR = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "maximum": "{0} > {1} || {0} != {0} ? {0} : {1}",
    "minimum": "{0} < {1} || {0} != {0} ? {0} : {1}",
    "neg": "-{0}",
    "sigmoid": "1.0f / (1.0f + std::exp(-{0}))",
    "tanh": "std::tanh({0})",
    "relu": "{0} > 0.0f || {0} != {0} ? {0} : 0.0f",
    "gelu": "0.5f * {0} * (1.0f + std::erf({0} * 0.70710678f))",
    "exp": "std::exp({0})",
    "log": "std::log({0})",
    "sqrt": "std::sqrt({0})",
    "floor": "std::floor({0})",
    "sin": "std::sin({0})",
    "cos": "std::cos({0})",
    "less": "float({0} < {1})",
    "less_equal": "float({0} <= {1})",
    "equal": "float({0} == {1})",
    "where": "{0} != 0.0f ? {1} : {2}",
}
"""The element-wise operations in C++."""


def symbol(kernel: Kernel, out_mode: Mode) -> str:
    """A C name for the kernel with this way of placing its results."""
    text = repr((kernel, out_mode))
    return f"reference_{kernel.name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def declaration(kernel: Kernel, out_mode: Mode) -> str:
    """The C declaration of a kernel."""
    return f"int32_t {symbol(kernel, out_mode)}({', '.join(parameters(kernel, out_mode))});"


def scratch_size(kernel: Kernel) -> int:
    """The scratch that the kernel needs, in 4-byte elements: room for every intermediate of one row."""
    return displacements(tuple(i.type for i in kernel.body))[1]


def source(kernel: Kernel, out_mode: Mode) -> str:
    """The C++ definition of the kernel."""
    lines = [f'extern "C" int32_t {symbol(kernel, out_mode)}({", ".join(parameters(kernel, out_mode))}) {{']
    lines += [
        "    (void)part_begin, (void)part_end, (void)scratch;",
        "    for (int64_t row = row_begin; row < row_end; ++row) {",
    ]
    names: dict[str, str] = {}
    for i, p in enumerate(kernel.params):
        names[p.name] = f"x{i}"
        match p.mode:
            case Mode.SHARED:
                lines.append(f"        const float* x{i} = p{i};")
            case Mode.GATHERED:
                lines.append(f"        const float* x{i} = base + p{i}[row];")
            case Mode.CONTIGUOUS:
                lines.append(f"        const float* x{i} = base + p{i}_start + row * p{i}_stride;")
    starts = displacements(tuple(i.type for i in kernel.body))[0]
    for k, (instr, at) in enumerate(zip(kernel.body, starts, strict=True)):
        names[instr.name] = f"t{k}"
        element = "int64_t" if instr.type.dtype == "int64" else "float"
        lines.append(f"        {element}* t{k} = reinterpret_cast<{element}*>(scratch + {at});  // {instr.name} = {instr.op}")
        lines += [f"        {line}" for line in compute(kernel, instr, f"t{k}", names)]
    lines.append(f"        float* y = base + {'out[row]' if out_mode is Mode.GATHERED else 'out_start + row * out_stride'};")
    for result, at, t in zip(kernel.results, kernel.displacements, kernel.result_types, strict=True):
        lines.append(f"        std::memcpy(y + {at}, {names[result]}, {t.width * 4});")
    return "\n".join([*lines, "    }", "    return 0;", "}"])


def compute(kernel: Kernel, instr: Instr, out: str, names: dict[str, str]) -> list[str]:
    """C++ loops that fill `out` with the result of one instruction; `names` has the C++ pointer of each value."""
    attrs = dict(instr.attrs)
    shape = instr.type.shape
    args: list[Operand] = [
        (names.get(a, ""), kernel.type_of(a).shape) if isinstance(a, str) else (number(float(a)), None) for a in instr.args
    ]
    match instr.op:
        case "list_sum" | "list_max" | "list_min" | "list_softmax" | "list_attention":
            return over_list(kernel, instr, out, names)
        case "linear":
            rows, n, k = prod(shape[:-1]), shape[-1], args[0][1][-1]
            start = f"{args[2][0]}[j]" if len(args) > 2 else "0.0f"
            return [
                f"for (int64_t i = 0; i < {rows}; ++i)",
                f"    for (int64_t j = 0; j < {n}; ++j) {{",
                f"        float sum = {start};",
                f"        for (int64_t k = 0; k < {k}; ++k) sum += {args[0][0]}[i * {k} + k] * {args[1][0]}[j * {k} + k];",
                f"        {out}[i * {n} + j] = sum;",
                "    }",
            ]
        case "matmul":
            return matmul(out, args)
        case "softmax" | "argmax" | "sum" | "mean" | "max":
            return reduction(instr.op, out, args[0], attrs["dim"])
        case "layer_norm":
            x, xs = args[0]
            d = xs[-1]
            return [
                f"for (int64_t i = 0; i < {prod(xs[:-1])}; ++i) {{",
                "    double mean = 0, square = 0;",
                f"    for (int64_t e = 0; e < {d}; ++e) mean += {x}[i * {d} + e];",
                f"    mean /= {d};",
                f"    for (int64_t e = 0; e < {d}; ++e) square += ({x}[i * {d} + e] - mean) * ({x}[i * {d} + e] - mean);",
                f"    const double scale = 1.0 / std::sqrt(square / {d} + {attrs['eps']!r});",
                f"    for (int64_t e = 0; e < {d}; ++e)",
                f"        {out}[i * {d} + e] = float(({x}[i * {d} + e] - mean) * scale) * {args[1][0]}[e] + {args[2][0]}[e];",
                "}",
            ]
        case "full":
            return [f"for (int64_t e = 0; e < {instr.type.size}; ++e) {out}[e] = {number(float(attrs['value']))};"]
    return elementwise(instr, out, args, attrs)


def over_list(kernel: Kernel, instr: Instr, out: str, names: dict[str, str]) -> list[str]:
    """What `compute` does, for an operation over lists: loops over the items of each list."""
    lists = [next((j for j, p in enumerate(kernel.params) if p.name == a), -1) for a in instr.args]
    size = instr.type.size
    if instr.op in ITEMWISE:
        (i,) = lists
        start, step = {
            "list_sum": ("0.0f", SCALAR["add"]),
            "list_max": ("-INFINITY", SCALAR["maximum"]),
            "list_min": ("INFINITY", SCALAR["minimum"]),
        }[instr.op]
        return [
            f"for (int64_t e = 0; e < {size}; ++e) {out}[e] = {start};",
            f"for (int64_t k = p{i}_starts[row]; k < p{i}_starts[row + 1]; ++k)",
            f"    for (int64_t e = 0; e < {size}; ++e) {{",
            f"        const float item = base[p{i}_items[k] + e];",
            f"        {out}[e] = {step.format(f'{out}[e]', 'item')};",
            "    }",
        ]
    scores, values = lists[-2:]
    if instr.op == "list_softmax":
        each = kernel.params[scores].type.size
        score = f"base[p{scores}_items[k] + h]"
    else:
        query, d = names[str(instr.args[0])], kernel.params[scores].type.shape[-1]
        each = kernel.params[scores].type.size // d
        scale = number(float(dict(instr.attrs)["scale"]))
        score = f"[&] {{ float s = 0; for (int64_t e = 0; e < {d}; ++e) "
        score += f"s += {query}[h * {d} + e] * base[p{scores}_items[k] + h * {d} + e]; return s * {scale}; }}()"
    width = size // each
    value = f"p{values}_items[p{values}_starts[row] + k - p{scores}_starts[row]]"
    items = f"for (int64_t k = p{scores}_starts[row]; k < p{scores}_starts[row + 1]; ++k)"
    return [
        f"for (int64_t h = 0; h < {each}; ++h) {{",
        "    float highest = -INFINITY, total = 0;",
        f"    for (int64_t e = 0; e < {width}; ++e) {out}[h * {width} + e] = 0;",
        f"    {items} highest = std::fmax(highest, {score});",
        f"    {items} {{",
        f"        const float share = std::exp({score} - highest);",
        "        total += share;",
        f"        for (int64_t e = 0; e < {width}; ++e) {out}[h * {width} + e] += share * base[{value} + h * {width} + e];",
        "    }",
        f"    if (total != 0) for (int64_t e = 0; e < {width}; ++e) {out}[h * {width} + e] /= total;",
        "}",
    ]


def loops(shape: Sequence[int]) -> tuple[list[str], list[str], str]:
    """The heads of nested C++ loops over `shape`, their variables, and the flat index of an element."""
    variables = [f"i{d}" for d in range(len(shape))]
    heads = [f"{'    ' * d}for (int64_t i{d} = 0; i{d} < {n}; ++i{d})" for d, n in enumerate(shape)]
    return heads, variables, flat(variables, shape)


def flat(indices: Sequence[str], shape: Sequence[int]) -> str:
    """The index in memory of the element with these indices, as C text."""
    text = "0"
    for index, extent in zip(indices, shape, strict=True):
        text = index if text == "0" else f"({text}) * {extent} + {index}"
    return text


def elementwise(instr: Instr, out: str, args: Sequence[Operand], attrs: dict[str, Any]) -> list[str]:
    """Loops for an operation of which each result element is computed, or target_index, from one element of every operand."""
    shape = instr.type.shape
    heads, index, at = loops(shape)
    pad = "    " * len(shape)
    match instr.op:
        case "cat" | "stack":
            dim, lines, offset = attrs["dim"], [], 0
            for x, xs in args:
                part = xs if instr.op == "cat" else (*xs[:dim], 1, *xs[dim:])
                heads, index, _ = loops(part)
                target_index = [v if d != dim else f"({v} + {offset})" for d, v in enumerate(index)]
                lines += [*heads, f"{'    ' * len(part)}{out}[{flat(target_index, shape)}] = {x}[{flat(index, part)}];"]
                offset += part[dim]
            return lines
        case "slice":
            source_index = [v if d != attrs["dim"] else f"({v} + {attrs['start']})" for d, v in enumerate(index)]
        case "index":
            source_index = [*index[: attrs["dim"]], str(attrs["i"]), *index[attrs["dim"] :]]
        case "permute":
            source_index = [index[attrs["dims"].index(d)] for d in range(len(shape))]
        case "reshape":
            return [f"for (int64_t e = 0; e < {instr.type.size}; ++e) {out}[e] = {args[0][0]}[e];"]
        case _:
            operands = []
            for x, xs in args:
                if xs is None:
                    operands.append(x)
                    continue
                tail = index[len(shape) - len(xs) :]
                operands.append(f"{x}[{flat(['0' if n == 1 else v for v, n in zip(tail, xs, strict=True)], xs)}]")
            return [*heads, f"{pad}{out}[{at}] = {SCALAR[instr.op].format(*operands)};"]
    return [*heads, f"{pad}{out}[{at}] = {args[0][0]}[{flat(source_index, args[0][1])}];"]


def matmul(out: str, args: Sequence[Operand]) -> list[str]:
    """Loops for a product of matrices, vectors, or stacks of matrices."""
    (a, a_shape), (b, b_shape) = args
    left = a_shape if len(a_shape) > 1 else (1, *a_shape)
    right = b_shape if len(b_shape) > 1 else (*b_shape, 1)
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    m, k, n = left[-2], left[-1], right[-1]
    heads, index, at = loops((*batch, m, n))
    i, j = index[-2:]

    def element(x: str, xs: tuple[int, ...], row: str, column: str) -> str:
        own = index[len(batch) - len(xs[:-2]) : len(batch)]
        return f"{x}[{flat([*('0' if e == 1 else v for v, e in zip(own, xs[:-2], strict=True)), row, column], xs)}]"

    pad = "    " * len(index)
    return [
        *heads,
        f"{pad}{{ float sum = 0.0f; for (int64_t k = 0; k < {k}; ++k) "
        f"sum += {element(a, left, i, 'k')} * {element(b, right, 'k', j)}; {out}[{at}] = sum; }}",
    ]


def reduction(op: str, out: str, arg: Operand, dim: int) -> list[str]:
    """Loops for a reduction along one dimension."""
    x, shape = arg
    outer, d, inner = prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
    at = f"(o * {d} + e) * {inner} + r"
    to = f"o * {inner} + r"
    body = {
        "sum": f"float v = 0; for (int64_t e = 0; e < {d}; ++e) v += {x}[{at}]; {out}[{to}] = v;",
        "mean": f"float v = 0; for (int64_t e = 0; e < {d}; ++e) v += {x}[{at}]; {out}[{to}] = v / {d};",
        "max": f"float v = {x}[(o * {d}) * {inner} + r]; "
        f"for (int64_t e = 1; e < {d}; ++e) v = {SCALAR['maximum'].format('v', f'{x}[{at}]')}; {out}[{to}] = v;",
        "argmax": f"int64_t best = 0; for (int64_t e = 1; e < {d}; ++e) "
        f"if (const float v = {x}[(o * {d} + best) * {inner} + r]; v == v && !({x}[{at}] <= v)) best = e; {out}[{to}] = best;",
        "softmax": f"float v = -INFINITY, sum = 0; for (int64_t e = 0; e < {d}; ++e) v = std::fmax(v, {x}[{at}]); "
        f"for (int64_t e = 0; e < {d}; ++e) sum += {out}[{at}] = std::exp({x}[{at}] - v); "
        f"for (int64_t e = 0; e < {d}; ++e) {out}[{at}] /= sum;",
    }[op]
    return [f"for (int64_t o = 0; o < {outer}; ++o)", f"    for (int64_t r = 0; r < {inner}; ++r) {{ {body} }}"]
