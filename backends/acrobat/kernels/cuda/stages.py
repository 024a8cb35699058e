"""The general template: one block computes one row, instruction by instruction. Values that have to be kept lie in shared
memory or, if they do not fit, in memory of the device that belongs to the block."""

from __future__ import annotations

from collections import Counter
from math import prod

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel, Mode, displacements
from backends.acrobat.kernels.cuda.schedule import THREADS, WARPS
from backends.acrobat.kernels.cuda.text import ELEMENTWISE, OVER_LISTS, Addresses, indented
from backends.acrobat.kernels.cuda.values import MOVES, Index, Values, c_type, is_pure
from backends.acrobat.kernels.literals import number

ALONG = ("softmax", "layer_norm", "sum", "mean", "max", "argmax")
"""The reductions along a dimension."""
WEIGHTED = ("list_softmax", "list_attention")
"""Sums of a list that are weighted by a softmax."""
PRODUCTS = ("linear", "matmul")


def writes(op: str) -> bool:
    """Whether this template, which takes every kernel that no other one takes, can write the operation."""
    return op in {*ELEMENTWISE, *OVER_LISTS, *MOVES, *ALONG, *WEIGHTED, *PRODUCTS} or OPS[op].fusion is Fusion.CONSTANT


def write_general(kernel: Kernel, out_mode: Mode, symbol: str, shared: int, blocks: int) -> tuple[list[str], list[str], int]:
    """Definitions, the tile function's body, and the bytes of shared memory that it takes, at most `shared`."""
    addresses = Addresses(kernel, out_mode)
    values = Values(kernel, addresses)
    stored = stored_instructions(kernel)
    starts, size = displacements(tuple(instr.type for instr in stored))
    fits = size * 4 <= shared
    definitions = [] if fits else [f"ACROBAT_GLOBAL float {symbol}_kept[{blocks}ll * {size}];"]
    memory = "reinterpret_cast<float*>(shared)" if fits else f"{symbol}_kept + int64_t(blockIdx.x) * {size}"
    body = ["const int row = tile;", f"float* const kept = {memory};", "(void)kept;"]
    for instr, start in zip(stored, starts, strict=True):
        name = values.fresh("t")
        to = f"kept + {start}"
        if instr.type.dtype == "int64":
            to = f"reinterpret_cast<int64_t*>({to})"
        body += [
            f"{c_type(instr.type)}* const {name} = {to};  // {instr.name}: {instr.op}",
            *stage(kernel, instr, name, values),
        ]
        body.append("block_sync();")
        values.stored[instr.name] = name
    body.append(f"float* const result = {addresses.result('row')};")
    for name, displacement, t in zip(kernel.results, kernel.displacements, kernel.result_types, strict=True):
        lines = values.begin()
        value = values.element(name, Index(t.shape, "e"))
        to = f"result + {displacement}" if t.dtype == "float32" else f"reinterpret_cast<int64_t*>(result + {displacement})"
        body += [*each(t.size), *indented([*lines, f"({to})[e] = {value};"]), "}"]
    return definitions, body, size * 4 if fits else 0


def stored_instructions(kernel: Kernel) -> list[Instr]:
    """The instructions whose values are computed once and stored: reductions, products, and element-wise work that these read
    or that has several uses."""
    uses = Counter(a for i in kernel.body for a in i.args if isinstance(a, str))
    feeds_many = {a for i in kernel.body if not is_pure(i) for a in i.args if isinstance(a, str)}
    return [i for i in kernel.body if not is_pure(i) or i.name in feeds_many or uses[i.name] > 1]


def each(size: int) -> list[str]:
    """The head of a loop over `size` elements that the threads of a block share."""
    return [f"for (int e = thread; e < {size}; e += {THREADS}) {{"]


def stage(kernel: Kernel, instr: Instr, out: str, values: Values) -> list[str]:
    """Lines that fill `out` with the result of one instruction."""
    t = instr.type
    shapes = [kernel.type_of(a).shape for a in instr.args if isinstance(a, str)]
    lines = values.begin()
    if is_pure(instr):
        value = values.element(instr.name, Index(t.shape, "e"))
        return [*each(t.size), *indented([*lines, f"{out}[e] = {value};"]), "}"]
    index = Index(t.shape, "e").indices
    if instr.op == "linear":
        depth = shapes[0][-1]
        start = values.element(str(instr.args[2]), Index(shapes[2], index[-1])) if len(instr.args) > 2 else "0.0f"
        begin, inner = [*lines, f"float sum = {start};"], values.begin()
        x = values.element(str(instr.args[0]), Index(shapes[0], "", (*index[:-1], "k")))
        w = values.element(str(instr.args[1]), Index(shapes[1], "", (index[-1], "k")))
        return _sum(t.size, depth, begin, inner, x, w, out)
    if instr.op == "matmul":
        return _matmul(instr, shapes[0], shapes[1], index, out, values)
    if instr.op in WEIGHTED:
        return _over_lists(kernel, instr, out, values)
    return _reduction(instr, shapes, out, values)


def _over_lists(kernel: Kernel, instr: Instr, out: str, values: Values) -> list[str]:
    """Softmax-weighted sums of a list's values. One warp computes each score of an item (each head of an attention), and its
    lanes share the elements of the values. Scores are computed twice, the first time for their maximum."""
    number_of = values.addresses.number
    scores, items = (number_of[str(a)] for a in instr.args[-2:])
    shape = kernel.params[scores].type.shape
    lines = values.begin()
    if instr.op == "list_softmax":
        count = prod(shape)
        score = ["return from[head];"]
    else:
        depth = shape[-1]
        count = prod(shape[:-1])
        query = values.element(str(instr.args[0]), Index(shape, f"(head * {depth} + e)"))
        score = [
            "float sum = 0.0f;",
            f"for (int e = lane; e < {depth}; e += 32) {{",
            *indented([*lines, f"sum += {query} * from[head * {depth} + e];"]),
            "}",
            f"return warp_sum(sum) * {number(float(dict(instr.attrs)['scale']))};",
        ]
    width = instr.type.size // count
    each_item = f"for (int64_t i = a.p{scores}_starts[row]; i < a.p{scores}_starts[row + 1]; ++i)"
    each_value = f"for (int e = lane; e < {width}; e += 32)"
    mine = f"{out}[head * {width} + e]"
    body = [
        "const auto score = [&](int64_t i) {",
        f"    const float* const from = a.base + a.p{scores}_items[i] + a.p{scores}_by;",
        *indented(score),
        "};",
        "float highest = -INFINITY, total = 0.0f;",
        f"{each_value} {mine} = 0.0f;",
        f"{each_item} highest = maximum(highest, score(i));",
        f"{each_item} {{",
        "    const float share = expf(score(i) - highest);",
        f"    const int64_t at = i - a.p{scores}_starts[row] + a.p{items}_starts[row];",
        f"    const float* const from = a.base + a.p{items}_items[at] + a.p{items}_by;",
        "    total += share;",
        f"    {each_value} {mine} += share * from[head * {width} + e];",
        "}",
        f"if (total != 0.0f) {each_value} {mine} /= total;",
    ]
    head = f"for (int head = thread / 32; head < {count}; head += {WARPS}) {{"
    return ["{", "    const int lane = thread % 32;", f"    {head}", *indented(body, 2), "    }", "}"]


def _sum(size: int, depth: int, begin: list[str], inner: list[str], x: str, w: str, out: str) -> list[str]:
    """Lines that fill the `size` elements of `out` with sums of `depth` products x * w. `begin` declares each sum, `inner` are
    the lines that x and w need."""
    loop = [f"for (int k = 0; k < {depth}; ++k) {{", *indented([*inner, f"sum += {x} * {w};"]), "}"]
    return [*each(size), *indented([*begin, *loop, f"{out}[e] = sum;"]), "}"]


def _matmul(
    instr: Instr, left: tuple[int, ...], right: tuple[int, ...], index: tuple[str, ...], out: str, values: Values
) -> list[str]:
    """Lines for a product of operands with these shapes. `index`: of the result's element, along each dimension."""
    batch = list(index)
    column = batch.pop() if len(right) > 1 else None
    row = batch.pop() if len(left) > 1 else None

    def own(shape: tuple[int, ...], *last: str | None) -> Index:
        outer = shape[:-2]
        mine = batch[len(batch) - len(outer) :]
        leading = ["0" if n == 1 else i for n, i in zip(outer, mine, strict=True)]
        return Index(shape, "", (*leading, *(i for i in last if i is not None)))

    inner = values.begin()
    x = values.element(str(instr.args[0]), own(left, row, "k"))
    w = values.element(str(instr.args[1]), own(right, "k", column))
    return _sum(instr.type.size, left[-1], ["float sum = 0.0f;"], inner, x, w, out)


def _reduction(instr: Instr, shapes: list[tuple[int, ...]], out: str, values: Values) -> list[str]:
    """A reduction by one warp for each slice, in which neighbouring lanes take neighbouring elements."""
    shape = shapes[0]
    dim = len(shape) - 1 if instr.op == "layer_norm" else int(dict(instr.attrs)["dim"])
    length, inner = shape[dim], prod(shape[dim + 1 :])
    element = f"((slice / {inner} * {length} + j) * {inner} + slice % {inner})" if inner > 1 else f"(slice * {length} + j)"
    lines: list[str] = []

    def loop(text: str) -> None:
        inside = values.begin()
        x = values.element(str(instr.args[0]), Index(shape, element))
        affine = {}
        if instr.op == "layer_norm" and "{scale}" in text:
            names = zip(("scale", "shift"), instr.args[1:], shapes[1:], strict=True)
            affine = {name: values.element(str(arg), Index(shape, "j")) for name, arg, shape in names}
        head = f"for (int j = lane; j < {length}; j += 32) {{"
        lines.extend([head, *indented([*inside, text.format(x=x, at=f"{out}[{element}]", **affine)]), "}"])

    match instr.op:
        case "sum" | "mean":
            lines.append("float total = 0.0f;")
            loop("total += {x};")
            by = f" / {length}.0f" if instr.op == "mean" else ""
            lines += ["total = warp_sum(total);", f"if (lane == 0) {out}[slice] = total{by};"]
        case "max":
            lines.append("float most = -INFINITY;")
            loop("most = maximum(most, {x});")
            lines += ["most = warp_max(most);", f"if (lane == 0) {out}[slice] = most;"]
        case "argmax":
            lines += ["float most = -INFINITY;", "int place = 0x7fffffff;"]
            loop("if (leads({x}, j, most, place)) most = {x}, place = j;")
            lines += ["place = group_first_max<32>(most, place, nullptr, thread);", f"if (lane == 0) {out}[slice] = place;"]
        case "softmax":
            lines.append("float most = -INFINITY, total = 0.0f;")
            loop("most = maximum(most, {x});")
            lines.append("most = warp_max(most);")
            loop("total += {at} = expf({x} - most);")
            lines += ["total = warp_sum(total);", f"for (int j = lane; j < {length}; j += 32) {out}[{element}] /= total;"]
        case "layer_norm":
            eps = number(float(dict(instr.attrs)["eps"]))
            lines.append("float mean = 0.0f, square = 0.0f;")
            loop("mean += {x};")
            lines.append(f"mean = warp_sum(mean) / {length}.0f;")
            loop("square += ({x} - mean) * ({x} - mean);")
            lines.append(f"const float scale = 1.0f / sqrtf(warp_sum(square) / {length}.0f + {eps});")
            loop("{at} = ({x} - mean) * scale * {scale} + {shift};")
        case _:
            raise AssertionError(instr.op)
    count = prod(shape) // length if length else 0
    head = f"for (int slice = thread / 32; slice < {count}; slice += {WARPS}) {{"
    return ["{", "    const int lane = thread % 32;", f"    {head}", *indented(lines, 2), "    }", "}"]
