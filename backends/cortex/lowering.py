"""Lowers recursions to one loop nest over wavefronts: bodies of kernels, and where each operand and each result lies.

A node's states lie in one row, and rows in the order of the nodes' numbers. So the results of a wavefront lie together,
children are found through tables of addresses, and leaves are recognised by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import TensorT
from backends.acrobat.core.units import Instr, Kernel, Mode, Param
from backends.cortex.grouping import Group, Grouping
from backends.cortex.lowered import Body, Call, Copy, Lowered, Place, Program, index, row_size
from backends.cortex.options import Options
from backends.cortex.recursion import Cases, Traced, Tree
from backends.cortex.transforms import below, divide, hoistable, is_constant, packed, propagate, refactor
from backends.cortex.values import LEAVES, Value


class Apart(Exception):
    """Raised for a kernel that would write states which do not lie side by side, or states and intermediates."""


def lower(traced: Traced, options: Options) -> Program:
    """Transforms a model as `options` says and lowers it. Raises ValueError if the state outside of a sequence or grid is not
    constant."""
    if options.propagate:
        traced = propagate(traced)
    if options.hoist:
        traced = divide(traced)
    if options.refactor:
        traced = refactor(traced)
        if options.propagate:
            traced = propagate(traced)
    return Lowering(traced, options).program()


@dataclass
class Rows:
    """The layout of a node's row: where each result starts, and the size, in 4-byte elements."""

    at: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def add(self, name: str, t: TensorT) -> int:
        self.at[name] = self.size
        self.size += row_size(t)
        return self.at[name]


class Lowering:
    """Lowers one model; `program` gives the result and may be called once."""

    def __init__(self, traced: Traced, options: Options) -> None:
        self.traced = traced
        self.options = options
        self.constants: list[Value] = []
        self.tables: list[str] = []
        self.rows = [Rows() for _ in traced.recursions]
        self.current = 0
        """The number of the recursion that is being lowered."""

    def program(self) -> Program:
        recursions = tuple(self._recursion(i, cases) for i, cases in enumerate(self.traced.recursions))
        result = self.traced.output
        output = self._body({"output": result}, {}, lambda names: Place("out"), {})
        return Program(
            self.traced.structure, recursions, output, result.type, tuple(self.constants), tuple(self.tables), self.options
        )

    def _recursion(self, number: int, cases: Cases) -> Lowered:
        self.current = number
        rows, types = self.rows[number], {name: v.type for name, v in cases.leaf.items()}
        hoisted: dict[Value, Place] = {}
        hoisted_rows = Rows()
        before = Body((), ())
        if self.options.hoist:
            named = {f"hoisted {i}": v for i, v in enumerate(hoistable(cases.inner.values()))}

            def keep(names: Sequence[str]) -> Place:
                starts = [hoisted_rows.add(name, named[name].type) for name in names]
                return Place("hoisted", 0, starts[0])

            before = self._body(named, {}, keep, {})
            hoisted = {v: Place("hoisted", 0, hoisted_rows.at[name]) for name, v in named.items()}
        # The inner case decides the order of states in a row: a kernel writes all states that it computes as one piece.
        inner_names = self._pieces(cases.inner, hoisted)
        for names in inner_names:
            for name in names:
                rows.add(name, types[name])

        def place(names: Sequence[str]) -> Place:
            expected = rows.at[names[0]]
            for name in names:
                if rows.at[name] != expected:
                    raise Apart
                expected += row_size(types[name])
            return Place("state", 0, rows.at[names[0]])

        outside: tuple[tuple[int, int], ...] = ()
        if isinstance(self.traced.structure, Tree):
            leaf = self._body(cases.leaf, {}, place, rows.at)
        else:
            leaf = Body((), ())
            if not all(map(is_constant, cases.leaf.values())):
                raise ValueError("the state outside of a sequence or a grid must be constant: there is no word")
            outside = tuple((self._constant(v), rows.at[name]) for name, v in cases.leaf.items())
        inner = self._body(cases.inner, hoisted, place, rows.at)
        return Lowered(leaf, inner, before, rows.size, hoisted_rows.size, outside)

    # ---- one body

    def _in_memory(self, hoisted: dict[Value, Place]) -> Callable[[Value], bool]:
        def check(value: Value) -> bool:
            leaf = value.op in LEAVES or value.op == "full"
            return leaf or value in hoisted or self._shared(value)

        return check

    def _shared(self, value: Value) -> bool:
        """Whether a value is computed from weights at load time. Without `propagate` only pieces of weights are."""
        if not is_constant(value):
            return False
        if self.options.propagate:
            return True
        kinds = {v.op for v in below([value])}
        return "weight" in kinds and kinds <= {"weight", "slice", "cat", "full"}

    def _grouped(
        self, values: dict[str, Value], hoisted: dict[Value, Place], fusion: bool
    ) -> tuple[dict[str, Value], Grouping]:
        if fusion:
            values = packed(values)
        return values, Grouping(list(values.values()), self._in_memory(hoisted), fusion)

    def _pieces(self, values: dict[str, Value], hoisted: dict[Value, Place]) -> list[list[str]]:
        """The names of the states, grouped by the kernel that writes them."""
        values, grouping = self._grouped(values, hoisted, self.options.fusion)
        pieces = [[n for n, v in values.items() if grouping.home.get(v) is group] for group in grouping.groups]
        alone = [[n] for n, v in values.items() if v not in grouping.home]
        return [p for p in pieces if p] + alone

    def _body(
        self, values: dict[str, Value], hoisted: dict[Value, Place], place: Callable[[Sequence[str]], Place], at: dict[str, int]
    ) -> Body:
        """The kernels and copies that compute `values`. `hoisted` values lie in memory. `place(names)` says where the values
        that one kernel writes lie; `at` has the starts of states in their row, if their order is fixed. Where one kernel would
        write what does not lie together, every operation is a kernel."""
        if self.options.fusion:
            try:
                return self._body_of(values, hoisted, place, at, fusion=True)
            except Apart:
                pass
        return self._body_of(values, hoisted, place, at, fusion=False)

    def _body_of(
        self,
        values: dict[str, Value],
        hoisted: dict[Value, Place],
        place: Callable[[Sequence[str]], Place],
        at: dict[str, int],
        fusion: bool,
    ) -> Body:
        values, grouping = self._grouped(values, hoisted, fusion)
        names: dict[Value, list[str]] = {}
        for name, v in values.items():
            names.setdefault(v, []).append(name)
        steps: list[Call | Copy] = []
        temporaries: list[tuple[int, bool]] = []
        lies: dict[Value, Place] = dict(hoisted)
        for group in grouping.groups:
            results = grouping.results(group, list(values.values()))
            names_kept = [v for v in results if v in names]
            if at:
                names_kept.sort(key=lambda v: at[names[v][0]])
            if names_kept and len(names_kept) < len(results):
                raise Apart
            ordered = names_kept or results
            if names_kept:
                out = place([names[v][0] for v in names_kept])
            else:
                out = Place("temporary", len(temporaries))
                temporaries.append((sum(row_size(v.type) for v in ordered), group.per_child))
            start = out.at
            for v in ordered:
                lies[v] = Place(out.kind, out.a, start)
                start += row_size(v.type)
            steps.append(self._call(grouping, group, ordered, out, lies))
        for name, v in values.items():
            if v not in grouping.home or name != names[v][0]:
                source = lies[v] if v in grouping.home else self._place(v, lies)
                steps.append(Copy(source, place([name]), v.type.width))
        return Body(tuple(steps), tuple(temporaries))

    def _call(self, grouping: Grouping, group: Group, results: list[Value], out: Place, lies: dict[Value, Place]) -> Call:
        params: dict[tuple[Place, Mode, TensorT], str] = {}
        instrs: dict[Value, str] = {}
        body: list[Instr] = []
        operations = grouping.body(group)

        def param(value: Value, listed: bool = False) -> str:
            lies_at = self._place(value, lies)
            key = (lies_at, Mode.LIST if listed else mode(lies_at), value.type)
            return params.setdefault(key, f"p{len(params)}")

        for value in operations:
            args: list[str | float] = []
            for a in value.args:
                if not isinstance(a, Value):
                    args.append(float(a))
                elif a in instrs:
                    args.append(instrs[a])
                else:
                    args.append(param(a, value.op == "list_sum"))
            instrs[value] = f"v{len(instrs)}"
            body.append(Instr(instrs[value], value.op, tuple(args), value.attrs, value.type))
        main = next((v.op for v in operations if OPS[v.op].fusion is Fusion.PRODUCT), operations[-1].op)
        kernel = Kernel(
            main, tuple(Param(name, t, m) for (_, m, t), name in params.items()), tuple(body), tuple(instrs[v] for v in results)
        )
        return Call(kernel, tuple(lies_at for lies_at, _, _ in params), out, group.per_child)

    def _place(self, value: Value, lies: dict[Value, Place]) -> Place:
        if value in lies:
            return lies[value]
        attributes = value.attributes
        match value.op:
            case _ if self._shared(value):
                return Place("shared", self._constant(value))
            case "full":
                return Place("zero")
            case "word":
                return Place("word", index(self.tables, attributes["table"]))
            case "child":
                return Place("child", attributes["slot"], self._at(value))
            case "each":
                return Place("each", 0, self._at(value))
            case "own":
                number = attributes["recursion"]
                return Place("own", number, self.rows[number].at[attributes["state"]], attributes["root"])
        raise AssertionError(value.op)

    def _at(self, value: Value) -> int:
        """Where a child's state starts in the child's row, which belongs to the recursion that is being lowered."""
        return self.rows[self.current].at[str(value.attributes["state"])]

    def _constant(self, value: Value) -> int:
        return index(self.constants, value)


def mode(place: Place) -> Mode:
    """How a kernel finds an operand that lies there."""
    if place.kind == "shared":
        return Mode.SHARED
    return Mode.GATHERED if place.kind in ("word", "child", "each", "own") else Mode.CONTIGUOUS
