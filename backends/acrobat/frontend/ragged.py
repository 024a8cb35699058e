"""Tensors with an extent that each instance has its own of (CoRa: Fegade et al., MLSys 2022, with other means).

A ragged tensor is a list in the program: its items are the tensor's parts along the dimension whose extent varies, dense
tensors or, where a second extent varies, ragged ones; the dimension is `ListT.rows`. Work along the other dimensions is a map
over the list, so that it joins the batch without padding; work along the varying one is a loop, of which sums become one
kernel over the list (`passes.folds`). Dimensions that vary are nested in their order: the leftmost is the outermost list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.tensors import Call, Refused, constant, dim_of
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Held,
    Static,
    TupleV,
    Value,
    contains_unknown,
    extents,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    retyped,
    type_of,
    unknown,
)
from backends.acrobat.ir import nodes as n

if TYPE_CHECKING:
    from backends.acrobat.frontend.frame import Frame

Array: TypeAlias = Any
"""A value that is a tensor, ragged or not, or a list: a `Dyn`, in most places."""
Rows: TypeAlias = Callable[..., Any]
"""What is made of one part each of some lists."""


# ---- what a ragged tensor is made of


def axis(value: Any) -> int:
    """The outermost dimension whose extent varies; 0 for a list."""
    assert isinstance(value.type, ListT)
    return value.type.rows or 0


def item_type(value: Any) -> Any:
    """The type of the parts of a ragged tensor, or of the items of a list."""
    assert isinstance(value.type, ListT)
    return value.type.item


def shape(value: Value) -> tuple[int | None, ...]:
    """The extents of a tensor, ragged or not; a number has none."""
    found = extents(type_of(value))
    return () if found is None else found


def as_rows(f: Frame, value: Array, k: int) -> Dyn:
    """A tensor as the list of its parts along dimension `k`, which is the outermost that varies, or does not vary."""
    if is_ragged(value):
        if axis(value) == k:
            return retyped(value, ListT(item_type(value)))
        inner = mapped(f, [value], lambda row: as_rows(f, row, k - 1 if k > axis(value) else k))
        return transposed_lists(f, inner)
    extent = shape(value)[k]
    assert extent is not None
    parts = [f.tensors.op("index", [value], {"dim": k, "i": i}) for i in range(extent)]
    item = parts[0].type if parts else TensorT(tuple(e or 0 for i, e in enumerate(shape(value)) if i != k))
    return f.bind(n.ListOf(tuple(f.atom(p) for p in parts), ListT(item), span=f.span), "rows")


def of_rows(rows: Array, k: int) -> Value:
    """The tensor whose parts along dimension `k` are the items of a list."""
    if is_unknown(rows):
        return unknown()
    assert isinstance(rows, Dyn)
    assert isinstance(rows.type, ListT)
    return retyped(rows, ListT(item_type(rows), k))


def mapped(f: Frame, lists: Sequence[Array], body: Rows, held: str = "row") -> Dyn:
    """`[body(*items) for items in zip(*lists)]`, a list of Python's kind."""
    plain = [retyped(xs, ListT(item_type(xs))) for xs in lists]
    plain = [plain[0], *(of_length(f, xs, plain[0]) for xs in plain[1:])]
    items = [item_type(xs) for xs in plain]
    together = plain[0] if len(plain) == 1 else f.host("zip", plain, ListT(TupleT(tuple(items))))
    var = f.var(held, items[0] if len(plain) == 1 else TupleT(tuple(items)))
    with f.branch() as b:
        parts: list[Value] = [Dyn(var)] if len(plain) == 1 else f.components(Dyn(var)) or []
        result = body(*parts)
        t = type_of(result)
        if contains_unknown(t):
            return unknown()
        made = b.finish(f.atom(result))
    rows = f.bind(n.Map(var, together.atom, made, ListT(t), span=f.span), "rows")
    f.lengths_of[getattr(rows.atom, "name", "")] = _origin(f, plain[0])
    return rows


def _origin(f: Frame, xs: Array) -> str:
    """The variable of the list from which a chain of maps has made `xs`: all of them are as long."""
    name = getattr(xs.atom, "name", "")
    return f.lengths_of.get(name, name)


def of_length(f: Frame, xs: Array, other: Array) -> Dyn:
    """The list `xs`, which must be as long as `other`: extents that differ are an error of the instance."""
    if _origin(f, xs) == _origin(f, other):
        return xs
    sizes = [f.host("list.len", [each], INT, "size") for each in (xs, other)]
    difference = f.host("sub", sizes, INT, "difference")
    only = f.host("range", [Static(0), Static(1), Static(1)], ListT(INT))
    size = f.host("mul", [difference, difference], INT, "difference")
    start = f.host("list.get", [only, size], INT, "start")  # 0, or outside of the list
    return f.host("list.slice", [xs, start, Static(END)], xs.type, "rows")


def transposed_lists(f: Frame, xs: Array) -> Dyn:
    """A list of lists of equal lengths with the two levels exchanged."""
    first = f.host("list.get", [xs, Static(0)], item_type(xs), "first")
    return mapped(f, [indices(f, first)], lambda i: mapped(f, [xs], lambda row: at(f, row, i)))


def indices(f: Frame, xs: Array) -> Dyn:
    return f.host("range", [Static(0), length(f, xs), Static(1)], ListT(INT))


def length(f: Frame, xs: Array) -> Dyn:
    """The varying extent of a ragged tensor's outermost dimension, or the length of a list."""
    assert isinstance(xs, Dyn)
    size = f.host("list.len", [retyped(xs, ListT(item_type(xs)))], INT, "size")
    f.lengths.add(getattr(size.atom, "name", ""))
    return size


def at(f: Frame, xs: Array, i: Value) -> Dyn:
    assert isinstance(xs, Dyn)
    return f.host("list.get", [retyped(xs, ListT(item_type(xs))), i], item_type(xs), "row")


def extent_of(f: Frame, x: Array, dim: int) -> Value:
    """`x.size(dim)`: an int known at compile time, or the instance's own."""
    fixed = shape(x)[dim]
    if fixed is not None:
        return Static(fixed)
    if axis(x) == dim:
        return length(f, x)
    return extent_of(f, at(f, x, Static(0)), dim - (dim > axis(x)))


# ---- element by element


def elementwise(f: Frame, operands: Sequence[Value], work: Callable[[Sequence[Value]], Value]) -> Value:
    """`work` on tensors that broadcast, part by part along the dimensions that vary."""
    if not any(is_ragged(v) for v in operands):
        return work(operands)
    shapes = [shape(v) if is_ragged(v) or is_tensor(v) else () for v in operands]
    rank = max(map(len, shapes))

    def aligned(v: Value, s: tuple[int | None, ...]) -> int:
        return rank - len(s) + axis(v)

    k = min(aligned(v, s) for v, s in zip(operands, shapes, strict=True) if is_ragged(v))
    lists: list[Array] = []
    parts: list[tuple[Array, int | None]] = []  # what is run over, and for each operand what one round has of it
    for v, s in zip(operands, shapes, strict=True):
        own = k - (rank - len(s))
        if own < 0:
            parts.append((v, None))
        elif s[own] == 1:
            parts.append((select(f, v, own, Static(0)), None))
        else:
            parts.append((None, len(lists)))
            lists.append(as_rows(f, v, own))

    def round(*items: Value) -> Value:
        return elementwise(f, [v if at is None else items[at] for v, at in parts], work)

    return of_rows(mapped(f, lists, round), k)


def over_rows(f: Frame, x: Array, k: int, work: Rows) -> Value:
    """The tensor whose parts along dimension `k` are what `work` makes of the parts of `x` along its own varying dimension."""
    return of_rows(mapped(f, [x], work), k)


# ---- products


def matmul(f: Frame, a: Array, b: Array) -> Value:
    """`a @ b` where an extent of one of them varies."""
    if not is_ragged(a) and not is_ragged(b):
        return f.tensors.op("matmul", [a, b])
    sa, sb = shape(a), shape(b)
    if not sa or not sb:
        raise Refused("`matmul` takes tensors with dimensions")
    rank = max(len(sa), len(sb), 2)
    if is_ragged(a) and len(sa) > 1 and axis(a) != len(sa) - 1:
        k = axis(a)
        if k == len(sa) - 2 and len(sb) <= 2:
            return over_rows(f, a, k, lambda row: matmul(f, row, b))
        if k < len(sa) - 2 and len(sb) <= 2:
            return over_rows(f, a, k, lambda part: matmul(f, part, b))
        if k == len(sa) - 2:  # rows of batches of matrices: each row is a batch of vectors
            return over_rows(f, a, rank - 2, lambda row: _vectors(f, row, b))
        if len(sa) == len(sb) and sb[k] is None:
            return of_rows(mapped(f, [a, as_rows(f, b, k)], lambda x, y: matmul(f, x, y)), k)
        raise Refused("this product of tensors whose extents vary is not in the language")
    if is_ragged(b) and (len(sb) == 1 or axis(b) == len(sb) - 2):
        if is_ragged(a) or sa[-1] is not None:  # the sum over the varying dimension
            return _contracted(f, a, b)
    if is_ragged(b) and axis(b) == len(sb) - 1:
        k = len(sa) - 1 if len(sa) > 1 else 0
        k = max(k, len(sb) - 2) if len(sb) > 2 else k
        return over_rows(f, b, k, lambda column: _column(f, a, column))
    if is_ragged(b) and len(sb) > 2 and not is_ragged(a) and len(sa) <= 2:
        k = axis(b)
        return over_rows(f, b, k, lambda part: matmul(f, a, part))
    raise Refused("this product of tensors whose extents vary is not in the language")


def _vectors(f: Frame, x: Array, b: Array) -> Value:
    """[..., k] @ [..., k, m] for each of a batch of vectors."""
    rows = move(f, x, "unsqueeze", len(shape(x)) - 1)
    return move(f, matmul(f, rows, b), "squeeze", len(shape(b)) - 2)


def _column(f: Frame, a: Array, column: Value) -> Value:
    """[..., n, k] @ [..., k] for one column of the second operand."""
    if len(shape(column)) == 1:
        return matmul(f, a, column)
    wide = move(f, column, "unsqueeze", len(shape(column)))
    product = matmul(f, a, wide)
    return move(f, product, "squeeze", len(shape(product)) - 1)


def _contracted(f: Frame, a: Array, b: Array) -> Value:
    """The product along a dimension whose extent varies: the sum of what its parts give."""
    sa, sb = shape(a), shape(b)
    k, m = len(sa) - 1, max(len(sb) - 2, 0)

    def outer(x: Array, y: Value) -> Value:
        if len(sa) > 1 and len(sb) > 1:
            x, y = move(f, x, "unsqueeze", len(shape(x))), move(f, y, "unsqueeze", len(shape(y)) - 1)
        return elementwise(f, [x, y], lambda v: f.tensors.op("mul", v))

    parts = mapped(f, [as_rows(f, a, k), as_rows(f, b, m)], outer)
    return reduce(f, "sum", parts)


# ---- along the dimension that varies


def reduce(f: Frame, op: str, xs: Array) -> Value:
    """The sum, maximum or minimum of the items of a list, dense tensors or numbers. A sum of none is zero; of the others there
    must be one; the "highest" of none is minus infinity."""
    from backends.acrobat.frontend.lists import fold, head

    if is_unknown(xs):
        return unknown()
    t = item_type(xs)
    if isinstance(t, ListT):  # a further extent varies: along that one first
        turned = transposed_lists(f, mapped(f, [xs], lambda row: retyped(row, ListT(item_type(row)))))
        return of_rows(mapped(f, [turned], lambda items: reduce(f, op, items)), t.rows or 0)
    name = {"sum": "add", "max": "maximum", "min": "minimum", "highest": "maximum"}[op]
    xs = retyped(xs, ListT(t))
    if isinstance(t, ScalarT):
        number = {"add": "add", "maximum": "max", "minimum": "min"}[name]
        if op == "sum":
            if t == BOOL:
                xs, t = mapped(f, [xs], lambda x: f.host("int", [x], INT)), INT
            return fold(f, xs, f.coerce(Static(0), t), number)
        return fold(f, *head(f, xs), number)
    if op in ("sum", "highest"):
        start = f.tensors.op("full", [], {"shape": t.shape, "value": 0.0 if op == "sum" else -math.inf}, "start")
        return fold(f, xs, start, name)
    return fold(f, *head(f, xs), name)


def along(f: Frame, op: str, x: Array, dim: int, keep: bool) -> Value:
    """A reduction, or a softmax, along one dimension of a ragged tensor."""
    k = axis(x)
    if dim != k:
        shift = 0 if keep or dim > k or op in ("softmax", "log_softmax") else 1
        return over_rows(f, x, k - shift, lambda row: _number(along_any(f, op, row, dim - (dim > k), keep)))
    if op in ("softmax", "log_softmax"):
        return _softmax(f, op, x, dim)
    if op == "argmax":
        return _argmax(f, x)
    if op == "mean":
        total = reduce(f, "sum", x)
        result = elementwise(f, [total, length(f, x)], lambda v: f.tensors.op("div", v))
    else:
        result = reduce(f, op, x)
    return move(f, result, "unsqueeze", dim) if keep else result


def _number(value: Value) -> Value:
    """The int of a tensor that holds one."""
    return value.value if isinstance(value, Held) and value.kind == "index" else value


def along_any(f: Frame, op: str, x: Array, dim: int, keep: bool) -> Value:
    if is_ragged(x):
        return along(f, op, x, dim, keep)
    if op in ("softmax", "log_softmax"):
        return f.tensors.call(op, Call(op, [x, Static(dim)], {}))
    if op == "min":
        negated = f.tensors.op("max", [f.tensors.op("neg", [x])], {"dim": dim, "keepdim": keep})
        return f.tensors.op("neg", [negated])
    return f.tensors.op(op, [x], {"dim": dim, "keepdim": keep})


def _softmax(f: Frame, op: str, x: Array, dim: int) -> Value:
    """As PyTorch has it, a softmax over nothing is nothing."""

    def each(name: str, *operands: Value) -> Value:
        return elementwise(f, operands, lambda v: f.tensors.op(name, v))

    highest = move(f, reduce(f, "highest", x), "unsqueeze", dim)
    shifted = each("sub", x, highest)
    powers = each("exp", shifted)
    total = along(f, "sum", powers, dim, True)
    return each("div", powers, total) if op == "softmax" else each("sub", shifted, each("log", total))


def _argmax(f: Frame, x: Array) -> Any:
    """Which of a list of scores is the highest, the first of several: the instance waits for them."""
    row = shape(x)[1:] if axis(x) == 0 else tuple(e for i, e in enumerate(shape(x)) if i != axis(x))
    if row and all(e is None for e in row[:1]) and isinstance(item_type(x), ListT):
        turned = transposed_lists(f, mapped(f, [x], lambda part: retyped(part, ListT(item_type(part)))))
        return of_rows(mapped(f, [turned], lambda scores: _argmax(f, of_rows(scores, 0)).value), 0)
    if any(e != 1 for e in row):
        raise Refused("`argmax` along an extent that varies takes one score for each part here")
    numbers = x if isinstance(item_type(x), ScalarT) else mapped(f, [x], lambda score: f.tensors.item(score))
    numbers = retyped(numbers, ListT(item_type(numbers)))
    pairs = f.host("enumerate", [numbers], ListT(TupleT((INT, item_type(numbers)))))
    item, best, where = f.var("item", item_type(pairs)), f.var("best", item_type(numbers)), f.var("where", INT)
    first = f.host("list.get", [numbers, Static(0)], item_type(numbers), "first")
    state = TupleT((item_type(numbers), INT))
    with f.branch() as b:
        i, score = f.components(Dyn(item)) or (unknown(), unknown())
        higher = f.host("gt", [score, Dyn(best)], BOOL, "higher")
        then = f.bind(n.Tuple((f.atom(score), f.atom(i)), state, span=f.span), "next")
        with f.branch() as yes:
            taken = yes.finish(then.atom)
        with f.branch() as no:
            kept = no.finish(f.bind(n.Tuple((best, where), state, span=f.span), "same").atom)
        chosen = f.bind(n.If(f.atom(higher), taken, kept, state, span=f.span), "choice")
        body = b.finish(chosen.atom)
    folded = f.bind(
        n.Fold(item, f.atom(pairs), (best, where), (f.atom(first), n.Lit(0, INT)), body, state, span=f.span), "highest"
    )
    return Held("index", f.bind(n.Field(folded.atom, 1, INT, span=f.span), "argmax"))


# ---- moving dimensions


def move(f: Frame, x: Array, how: str, dim: int) -> Value:
    """`unsqueeze` or `squeeze` of one dimension (not negative) of a tensor or number."""
    if isinstance(x, Held) or not is_ragged(x):
        if is_tensor(x):
            return f.tensors.call(how, Call(how, [x, Static(dim)], {}))
        return x if isinstance(x, Held) else f.tensors.call(how, Call(how, [Dyn(f.tensors.operand(x)), Static(dim)], {}))
    k = axis(x)
    if how == "unsqueeze":
        return over_rows(f, x, k + (dim <= k), lambda row: move(f, row, how, dim if dim <= k else dim - 1))
    if dim == k:
        raise Refused("`squeeze` of an extent that varies between instances", "index it: `x[0]`")
    if shape(x)[dim] != 1:
        return x
    return over_rows(f, x, k - (dim < k), lambda row: move(f, row, how, dim if dim < k else dim - 1))


def permute(f: Frame, x: Array, dims: Sequence[int]) -> Value:
    if list(dims) == sorted(dims):
        return x
    if not is_ragged(x):
        return f.tensors.op("permute", [x], {"dims": tuple(dims)})
    k: int = axis(x)
    inner = [i for i, e in enumerate(shape(x)) if e is None and i != k]
    if inner and dims.index(inner[0]) < dims.index(k):  # the other varying dimension comes to stand before this one
        first = inner[0]
        swapped = as_rows(f, x, first)
        rest = [d - (d > first) for d in dims if d != first]
        return of_rows(mapped(f, [swapped], lambda row: permute(f, row, rest)), dims.index(first))
    rest = [d - (d > k) for d in dims if d != k]
    if rest == sorted(rest):
        return retyped(x, ListT(item_type(x), dims.index(k)))
    return over_rows(f, x, dims.index(k), lambda row: permute(f, row, rest))


def reshape(f: Frame, x: Array, wanted: Sequence[Any]) -> Value:
    """`view`, `reshape`: elements stay on their side of the dimension that varies."""
    have = shape(x)
    if have.count(None) > 1:
        raise Refused(
            "a tensor of which several extents vary cannot be reshaped", "use transpose, unsqueeze or flatten its rows"
        )
    k = axis(x)
    before, after = math.prod(e or 1 for e in have[:k]), math.prod(e or 1 for e in have[k + 1 :])
    if isinstance(item_type(x), ScalarT):
        sizes = [e for e in wanted if not _is_length(f, e)]
        if len(wanted) == 1:
            return x
        raise Refused(f"a tensor of ints with one dimension cannot be reshaped to {len(sizes)} others")
    runtime = [i for i, e in enumerate(wanted) if not known(e)[0]]
    if len(runtime) > 1 or any(not _is_length(f, wanted[i]) for i in runtime):
        raise Refused("an extent here is neither constant nor the tensor's own varying one", "write `x.size(0)` for that")
    fixed = [known(e)[1] for e in wanted]
    if runtime:
        j = runtime[0]
        rest = math.prod(e for i, e in enumerate(fixed) if i != j and e != -1)
        fixed = [before * after // max(rest, 1) if e == -1 else e for e in fixed]
    elif -1 in fixed:
        j = fixed.index(-1)
    else:
        raise Refused("this shape has no place for the extent that varies", "write -1 for it")
    left, right = math.prod(fixed[:j]), math.prod(fixed[j + 1 :])
    if (left, right) != (before, after):
        raise Refused("`view` cannot move elements across the dimension whose extent varies")
    row = tuple(fixed[:j] + fixed[j + 1 :])
    if row == shape(Dyn(n.Var("?", item_type(x)))):
        return retyped(x, ListT(item_type(x), j))
    return over_rows(f, x, j, lambda part: f.tensors.op("reshape", [part], {"shape": row}))


def _is_length(f: Frame, value: Any) -> bool:
    return isinstance(value, Dyn) and getattr(value.atom, "name", "") in f.lengths


# ---- indexing


def select(f: Frame, x: Array, dim: int, i: Value) -> Value:
    """`x.select(dim, i)`; along the dimension that varies `i` may be known at run time only."""
    if not is_ragged(x):
        is_known, index = known(i)
        if not is_known:
            if isinstance(i, Dyn) and dim == 0 and not f.is_weight(x.atom):
                return at(f, as_rows(f, x, 0), i)
            raise Refused("only the first dimension of a tensor is indexed by an int known at run time")
        extent = shape(x)[dim]
        assert extent is not None
        if not -extent <= index < extent:
            raise Refused(f"index {index} is out of range for an extent of {extent}")
        return f.tensors.op("index", [x], {"dim": dim, "i": index % extent})
    k = axis(x)
    if dim == k:
        return at(f, x, i)
    return over_rows(f, x, k - (dim < k), lambda row: select(f, row, dim - (dim > k), i))


def cut(f: Frame, x: Array, dim: int, start: Value | None, stop: Value | None) -> Value:
    """`x[start:stop]` along one dimension."""
    if start is None and stop is None:
        return x
    if not is_ragged(x):
        bounds = [None if b is None else known(b) for b in (start, stop)]
        if all(b is None or b[0] for b in bounds):
            extent = shape(x)[dim]
            assert extent is not None
            first, last, _ = slice(*(None if b is None else b[1] for b in bounds)).indices(extent)
            return f.tensors.op("slice", [x], {"dim": dim, "start": first, "stop": max(first, last)})
        rows = as_rows(f, x, dim)
        return of_rows(f.host("list.slice", [rows, start or Static(0), stop or Static(END)], rows.type), dim)
    k = axis(x)
    if dim != k:
        return over_rows(f, x, k, lambda row: cut(f, row, dim - (dim > k), start, stop))
    plain = retyped(x, ListT(item_type(x)))
    return of_rows(f.host("list.slice", [plain, start or Static(0), stop or Static(END)], plain.type), k)


# ---- joining


def cat(f: Frame, parts: Sequence[Array], dim: int) -> Value:
    """Tensors written out, one after the other along `dim`, of which some are ragged."""
    if all(not is_ragged(p) for p in parts):
        return f.tensors.op("cat", list(parts), {"dim": dim})
    ragged = next(p for p in parts if is_ragged(p))
    k = axis(ragged)
    if any(shape(p)[dim] is None for p in parts):
        lists = [as_rows(f, p, dim) for p in parts]
        result = lists[0]
        for other in lists[1:]:
            t = f.common([type_of(result), type_of(other)])
            result = f.host("list.concat", [f.coerce(result, t), f.coerce(other, t)], t)
        return of_rows(result, dim)
    rows = [as_rows(f, p, k) for p in parts]
    return of_rows(mapped(f, rows, lambda *items: cat(f, items, dim - (dim > k))), k)


def joined(f: Frame, xs: Array, dim: Value) -> Value:
    """`torch.cat` of a list of run-time length: all parts of its tensors along `dim`, in order."""
    item = Dyn(n.Var("?", item_type(xs)))
    if not is_ragged(item) and not is_tensor(item):
        raise Refused("`cat` takes a list of tensors")
    k = dim_of(dim, len(shape(item)), "cat")
    if shape(item)[k] == 1 and not is_ragged(item):
        return of_rows(mapped(f, [xs], lambda x: select(f, x, k, Static(0))), k)
    return of_rows(flattened(f, mapped(f, [xs], lambda x: as_rows(f, x, k))), k)


def flattened(f: Frame, xs: Array) -> Dyn:
    """The items of a list of lists, in one list."""
    if is_unknown(xs):
        return unknown()
    t = item_type(xs)
    item, so_far = f.var("item", t), f.var("all", t)
    with f.branch() as b:
        more = f.host("list.concat", [Dyn(so_far), Dyn(item)], t)
        body = b.finish(f.bind(n.Tuple((more.atom,), TupleT((t,)), span=f.span), "next").atom)
    none = f.bind(n.ListOf((), t, span=f.span), "empty")
    folded = f.bind(n.Fold(item, f.atom(xs), (so_far,), (none.atom,), body, TupleT((t,)), span=f.span), "joined")
    return f.bind(n.Field(folded.atom, 0, t, span=f.span), "all")


def stack(xs: Array, dim: Value, f: Frame) -> Value:
    """`torch.stack` of a list of run-time length."""
    item = Dyn(n.Var("?", item_type(xs)))
    if isinstance(item_type(xs), ScalarT) or not (is_ragged(item) or is_tensor(item)):
        raise Refused("`stack` takes a list of tensors")
    k = dim_of(dim, len(shape(item)), "stack", extra=1)
    if is_ragged(item) and k > axis(item):
        return permute(f, of_rows(xs, 0), [*range(1, k + 1), 0, *range(k + 1, len(shape(item)) + 1)])
    return of_rows(xs, k)


def repeat(f: Frame, x: Array, times: Sequence[Any], expand: bool) -> Value:
    """`repeat`, and `expand` of extents of 1, by numbers of which some are known at run time only."""
    for _ in range(len(times) - len(shape(x))):
        x = move(f, x, "unsqueeze", 0)
    for d, wanted in enumerate(times):
        is_known, count = known(wanted)
        extent = shape(x)[d]
        if is_known and (count == -1 or (expand and count == extent) or (not expand and count == 1)):
            continue
        if expand and extent != 1:
            if extent is None and not is_known:
                continue  # the tensor's own extent
            raise Refused("`expand` makes extents of 1 wider")
        if is_known:
            x = cat(f, [x] * count, d)
            continue
        rounds = f.host("range", [Static(0), wanted, Static(1)], ListT(INT))
        if extent == 1:
            row = select(f, x, d, Static(0))
            x = of_rows(mapped(f, [rounds], lambda _, row=row: row, "i"), d)
        else:
            rows = as_rows(f, x, d)
            x = of_rows(flattened(f, mapped(f, [rounds], lambda _, rows=rows: rows, "i")), d)
    return x


# ---- calls


def call(f: Frame, name: str, c: Call) -> Value | None:
    """An operation with ragged operands; None for one that has no rule here."""
    from backends.acrobat.frontend.tensors import BINARY, UNARY

    x: Any = c.args[0] if c.args else None
    if name in UNARY or name in ("gelu", "square", "rsqrt"):
        return elementwise(f, c.args[:1], lambda v: f.tensors.call(name, Call(name, list(v), c.kwargs)))
    if name in BINARY:
        a, b = c.bind("input", "other")
        return elementwise(f, [a, b], lambda v: f.tensors.call(name, Call(name, list(v), {})))
    rank = len(shape(x)) if is_ragged(x) else 0
    match name:
        case "linear":
            v, w, bias = c.bind("input", "weight", "bias", bias=Static(None))
            if shape(v)[-1] is None:
                raise Refused("`Linear` along an extent that varies: its weight has a fixed one")
            return over_rows(f, v, axis(v), lambda row: f.tensors.call("linear", Call("linear", [row, w, bias], {})))
        case "matmul" | "mm" | "bmm" | "mv" | "dot":
            return matmul(f, *c.bind("input", "other"))
        case "sum" | "mean" | "amax" | "amin" | "argmax":
            v, dim, keepdim = c.bind("input", "dim", "keepdim", dim=Static(None), keepdim=Static(False))
            keep, op = bool(constant(keepdim, "keepdim")), {"amax": "max", "amin": "min"}.get(name, name)
            return _reduced(f, op, v, dim, keep)
        case "max" | "min" if len(c.args) == 1 and not c.kwargs:
            return _reduced(f, name, x, Static(None), False)
        case "max" | "min" if len(c.args) == 2 and (is_ragged(c.args[1]) or is_tensor(c.args[1])):
            return elementwise(f, c.args, lambda v: f.tensors.call(f"{name}imum", Call(name, list(v), {})))
        case "max":
            v, dim, keepdim = c.bind("input", "dim", "keepdim", keepdim=Static(False))
            k, keep = dim_of(dim, rank, name), bool(constant(keepdim, "keepdim"))
            try:
                which = along(f, "argmax", v, k, keep)
            except Refused:
                which = Static(None)
            return TupleV((along(f, "max", v, k, keep), which))
        case "softmax" | "log_softmax":
            v, dim, _ = c.bind("input", "dim", "dtype", dtype=None)
            return along(f, name, v, dim_of(dim, rank, name), True)
        case "repeat" | "expand":
            return repeat(f, x, f.spread([*c.args[1:], *c.kwargs.values()]), name == "expand")
        case "unsqueeze":
            v, dim = c.bind("input", "dim")
            return move(f, v, name, dim_of(dim, rank, name, extra=1))
        case "squeeze":
            v, dim = c.bind("input", "dim", dim=None)
            if dim is None:
                raise Refused("`squeeze()` of a tensor whose extent varies depends on that extent", "give it the dimension")
            return move(f, v, name, dim_of(dim, rank, name))
        case "t":
            return permute(f, x, list(reversed(range(rank))))
        case "transpose":
            v, a, b = c.bind("input", "dim0", "dim1")
            dims = list(range(rank))
            i, j = dim_of(a, rank, name), dim_of(b, rank, name)
            dims[i], dims[j] = dims[j], dims[i]
            return permute(f, v, dims)
        case "permute":
            return permute(f, x, [dim_of(d, rank, name) for d in f.spread([*c.args[1:], *c.kwargs.values()])])
        case "view" | "reshape":
            return reshape(f, x, f.spread([*c.args[1:], *c.kwargs.values()]))
        case "contiguous" | "detach" | "clone" | "float":
            return x if name != "float" or not isinstance(item_type(x), ScalarT) else numbers(f, x)
        case "size":
            v, dim = c.bind("input", "dim", dim=None)
            if dim is not None:
                return extent_of(f, v, dim_of(dim, rank, name))
            return TupleV(tuple(extent_of(f, v, d) for d in range(rank)))
        case "dim":
            return Static(rank)
        case "numel":
            if rank == 1:
                return length(f, x)
        case "chunk" | "split" | "unbind":
            return _pieces(f, name, c, rank)
        case "select":
            v, dim, i = c.bind("input", "dim", "index")
            return select(f, v, dim_of(dim, rank, name), i)
        case "masked_fill":
            return f.tensors.do_masked_fill(c)
        case "tolist":
            if isinstance(item_type(x), ScalarT):
                return retyped(x, ListT(item_type(x)))
            if rank == 1:
                return mapped(f, [x], lambda row: f.tensors.item(row))
        case "layer_norm":
            v, *rest = c.args
            return over_rows(f, v, axis(v), lambda row: f.tensors.call(name, Call(name, [row, *rest], c.kwargs)))
        case "zeros_like" | "ones_like":
            value = 0.0 if name == "zeros_like" else 1.0
            return elementwise(f, [x], lambda v: f.tensors.op("full", [], {"shape": shape(v[0]), "value": value}))
    return None


def _reduced(f: Frame, op: str, x: Array, dim: Any, keep: bool) -> Value:
    if dim is None or dim == Static(None):
        if isinstance(x.type, ListT) and isinstance(item_type(x), ScalarT) and op != "argmax":
            return reduce(f, op, x)
        if op == "argmax" and all(e in (1, None) for e in shape(x)) and shape(x).count(None) == 1:
            for d in reversed([d for d, e in enumerate(shape(x)) if e == 1]):
                x = move(f, x, "squeeze", d)
            return _argmax(f, x)
        if op == "argmax":
            raise Refused("`argmax` of a tensor whose extent varies needs a dimension here")
        if op == "mean":
            total = _reduced(f, "sum", x, dim, False)
            count: Value = Static(1)
            for e in range(len(shape(x))):
                count = f.host("mul", [count, extent_of(f, x, e)], INT)
            return f.tensors.op("div", [total, count])
        inner = mapped(f, [x], lambda row: _reduced_dense(f, op, row))
        return reduce(f, op, inner)
    return along(f, op, x, dim_of(dim, len(shape(x)), op), keep)


def _reduced_dense(f: Frame, op: str, row: Value) -> Value:
    if is_ragged(row):
        return _reduced(f, op, row, None, False)
    flat = f.tensors.op("reshape", [row], {"shape": (math.prod(e or 1 for e in shape(row)),)})
    return along_any(f, op, flat, 0, False)


def _pieces(f: Frame, name: str, c: Call, rank: int) -> Value:
    """`chunk`, `split` and `unbind` along a dimension that does not vary; `unbind` along the one that does is its list."""
    names = {"chunk": ("chunks", "dim"), "split": ("split_size_or_sections", "dim"), "unbind": ("dim",)}[name]
    x, *rest, dim = c.bind("input", *names, dim=Static(0))
    d = dim_of(dim, rank, name)
    k = axis(x)
    if d == k:
        if name == "unbind":
            return retyped(x, ListT(item_type(x)))
        raise Refused(f"`{name}` along an extent that varies between instances")
    inner = Static(d - (d > k))
    whole = mapped(f, [x], lambda row: f.tensors.call(name, Call(name, [row, *rest, inner], {})))
    if is_unknown(whole):
        return unknown()
    count = len(item_type(whole).items)

    def piece(i: int) -> Value:
        return of_rows(mapped(f, [whole], lambda parts: (f.components(parts) or [])[i]), k - (name == "unbind" and d < k))

    return TupleV(tuple(piece(i) for i in range(count)))


def numbers(f: Frame, x: Array) -> Value:
    """A tensor of ints or bools as one of floats."""
    item = item_type(x)

    def number(i: Value) -> Value:
        if item == BOOL:
            i = f.host("int", [i], INT)
        return Dyn(f.tensors.operand(f.host("float", [i], FLOAT)))

    return of_rows(mapped(f, [x], number), 0)


def embedding(f: Frame, ids: Array, row: Callable[[Value], Value]) -> Value:
    """Rows of a table for a tensor of ints."""
    return of_rows(mapped(f, [ids], row, "id"), 0)
