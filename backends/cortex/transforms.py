"""Transforms the expressions of the cases: constant propagation, hoisting, refactoring, and packing of products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from backends.acrobat.core.types import TensorT
from backends.cortex.recursion import Cases, Traced
from backends.cortex.values import LEAVES, Operand, Value, is_zero, linear, make, operation, zeros


def rebuild(value: Value, rule: Callable[[Value], Value], memo: dict[int, Value] | None = None) -> Value:
    """The expression with `rule` applied to each operation, operands first."""
    memo = {} if memo is None else memo
    if id(value) not in memo:
        args = tuple(rebuild(a, rule, memo) if isinstance(a, Value) else a for a in value.args)
        memo[id(value)] = rule(value if args == value.args else make(value.op, args, value.attrs, value.type))
    return memo[id(value)]


def below(values: Iterable[Value]) -> list[Value]:
    """These values and all that they are made of, operands first."""
    ordered: dict[int, Value] = {}

    def visit(value: Value) -> None:
        if id(value) not in ordered:
            for a in value.args:
                if isinstance(a, Value):
                    visit(a)
            ordered[id(value)] = value

    for value in values:
        visit(value)
    return list(ordered.values())


def starts(value: Value) -> set[str]:
    """The kinds of `LEAVES` that a value is made of."""
    return {v.op for v in below([value]) if v.op in LEAVES}


def is_constant(value: Value) -> bool:
    """Whether a value is the same for every node."""
    return starts(value) <= {"weight"}


def recursive(value: Value) -> bool:
    """Whether a value is made of states of children."""
    return bool(starts(value) & {"child", "each"})


def per_child(value: Value) -> bool:
    """Whether a value is computed once for each child, of any number of children."""
    if value.op == "list_sum":
        return False
    return value.op == "each" or any(per_child(a) for a in value.args if isinstance(a, Value))


# ---- constant propagation


def propagated(value: Value) -> Value:
    """The operation, simplified if operands are zeros or constants."""
    zero = [is_zero(a) for a in value.args]
    a: Operand = value.args[0] if value.args else 0.0
    b: Operand = value.args[1] if len(value.args) > 1 else 0.0
    nothing = zeros(*value.type.shape)
    match value.op:
        case "add" if zero[0] and same(b, value):
            return b  # type: ignore[return-value]
        case "add" if zero[1] and same(a, value):
            return a  # type: ignore[return-value]
        case "add":
            for x, y in ((a, b), (b, a)):
                if isinstance(x, Value) and isinstance(y, Value) and x.op == "linear" and is_constant(y) and not is_constant(x):
                    if y.type.shape == value.type.shape[-1:]:
                        bias = propagated(operation("add", x.args[2], y)) if len(x.args) > 2 else y
                        return operation("linear", x.args[0], x.args[1], bias)
        case "sub" if zero[1] and same(a, value):
            return a  # type: ignore[return-value]
        case "sub" if zero[0] and same(b, value):
            return operation("neg", b)
        case "mul" | "matmul" if any(zero):
            return nothing
        case "linear" if zero[0]:
            if len(value.args) < 3:
                return nothing
            return value.args[2] if same(value.args[2], value) else value  # type: ignore[return-value]
        case "tanh" | "neg" | "relu" if zero[0]:
            return nothing
        case "cat" if all(zero):
            return nothing
    return value


def same(a: Operand, value: Value) -> bool:
    """Whether `a` is a tensor of the type that `value` has, so that it can take its place."""
    return isinstance(a, Value) and a.type == value.type


def propagate(traced: Traced) -> Traced:
    """The model with `propagated` applied to every operation, operands first."""
    memo: dict[int, Value] = {}

    def of(values: Mapping[str, Value]) -> dict[str, Value]:
        return {name: rebuild(v, propagated, memo) for name, v in values.items()}

    recursions = tuple(Cases(of(c.leaf), of(c.inner)) for c in traced.recursions)
    return replace(traced, recursions=recursions, output=rebuild(traced.output, propagated, memo))


# ---- computation hoisting


def divided(value: Value) -> Value:
    """A product of a concatenation, some parts of which come from children and some not, as a sum of two products."""
    if value.op != "linear" or not isinstance(x := value.args[0], Value) or x.op != "cat":
        return value
    parts = [a for a in x.args if isinstance(a, Value)]
    last = len(x.type.shape) - 1
    kinds = [recursive(a) for a in parts]
    if x.attributes["dim"] != last or len(set(kinds)) < 2:
        return value
    weight = value.args[1]
    terms = []
    for kind in (False, True):
        start, inputs, columns = 0, [], []
        for part, part_kind in zip(parts, kinds, strict=True):
            width = part.type.shape[last]
            if part_kind is kind:
                inputs.append(part)
                columns.append(operation("slice", weight, dim=1, start=start, stop=start + width))
            start += width
        joined = inputs[0] if len(inputs) == 1 else operation("cat", *inputs, dim=last)
        share = columns[0] if len(columns) == 1 else operation("cat", *columns, dim=1)
        bias = () if kind else value.args[2:]
        terms.append(operation("linear", joined, share, *bias))
    return operation("add", *terms)


def divide(traced: Traced) -> Traced:
    """Applies `divided` to the inner cases, so that products that can be hoisted are separate operations."""
    recursions = tuple(Cases(c.leaf, {n: rebuild(v, divided) for n, v in c.inner.items()}) for c in traced.recursions)
    return replace(traced, recursions=recursions)


def hoistable(values: Iterable[Value]) -> list[Value]:
    """The largest expressions that contain a product and use no child's state."""
    largest: list[Value] = []
    visited: set[int] = set()

    def visit(value: Value) -> None:
        if id(value) in visited:
            return
        visited.add(id(value))
        if not recursive(value) and not is_constant(value):
            if any(v.op in ("linear", "matmul") for v in below([value])):
                largest.append(value)
            return
        for a in value.args:
            if isinstance(a, Value):
                visit(a)

    for value in values:
        visit(value)
    return largest


# ---- recursive refactoring


def refactor(traced: Traced) -> Traced:
    """Each product of children's states with a weight is moved to the children, where it becomes one more state; the product of
    a sum becomes the sum of the children's products."""
    return replace(traced, recursions=tuple(map(_refactored, traced.recursions)))


def _refactored(cases: Cases) -> Cases:
    added: dict[tuple[str, int], tuple[str, Value]] = {}

    def product_of(child: Value, weight: Value) -> Value:
        name = str(child.attributes["state"])
        key = (name, id(weight))
        if key not in added:
            added[key] = (f"{name} {len(added)}", weight)
        attrs = tuple((k, added[key][0] if k == "state" else v) for k, v in child.attrs)
        return make(child.op, (), attrs, TensorT((*child.type.shape[:-1], weight.type.shape[0])))

    def spread(x: Operand, weight: Value) -> Value | None:
        if not isinstance(x, Value):
            return None
        if x.op in ("child", "each"):
            return product_of(x, weight)
        if x.op == "add" and all(isinstance(a, Value) and a.op == "child" for a in x.args):
            return operation("add", *(spread(a, weight) for a in x.args))  # type: ignore[arg-type]
        if x.op == "list_sum" and isinstance(x.args[0], Value) and x.args[0].op == "each":
            return operation("list_sum", product_of(x.args[0], weight))
        return None

    def rule(value: Value) -> Value:
        if value.op != "linear" or not isinstance(weight := value.args[1], Value) or not is_constant(weight):
            return value
        moved = spread(value.args[0], weight)
        if moved is None:
            return value
        return moved if len(value.args) < 3 else operation("add", moved, value.args[2])

    inner = {name: rebuild(v, rule) for name, v in cases.inner.items()}
    leaf = dict(cases.leaf)
    for (state, _), (name, weight) in added.items():
        leaf[name] = propagated(linear(leaf[state], weight))
        inner[name] = linear(inner[state], weight)
    return Cases(leaf, inner)


# ---- products side by side


def packed(values: Mapping[str, Value]) -> dict[str, Value]:
    """Products of one operand with weights of one shape become one product: the gates of a cell, for example."""
    groups: dict[tuple[int, tuple[int, ...]], list[Value]] = {}
    for v in below(values.values()):
        if v.op == "linear" and not is_constant(v) and isinstance(w := v.args[1], Value) and is_constant(w):
            if all(isinstance(b, Value) and is_constant(b) for b in v.args[2:]):
                groups.setdefault((id(v.args[0]), w.type.shape), []).append(v)
    instead: dict[int, tuple[list[Value], int]] = {}
    for members in groups.values():
        if 1 < len(members) <= 8:
            instead |= {id(v): (members, i) for i, v in enumerate(members)}
    if not instead:
        return dict(values)
    memo: dict[int, Value] = {}
    together: dict[int, Value] = {}

    def visit(value: Value) -> Value:
        if id(value) not in memo:
            args = tuple(visit(a) if isinstance(a, Value) else a for a in value.args)
            if id(value) in instead:
                members, i = instead[id(value)]
                first = together.get(id(members[0]))
                if first is None:
                    weight = operation("cat", *(m.args[1] for m in members), dim=0)
                    biases = [m.args[2] if len(m.args) > 2 else zeros(m.type.shape[-1]) for m in members]
                    bias = () if all(map(is_zero, biases)) else (operation("cat", *biases, dim=0),)
                    first = together[id(members[0])] = operation("linear", args[0], weight, *bias)
                last, width = len(value.type.shape) - 1, value.type.shape[-1]
                memo[id(value)] = operation("slice", first, dim=last, start=i * width, stop=(i + 1) * width)
            else:
                memo[id(value)] = value if args == value.args else make(value.op, args, value.attrs, value.type)
        return memo[id(value)]

    return {name: visit(v) for name, v in values.items()}


def text(value: Operand) -> str:
    """An expression as one line of text: equal lines are equal constants (`Program.describe`)."""
    if not isinstance(value, Value):
        return repr(value)
    inside = ", ".join([*map(text, value.args), *(f"{k}={v}" for k, v in value.attrs)])
    return f"{value.op}({inside}){list(value.type.shape)}"
