"""The template for kernels that reduce along the last dimension only: softmax, layer norm, sums and the like, with element-wise
work around them. One warp, or one block if a slice is long, computes each slice and has it in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel, Mode
from backends.acrobat.kernels.cuda.schedule import THREADS
from backends.acrobat.kernels.cuda.stages import ALONG
from backends.acrobat.kernels.cuda.text import ELEMENTWISE, Addresses, indented
from backends.acrobat.kernels.cuda.values import Index, Values, is_pure
from backends.acrobat.kernels.literals import number

EACH = 32
"""The most elements of a slice that a thread keeps in registers."""
NARROW = 8
"""The threads of a group where a row has many short slices: a warp then has several slices at once, and so more loads in
flight. With one slice for each warp, a softmax of 60 thousand slices of 128 elements took 62 us on an H100, and reading and
writing them would take less than 20."""
MANY_SLICES = 64
"""How many slices of a row are many."""


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """How a kernel with reductions along the last dimension is divided into slices, each of which a group of threads
    computes."""

    leading: tuple[int, ...]
    """The extents of all dimensions but the last: the slices are numbered by them."""
    length: int
    width: int
    """The threads that compute a slice: NARROW, 32 or 256."""
    kinds: dict[str, str]
    """For reductions and what depends on them: "vector" (a value for each element of a slice) or "scalar" (one for all)."""

    @property
    def outer(self) -> int:
        """The number of slices of a row."""
        return prod(self.leading)

    @property
    def at_once(self) -> int:
        """The number of slices of a tile."""
        return THREADS // self.width

    @property
    def each(self) -> int:
        """How many elements of a slice each of its threads has, at most."""
        return -(-self.length // self.width)


def reduced_along(instr: Instr, kernel: Kernel) -> int | None:
    """The dimension that an operation reduces; None if it is no reduction."""
    if instr.op not in ALONG:
        return None
    rank = len(kernel.type_of(str(instr.args[0])).shape)
    return rank - 1 if instr.op == "layer_norm" else int(dict(instr.attrs)["dim"])


def plan_slices(kernel: Kernel) -> SlicePlan | None:
    """How to compute the kernel slice by slice, or None if it has another form."""
    reductions = [i for i in kernel.body if i.op in ALONG]
    if not reductions:
        return None
    shape = kernel.type_of(str(reductions[0].args[0])).shape
    leading, length = shape[:-1], shape[-1]
    kinds: dict[str, str] = {}
    for instr in kernel.body:
        if is_pure(instr) and not any(a in kinds for a in instr.args):
            continue
        kind = _kind(instr, kernel, kinds, leading, length)
        if kind is None:
            return None
        kinds[instr.name] = kind
    for name, t in zip(kernel.results, kernel.result_types, strict=True):
        if name not in kinds and (t.shape != shape or t.dtype != "float32"):
            return None
    width = 32 if length <= 32 * EACH else THREADS
    if length > width * EACH:
        return None
    # All slices of a warp have to be there, or none of them.
    if length <= NARROW * EACH and prod(leading) >= MANY_SLICES and prod(leading) % (32 // NARROW) == 0:
        width = NARROW
    return SlicePlan(leading, length, width, kinds)


def _kind(instr: Instr, kernel: Kernel, kinds: dict[str, str], leading: tuple[int, ...], length: int) -> str | None:
    """The kind of a value that is a reduction or depends on one, or None if it cannot be computed slice by slice."""
    along = reduced_along(instr, kernel)
    if along is not None:
        first = str(instr.args[0])
        fits = kernel.type_of(first).shape == (*leading, length) and along == len(leading)
        if not fits or kinds.get(first) == "scalar" or any(a in kinds for a in instr.args[1:]):
            return None
        return "vector" if instr.op in ("softmax", "layer_norm") else "scalar"
    if OPS[instr.op].fusion is not Fusion.ELEMENTWISE:
        return None
    shape = instr.type.shape
    for arg in instr.args:
        if isinstance(arg, str) and kinds.get(arg) == "scalar":
            own = kernel.type_of(arg).shape
            if own not in ((*leading, 1), shape) and prod(own) > 1:
                return None
            if own == leading and leading and shape != leading:
                return None  # a value for each slice, spread along another dimension
    if any(kinds.get(str(a)) == "vector" for a in instr.args) or shape == (*leading, length):
        return "vector" if shape == (*leading, length) else None
    return "scalar" if shape in ((*leading, 1), leading) else None


class Slices:
    """Writes a kernel by its plan."""

    def __init__(self, kernel: Kernel, out_mode: Mode, plan: SlicePlan) -> None:
        self.kernel = kernel
        self.plan = plan
        self.addresses = Addresses(kernel, out_mode, known="row")
        self.values = Values(kernel, self.addresses)
        self.lines: list[str] = []
        self.names: dict[str, str] = {}

    def write(self) -> tuple[tuple[str, ...], list[str]]:
        """What the tile function does before and after the barrier."""
        p = self.plan
        slice_number = f"tile * {p.at_once} + thread / {p.width}" if p.at_once > 1 else "tile"
        ahead = (
            f"const int slice = {slice_number}, lane = thread % {p.width};",
            f"const int row = smaller(slice / {p.outer}, int(a.rows) - 1), outer = slice % {p.outer};",
            *self.addresses.read_tables("row"),
        )
        self.lines = [
            f"if (slice >= int(a.rows) * {p.outer}) return;",
            "float* const words = reinterpret_cast<float*>(shared);",
            f"float* const result = {self.addresses.result('row')};",
            "(void)outer, (void)words;",
        ]
        for instr in self.kernel.body:
            if instr.name in p.kinds:
                self._compute(instr)
        for name, at, t in zip(self.kernel.results, self.kernel.displacements, self.kernel.result_types, strict=True):
            if p.kinds.get(name) == "scalar":
                to = f"result + {at}" if t.dtype == "float32" else f"reinterpret_cast<int64_t*>(result + {at})"
                self.lines.append(f"if (lane == 0) ({to})[outer] = {self.names[name]};")
            else:
                self._store(name, at)
        return ahead, self.lines

    def _store(self, name: str, start: int) -> None:
        """Stores a value's slice in the row of results, where the value begins at `start`."""
        self._each(lambda: f"result[{start} + outer * {self.plan.length} + j] = {self._element(name)};")

    def _each(self, text: Callable[[], str]) -> None:
        """A loop over a thread's elements, i of its own, j of the slice. `text` is called within it and gives its last line."""
        p = self.plan
        inner = self.values.begin()
        last = text()
        self.lines += [
            "#pragma unroll",
            f"for (int i = 0; i < {p.each}; ++i) {{",
            f"    const int j = i * {p.width} + lane;",
            f"    if (j >= {p.length}) continue;" if p.length % p.width else "    (void)j;",
            *indented([*inner, last]),
            "}",
        ]

    def _element(self, name: str | float, shape: tuple[int, ...] | None = None) -> str:
        """Element j of a value's slice. A pure value is broadcast to `shape` first (by default the shape of all slices)."""
        p = self.plan
        if not isinstance(name, str):
            return number(float(name))
        if name in self.names:
            return f"{self.names[name]}[i]" if p.kinds[name] == "vector" else self.names[name]
        whole = (*p.leading, p.length) if shape is None else shape
        own = self.kernel.type_of(name).shape
        if own == whole == (*p.leading, p.length):
            return self.values.element(name, Index(own, f"(outer * {p.length} + j)"))
        indices = Index(p.leading, "outer").indices if p.leading else ()
        index = Index(whole, "", (*indices, "j") if len(whole) > len(p.leading) else indices)
        if len(whole) > len(p.leading) and whole[-1] == 1:
            index = Index(whole, "", (*indices, "0"))
        return self.values.element(name, self.values.broadcast(name, index))

    def _compute(self, instr: Instr) -> None:
        """Computes a value that is a reduction or depends on one: `float name` if it is a scalar, else an array."""
        p = self.plan
        out = self.names.get(instr.name) or self.values.fresh("s")
        if p.kinds[instr.name] == "vector":
            self.lines.append(f"float {out}[{p.each}] = {{}};")
        if instr.op in ALONG:
            self._reduce(instr, out)
        elif p.kinds[instr.name] == "vector":
            self._each(
                lambda: f"{out}[i] = {ELEMENTWISE[instr.op].format(*(self._element(a, instr.type.shape) for a in instr.args))};"
            )
        else:
            inner = self.values.begin()
            text = ELEMENTWISE[instr.op].format(*(self._element(a, instr.type.shape) for a in instr.args))
            self.lines += [*inner, f"const float {out} = {text};"]
        self.names[instr.name] = out

    def _reduce(self, instr: Instr, out: str) -> None:
        """Computes a reduction, whose result has the name `out`."""
        p = self.plan
        x, w = self.values.fresh("x"), p.width
        operand = str(instr.args[0])
        if operand in self.names:
            x = self.names[operand]
        else:
            self.lines.append(f"float {x}[{p.each}];")
            self._each(lambda: f"{x}[i] = {self._element(operand)};")
        match instr.op:
            case "sum" | "mean":
                by = f" / {p.length}.0f" if instr.op == "mean" else ""
                self.lines.append(f"float {out} = 0.0f;")
                self._each(lambda: f"{out} += {x}[i];")
                self.lines.append(f"{out} = group_sum<{w}>({out}, words, thread){by};")
            case "max":
                self.lines.append(f"float {out} = -INFINITY;")
                self._each(lambda: f"{out} = maximum({out}, {x}[i]);")
                self.lines.append(f"{out} = group_max<{w}>({out}, words, thread);")
            case "argmax":
                self.lines += [f"float {out}_most = -INFINITY;", f"int {out}_at = 0x7fffffff;"]
                self._each(lambda: f"if (leads({x}[i], j, {out}_most, {out}_at)) {out}_most = {x}[i], {out}_at = j;")
                self.lines.append(f"const int64_t {out} = group_first_max<{w}>({out}_most, {out}_at, words, thread);")
            case "softmax":
                self.lines.append(f"float {out}_most = -INFINITY, {out}_sum = 0.0f;")
                self._each(lambda: f"{out}_most = maximum({out}_most, {x}[i]);")
                self.lines.append(f"{out}_most = group_max<{w}>({out}_most, words, thread);")
                self._each(lambda: f"{out}_sum += {out}[i] = expf({x}[i] - {out}_most);")
                self.lines.append(f"{out}_sum = group_sum<{w}>({out}_sum, words, thread);")
                self._each(lambda: f"{out}[i] = {out}[i] / {out}_sum;")
            case "layer_norm":
                eps = number(float(dict(instr.attrs)["eps"]))
                self.lines.append(f"float {out}_mean = 0.0f, {out}_square = 0.0f;")
                self._each(lambda: f"{out}_mean += {x}[i];")
                self.lines.append(f"{out}_mean = group_sum<{w}>({out}_mean, words, thread) / {p.length}.0f;")
                self._each(lambda: f"{out}_square += ({x}[i] - {out}_mean) * ({x}[i] - {out}_mean);")
                self.lines += [
                    f"{out}_square = group_sum<{w}>({out}_square, words, thread) / {p.length}.0f;",
                    f"const float {out}_scale = 1.0f / sqrtf({out}_square + {eps});",
                ]
                scale, shift = str(instr.args[1]), str(instr.args[2])
                self._each(
                    lambda: (
                        f"{out}[i] = ({x}[i] - {out}_mean) * {out}_scale * {self._element(scale, instr.type.shape)} "
                        f"+ {self._element(shift, instr.type.shape)};"
                    )
                )
