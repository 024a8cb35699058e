"""Operations of the IR on tensors, dense and ragged (by other means than CoRa: Fegade et al., MLSys 2022).

A ragged tensor is a list in the program: its items are the tensor's parts along the dimension whose extent varies, dense
tensors or, where a second extent varies, ragged ones; the dimension is `ListT.rows`. Work along the other dimensions is a map
over the list, so that it joins the batch without padding; work along the varying one is a loop, and a loop that sums becomes
one kernel over the list (`passes.folds`). Of several dimensions that vary, the leftmost one is the outermost list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, ScalarT, TensorT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, WrongShapes, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.broadcasting import of_one_length
from backends.acrobat.frontend.evaluator.lists.lengths import (
    Array,
    at,
    check_equal,
    item_type,
    length,
    length_inside,
    lengths_in,
)
from backends.acrobat.frontend.evaluator.lists.mapping import Rows, mapped, transposed_lists
from backends.acrobat.frontend.kinds import is_ragged, is_tensor, is_unknown, known, retyped, type_of, type_or_none, variable_of
from backends.acrobat.frontend.tensor_types import extents, innermost
from backends.acrobat.frontend.tensors.broadcasting import broadcast_in
from backends.acrobat.frontend.tensors.new_tensors import note_new
from backends.acrobat.frontend.tensors.values import HostTensor, ReadBool
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value, guess, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.make import make_op

ADDS_NOTHING = -0.0
"""The number whose sum with any float is that float: of 0.0 and -0.0 the sum is 0.0."""


def op(f: Frame, name: str, args: Sequence[Any], attrs: dict[str, Any] | None = None, hint: str = "") -> Dyn:
    """One operation; host scalars among the operands of element-wise ones become literals or one-element tensors."""
    if any(is_unknown(a) for a in args if isinstance(a, Dyn)):
        return unknown()
    if any(is_ragged(a) for a in args):
        if OPS[name].fusion is not Fusion.ELEMENTWISE:
            raise Refused(f"`{name}` of a tensor whose extent varies between instances is not in the language here")
        bound = len(f.builder.bindings)
        result = elementwise(f, args, lambda parts: op(f, name, parts, attrs, hint), broadcast_in(f, args))
        return note_new(f, bound, result)  # type: ignore[return-value]
    atoms = []
    for a in args:
        atoms.append(operand(f, a))
        if isinstance(a, Dyn) and isinstance(a.type, ScalarT):
            f.program.noted.note_operand(f.builder, Dyn(atoms[-1]))
    try:
        made = make_op(name, atoms, attrs, f.span)
        t = made.type
        if isinstance(t, TensorT) and t.dtype == "float32" and not t.size:  # without elements: no kernel is made for it
            made = make_op("full", [], {"shape": t.shape, "value": 0}, f.span)
        return f.bind(made, hint or name)
    except ShapeError as error:
        raise WrongShapes(str(error)) from error


def operand(f: Frame, a: Any) -> n.Atom:
    match a:
        case Dyn(n.Lit(v, ScalarT("bool"))):
            return n.Lit(int(v), INT)
        case Dyn(atom) if isinstance(atom.type, ScalarT) and not isinstance(atom, n.Lit):
            return f.bind(make_op("scalar", [atom], {}, f.span), "scalar").atom
        case Dyn(atom):
            return atom
        case Static(int() | float()) | HostTensor():
            return f.atom(a)
    raise Refused("expected a tensor or a number")


def item(f: Frame, x: Dyn, kind: str = "float") -> Dyn:
    """`x.item()`, for which the instance waits. Raises Refused."""
    if is_unknown(x):
        return unknown()
    if isinstance(x.type, ScalarT):
        return x  # an element of a tensor of ints, which the program already has
    assert isinstance(x.type, TensorT)
    if x.type.size != 1:
        raise Refused(f"only a tensor of one element has a value to read; this one has shape {x.type.shape}")
    return f.bind(n.Item(x.atom, ScalarT("int" if x.type.dtype == "int64" else "float"), span=f.span), kind)


def numbers_in(f: Frame, x: Dyn) -> Dyn:
    """`x.tolist()` of a vector, for all of whose elements the instance waits once."""
    if is_unknown(x):
        return unknown()
    assert isinstance(x.type, TensorT)
    if not x.type.size:
        return f.bind(n.ListOf((), ListT(INT if x.type.dtype == "int64" else FLOAT), span=f.span), "numbers")
    numbers = f.bind(n.Item(x.atom, ListT(INT if x.type.dtype == "int64" else FLOAT), span=f.span), "numbers")
    f.sizes[getattr(numbers.atom, "name", "")] = x.type.shape[0]
    return numbers


# ---- what a ragged tensor is made of


def axis(value: Any) -> int:
    """The outermost dimension whose extent varies; 0 for a list."""
    assert isinstance(value.type, ListT)
    return value.type.rows or 0


def shape(value: Value) -> tuple[int | None, ...]:
    """The extents of a tensor, ragged or not; a number has none."""
    result = extents(type_of(value))
    return () if result is None else result


def shape_of(x: Dyn) -> tuple[int, ...]:
    assert isinstance(x.type, TensorT)
    return x.type.shape


def dim_of(value: Any, rank: int, name: str, extra: int = 0) -> int:
    d = constant(value, f"the dimension of `{name}`")
    if isinstance(d, tuple) and len(d) == 1:
        d = d[0]
    if not isinstance(d, int) or not -rank - extra <= d < rank + extra:
        raise Refused(f"`{name}`: there is no dimension {d} in a tensor of rank {rank}")
    return d + rank + extra if d < 0 else d


def is_numbers(x: Any) -> bool:
    """Whether a tensor is one of numbers that the host has: a list of ints, maybe with dimensions of extent 1 around it."""
    return is_ragged(x) and isinstance(item_type(x), ScalarT)


def numbers(x: Dyn, rows: int, units: int) -> Dyn:
    """The same numbers as a tensor with `rows` dimensions of extent 1 before the varying one, and `units` behind it."""
    return retyped(x, ListT(item_type(x), rows, extent=x.type.extent, units=units))  # type: ignore[union-attr]


def without_unit(x: Dyn, dim: int) -> Dyn:
    """A tensor of numbers without its dimension `dim` of extent 1."""
    assert isinstance(x.type, ListT)
    k = axis(x)
    return numbers(x, k - (dim < k), x.type.units - (dim > k))


def as_rows(f: Frame, value: Array, k: int) -> Dyn:
    """A tensor as the list of its parts along dimension `k`, whose extent is fixed or varies."""
    if is_numbers(value) and k != axis(value):
        part = without_unit(value, k)
        return f.bind(n.ListOf((f.atom(part),), ListT(part.type), span=f.span), "rows")
    if is_ragged(value):
        if axis(value) == k:
            return retyped(value, ListT(item_type(value)))
        inner = mapped(f, [value], lambda row: as_rows(f, row, k - 1 if k > axis(value) else k))
        turned = transposed_lists(f, inner, shape(value)[k])
        if is_unknown(turned):
            return turned
        inside = replace(item_type(turned), rows=axis(value) - (k < axis(value)), extent=value.type.extent)
        return retyped(turned, ListT(inside))
    extent = shape(value)[k]
    assert extent is not None
    parts = [op(f, "index", [value], {"dim": k, "i": i}) for i in range(extent)]
    item = parts[0].type if parts else TensorT(tuple(e or 0 for i, e in enumerate(shape(value)) if i != k))
    return f.bind(n.ListOf(tuple(f.atom(p) for p in parts), ListT(item), span=f.span), "rows")


def stack_parts(f: Frame, parts: Sequence[Any], k: int) -> Value:
    """The tensor with these parts, one at least, along dimension `k`: a dense one of dense parts, of numbers of the host the
    list of them."""
    if any(map(is_unknown, parts)):
        return unknown()
    if all(isinstance(type_of(p), TensorT) for p in parts):
        return op(f, "stack", parts, {"dim": k})
    first = parts[0]
    if is_ragged(first):
        own, inner = axis(first), k - (k > axis(first))

        def together(*items: Any) -> Any:
            part = stack_parts(f, items, inner)
            # a number of the host that is a part stands for a tensor with all dimensions of extent 1
            return numbers(part, inner, len(shape(first)) - 1 - inner) if is_numbers(part) and is_numbers(first) else part  # type: ignore[arg-type]

        result: Any = of_rows(mapped(f, [as_rows(f, p, own) for p in parts], together), own + (k <= own))
        extent = first.type.extent if all(type_of(p) == first.type for p in parts) else None  # of tensors of ints
        return retyped(result, replace(result.type, extent=extent)) if extent is not None and is_ragged(result) else result
    t = f.common([type_of(p) for p in parts])
    atoms = tuple(f.atom(f.coerce(p, t)) for p in parts)
    return f.bind(n.ListOf(atoms, ListT(t, k, extent=len(parts)), span=f.span), "parts")


def each_row(f: Frame, lists: Sequence[Array], work: Callable[..., Value], k: int, extent: int | None) -> Value:
    """The tensor whose parts along dimension `k` are what `work` makes of the items of `lists`. Where it is known how many
    items these have (`extent`), as of a tensor of ints, the result is dense where its parts are."""
    if not extent:
        return of_rows(mapped(f, lists, work), k)
    return stack_parts(f, [work(*(at(f, xs, Static(i)) for xs in lists)) for i in range(extent)], k)


def of_rows(rows: Array, k: int) -> Value:
    """The tensor whose parts along dimension `k` are the items of a list."""
    if is_unknown(rows):
        return unknown()
    assert isinstance(rows, Dyn)
    assert isinstance(rows.type, ListT)
    return retyped(rows, ListT(item_type(rows), k))


def extent_of(f: Frame, x: Array, dim: int) -> Value:
    """`x.size(dim)`: an int known at compile time, or the instance's own."""
    fixed = shape(x)[dim]
    if fixed is not None:
        return Static(fixed)
    if axis(x) == dim:
        return length(f, x)
    if _is_second(x, dim) and (size := length_inside(f, x)) is not None:
        return size
    return extent_of(f, at(f, x, Static(0)), dim - (dim > axis(x)))


def check_extent(f: Frame, x: Array, dim: int, size: Value) -> None:
    """Have it be an error of the instance if the extent of a dimension is not `size`, where it is not known to be that."""
    own, inside = lengths_in(f, x)
    source = f.lengths.get(variable_of(size), "")
    is_own = is_ragged(x) and source and source == (own if dim == axis(x) else inside if _is_second(x, dim) else "")
    if not is_own:
        check_equal(f, extent_of(f, x, dim), size)


def _is_second(x: Array, dim: int) -> bool:
    """Whether `dim` is the outermost varying dimension of the parts of a ragged tensor."""
    part = guess(item_type(x))
    return is_ragged(part) and axis(part) == dim - (dim > axis(x))


def elementwise(
    f: Frame, operands: Sequence[Value], work: Callable[[Sequence[Value]], Value], stretching: Sequence[int] = ()
) -> Value:
    """Apply `work`, which takes dense operands, to operands that broadcast and may be ragged: it is mapped over their parts. An
    extent that varies and is 1 in an instance is broadcast in the operands with the numbers `stretching`."""
    if not any(is_ragged(v) for v in operands):
        return work(operands)
    shapes = [shape(v) if is_ragged(v) or is_tensor(v) else () for v in operands]
    rank = max(map(len, shapes))
    for one, other in permutations(shapes, 2):
        f.program.datatypes.met.shapes.note_met(one, other)

    k = min(rank - len(s) + axis(v) for v, s in zip(operands, shapes, strict=True) if is_ragged(v))
    sizes: list[int | None] = []  # what is known of how many items the lists have
    lists: list[Array] = []
    parts: list[tuple[Array, int | None]] = []  # for each operand: the value for all rounds, or its index in `lists`
    for v, s in zip(operands, shapes, strict=True):
        own = k - (rank - len(s))
        if own < 0:
            parts.append((v, None))
        elif s[own] == 1 and not (is_numbers(v) and all(e == 1 for x in shapes for e in x)):
            only: Value = at(f, v, Static(0)) if is_numbers(v) and axis(v) == own else select(f, v, own, Static(0))
            parts.append((only, None))
        else:
            parts.append((None, len(lists)))
            lists.append(as_rows(f, v, own))
            sizes.append(s[own])

    if stretching and len(lists) > 1:
        lists = of_one_length(f, lists, sizes, [at for i, (_, at) in enumerate(parts) if at is not None and i in stretching])

    def round(*items: Value) -> Value:
        result = elementwise(f, [v if at is None else items[at] for v, at in parts], work, stretching)
        # numbers of the host have lost the dimensions of extent 1 that their tensors have
        return (
            _with_leading_ones(f, result, rank - 1 - len(shape(result))) if is_tensor(result) or is_ragged(result) else result
        )

    if not lists:  # the extent is 1 in all of them
        return stack_parts(f, [round()], k)
    result = each_row(f, lists, round, k, None if None in sizes or len(set(sizes)) > 1 else sizes[0])
    return numbers(result, k, rank - 1 - k) if is_numbers(result) else result  # type: ignore[arg-type]


def _with_leading_ones(f: Frame, x: Any, count: int) -> Any:
    """A tensor with `count` dimensions of extent 1 before its own."""
    if not count or is_unknown(x):
        return x
    if is_tensor(x):
        return op(f, "reshape", [x], {"shape": (1,) * count + shape_of(x)})
    if is_numbers(x):
        return numbers(x, axis(x) + count, x.type.units)
    return over_rows(f, x, axis(x) + count, lambda part: _with_leading_ones(f, part, count))


def over_rows(f: Frame, x: Array, k: int, work: Rows) -> Value:
    """Map `work` over the parts of `x` along its varying dimension, to the parts of a tensor along dimension `k`."""
    result: Any = of_rows(mapped(f, [x], work), k)
    extent = x.type.extent if isinstance(x, Dyn) and isinstance(x.type, ListT) else None
    if extent is None or is_unknown(result) or innermost(result.type) != INT:
        return result
    return retyped(result, replace(result.type, extent=extent))  # of tensors of ints it stands in the type


def select(f: Frame, x: Array, dim: int, i: Value) -> Value:
    """`x.select(dim, i)`; along the dimension that varies `i` may be known at run time only."""
    if not is_ragged(x):
        is_known, index = known(i)
        if not is_known:
            if isinstance(i, Dyn):
                return at(f, as_rows(f, x, dim), i)
            raise Refused("a tensor is indexed by ints here")
        extent = shape(x)[dim]
        assert extent is not None
        if not -extent <= index < extent:
            raise Refused(f"index {index} is out of range for an extent of {extent}")
        return op(f, "index", [x], {"dim": dim, "i": index % extent})
    k = axis(x)
    if is_numbers(x) and len(shape(x)) > 1:
        if dim != k:
            return without_unit(x, dim)
        if len(shape(x)) > 2:
            raise Refused("this part of a tensor of ints has several dimensions of extent 1", "index these first")
        return Held("ids", TupleV((at(f, x, i),)))
    if dim == k:
        part = at(f, x, i)
        return ReadBool(part.atom) if type_or_none(part) == BOOL else part  # type: ignore[union-attr]
    return over_rows(f, x, k - (dim < k), lambda row: select(f, row, dim - (dim > k), i))
