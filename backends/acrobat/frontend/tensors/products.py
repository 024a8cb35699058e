"""Matrix products, `linear` and `einsum`, of dense and ragged tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import torch

from backends.acrobat import library
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.broadcasting import of_one_length
from backends.acrobat.frontend.evaluator.lists.lengths import Array
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import is_ragged, is_tensor
from backends.acrobat.frontend.tensors.broadcasting import broadcast_in
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.fixing import with_extents
from backends.acrobat.frontend.tensors.lifting import as_rows, axis, dim_of, elementwise, of_rows, op, over_rows, select, shape
from backends.acrobat.frontend.tensors.operations import call_operation, either, operation, ragged
from backends.acrobat.frontend.tensors.reductions import reduce
from backends.acrobat.frontend.tensors.shapes import move, permute
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value

LONGEST = 64
"""The longest fixed dimension that is summed over together with one that varies."""


def matmul(f: Frame, a: Array, b: Array) -> Value:
    """`a @ b`, where each operand may be ragged. Raises Refused."""
    if not is_ragged(a) and not is_ragged(b):
        return op(f, "matmul", [a, b])
    sa, sb = shape(a), shape(b)
    if not sa or not sb:
        raise Refused("`matmul` takes tensors with dimensions")
    rank = max(len(sa), len(sb), 2)
    batches = [rank - len(shape(v)) + axis(v) for v in (a, b) if is_ragged(v) and axis(v) < len(shape(v)) - 2]
    if batches:
        return _by_batch(f, a, b, min(batches))
    if is_ragged(a) and len(sa) > 1 and axis(a) != len(sa) - 1:
        if len(sb) <= 2:
            return over_rows(f, a, axis(a), lambda row: matmul(f, row, b))
        # the matrices' rows vary in number: each part is a batch of vectors
        return over_rows(f, a, rank - 2, lambda row: _vectors(f, row, b))
    if is_ragged(b) and (len(sb) == 1 or axis(b) == len(sb) - 2):
        if is_ragged(a) or sa[-1] is not None:  # the product sums over the varying dimension
            return _contracted(f, a, b)
    if is_ragged(a) and not is_ragged(b) and (sb[-2:][0] or 0) <= LONGEST:
        return _contracted(f, a, b)  # other extents than the fixed one are an error of the instance
    if is_ragged(b) and axis(b) == len(sb) - 1:
        k = len(sa) - 1 if len(sa) > 1 else 0
        k = max(k, len(sb) - 2) if len(sb) > 2 else k
        return over_rows(f, b, k, lambda column: _column(f, a, column))
    raise Refused("this product of tensors whose extents vary is not in the language")


def _by_batch(f: Frame, a: Array, b: Array, k: int) -> Value:
    """The product of batches of matrices, one by one along the dimension `k` of the result, which varies in one at least. A
    matrix, and an extent of 1, is broadcast, also one that is 1 in an instance."""
    rank = max(len(shape(a)), len(shape(b)))
    lists: list[Array] = []
    sizes: list[int | None] = []
    sides: list[Array | None] = []  # None for the part of the round, in the order of `lists`
    for v in (a, b):
        own = k - rank + len(shape(v))
        if own >= 0 and shape(v)[own] != 1:
            lists.append(as_rows(f, v, own))
            sizes.append(shape(v)[own])
        sides.append(v if own < 0 else select(f, v, own, Static(0)) if shape(v)[own] == 1 else None)

    def product(*parts: Value) -> Value:
        rest = iter(parts)
        return matmul(f, *(next(rest) if v is None else v for v in sides))

    if len(lists) > 1:
        lists = of_one_length(f, lists, sizes, broadcast_in(f, lists))
    return of_rows(mapped(f, lists, product), k)


def _vectors(f: Frame, x: Array, b: Array) -> Value:
    """[..., k] @ [..., k, m]: each vector of a batch times its matrix."""
    rows = move(f, x, "unsqueeze", len(shape(x)) - 1)
    return move(f, matmul(f, rows, b), "squeeze", len(shape(b)) - 2)


def _column(f: Frame, a: Array, column: Value) -> Value:
    """[..., n, k] @ [..., k]: each matrix of a batch times one column of the second operand."""
    if len(shape(column)) == 1:
        return matmul(f, a, column)
    wide = move(f, column, "unsqueeze", len(shape(column)))
    product = matmul(f, a, wide)
    return move(f, product, "squeeze", len(shape(product)) - 1)


def _contracted(f: Frame, a: Array, b: Array) -> Value:
    """The product where the dimension that is summed over varies: the sum of the outer products of its parts."""
    sa, sb = shape(a), shape(b)
    k, m = len(sa) - 1, max(len(sb) - 2, 0)

    def outer(x: Array, y: Value) -> Value:
        if len(sa) > 1 and len(sb) > 1:
            x, y = move(f, x, "unsqueeze", len(shape(x))), move(f, y, "unsqueeze", len(shape(y)) - 1)
        return elementwise(f, [x, y], lambda v: op(f, "mul", v))

    parts = mapped(f, [as_rows(f, a, k), as_rows(f, b, m)], outer)
    return reduce(f, "sum", parts)


# ---- the operations


def refuse_ints(name: str, operands: Sequence[Value]) -> None:
    """Raises Refused for a product of tensors of ints, which is one of ints in PyTorch: products are computed in float32."""
    if operands and all(dtype_of(v) == torch.int64 for v in operands):
        advice = "multiply floats, and write `.long()` behind: `(x.float() @ y.float()).long()`"
        raise Refused(f"`{name}` of tensors of ints is not in the language", advice)


@operation("matmul", "mm", "bmm", "mv", "dot")
def _matmul(f: Frame, call: CallArguments) -> Dyn:
    refuse_ints(call.name, call.args)
    return op(f, "matmul", call.bind("input", "other"))


@ragged("matmul", "mm", "bmm", "mv", "dot")
def _matmul_ragged(f: Frame, c: CallArguments) -> Value | None:
    refuse_ints(c.name, c.args)
    a, b = c.bind("input", "other")
    if c.name == "bmm":  # which does not broadcast an extent of 1
        a, b = (
            with_extents(f, v, [1 if shape(w)[:1] == (1,) else None, None, None], "as `bmm` takes it")
            for v, w in ((a, b), (b, a))
        )
        with f.broadcasting(()):
            return matmul(f, a, b)
    return matmul(f, a, b)


@operation("linear")
def _linear(f: Frame, call: CallArguments) -> Value:
    x, w, b = call.bind("input", "weight", "bias", bias=Static(None))
    if len(shape(w)) == 1:
        return _written_out(f, x, w, b)
    return op(f, "linear", [x, w] if b == Static(None) else [x, w, b])


@ragged("linear")
def _linear_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, w, bias = c.bind("input", "weight", "bias", bias=Static(None))
    if not shape(v):
        raise Refused("`linear` takes a tensor with a dimension of its features")
    if is_ragged(w) or is_ragged(bias) or len(shape(w)) == 1:
        return _written_out(f, v, w, bias)
    if shape(v)[-1] is None:
        v = with_extents(f, v, shape(w)[-1:], "as `Linear` takes it")
        if not is_ragged(v):
            return call_operation(f, "linear", CallArguments("linear", [v, w, bias], {}))
    return over_rows(f, v, axis(v), lambda row: call_operation(f, "linear", CallArguments("linear", [row, w, bias], {})))


def _written_out(f: Frame, x: Value, w: Value, bias: Value) -> Value:
    """`linear` as a product and a sum: with weights that the model computes and whose extents vary, such as those of a
    hypernetwork, and with one vector of weights."""
    if len(shape(w)) == 2 and shape(bias)[-1:] not in ((), (1,)):  # a bias of one element is broadcast, and no weight is
        why = "as `linear` takes it"
        w, bias = with_extents(f, w, [shape(bias)[-1], None], why), with_extents(f, bias, shape(w)[:1], why)
    turned = call_operation(f, "t", CallArguments("t", [w], {}))
    product = call_operation(f, "matmul", CallArguments("matmul", [x, turned], {}))
    return product if bias == Static(None) else call_operation(f, "add", CallArguments("add", [product, bias], {}))


# ---- einsum


@either("tensordot")
def _tensordot(f: Frame, call: CallArguments) -> Value:
    """Sums of products over `dims`: so many last dimensions of `a` and first ones of `b`, or the dimensions of each."""
    a, b, dims = call.bind("a", "b", "dims", dims=Static(2))
    ranks, over = (len(shape(a)), len(shape(b))), _contracted_dims(f, dims)
    if isinstance(over, int):
        over = (list(range(ranks[0] - over, ranks[0])), list(range(over)))
    over = [[o] if isinstance(o, int) else o for o in over]
    pairs = [[dim_of(Static(d), rank, "tensordot") for d in o] for o, rank in zip(over, ranks, strict=True)]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    names = [[next(letters) for _ in range(r)] for r in ranks]
    for d, e in zip(*pairs, strict=True):
        names[1][e] = names[0][d]
    kept = [name for side, taken in zip(names, pairs, strict=True) for d, name in enumerate(side) if d not in taken]
    equation = f"{''.join(names[0])},{''.join(names[1])}->{''.join(kept)}"
    return call_operation(f, "einsum", CallArguments("einsum", [Static(equation), a, b], {}))


def _contracted_dims(f: Frame, dims: Value) -> Any:
    """The argument `dims` of `tensordot`: an int, or two of ints or lists of ints."""
    dims = f.static_list(dims)
    if isinstance(dims, TupleV):
        return [constant(f.static_list(v), "the dimensions of `tensordot`") for v in dims.items]
    return constant(dims, "the dimensions of `tensordot`")


@either("einsum", of_tensor=False)
def _einsum(f: Frame, call: CallArguments) -> Value:
    """`torch.einsum` of an equation known at compile time. A letter stands twice in a term for the diagonal of a matrix only.
    Of several tensors the first two are contracted first."""
    equation, *operands = call.args
    text = str(constant(equation, "the equation")).replace(" ", "")
    if len(operands) == 1 and not is_tensor(operands[0]) and not is_ragged(operands[0]):
        operands = f.spread(operands)
    inputs, arrow, output = text.partition("->")
    terms, dotted = inputs.split(","), ""
    if len(terms) == len(operands):
        terms, dotted = _without_dots(terms, [len(shape(x)) for x in operands])
        output = output.replace("...", dotted)
    if not arrow:
        letters = sorted("".join(terms))
        output = dotted + "".join(c for c in letters if letters.count(c) == 1 and c not in dotted)
    for k, term in enumerate(terms):
        if len(term) == 2 and term[0] == term[1] and len(operands) > k and len(shape(operands[k])) == 2:
            operands[k], terms[k] = f.call_with(library.FUNCTIONS["diagonal"], [operands[k]]), term[0]
    if len(terms) != len(operands) or any(len(set(t)) != len(t) for t in (*terms, output)):
        raise Refused("`einsum` takes tensors whose dimensions have a letter each here", "write the product with @ and sum")
    for term, x in zip(terms, operands, strict=True):
        if not term.isalpha() or len(term) != len(shape(x)):
            raise Refused(f"`einsum`: {term!r} does not name the dimensions of a tensor of rank {len(shape(x))}")
    alone = [set(t) - set(output).union(*terms[:k], *terms[k + 1 :]) for k, t in enumerate(terms)]
    for k, summed in enumerate(alone):  # a dimension of one operand alone, which the result has not, is summed up first
        for letter in summed:
            at = terms[k].index(letter)
            operands[k] = call_operation(f, "sum", CallArguments("sum", [operands[k], Static(at)], {}))
            terms[k] = terms[k].replace(letter, "")
    if len(terms) == 1:
        return permute(f, operands[0], [terms[0].index(c) for c in output])
    while len(terms) > 2:
        first, second, *others = terms
        inner = "".join(c for c in dict.fromkeys(first + second) if c in output or any(c in t for t in others))
        operands = [_einsum_of_two(f, [first, second], inner, operands[:2]), *operands[2:]]
        terms = [inner, *others]
    return _einsum_of_two(f, terms, output, operands)


def _without_dots(terms: list[str], ranks: list[int]) -> tuple[list[str], str]:
    """The terms with letters of their own in place of `...`, and these letters: those of the operand that has the most."""
    spare = [c for c in ascii_letters if c not in "".join(terms)]
    counts = [rank - len(term) + 3 if "..." in term else 0 for term, rank in zip(terms, ranks, strict=True)]
    others = "".join(spare[: max(counts)])
    return [t.replace("...", others[len(others) - max(n, 0) :]) for t, n in zip(terms, counts, strict=True)], others


def _einsum_of_two(f: Frame, terms: list[str], output: str, operands: list[Any]) -> Value:
    a, b = terms
    batch = [c for c in output if c in a and c in b]
    left, right = ([c for c in output if c in own and c not in other] for own, other in ((a, b), (b, a)))
    summed = [c for c in a if c in b and c not in output]
    if summed:
        for k, own in ((0, left), (1, right)):
            known = dict(zip(terms[k], shape(operands[k]), strict=True))
            fixed = {c: e for c in own if (e := known[c]) is not None}
            if fixed and len(own) > 1 and is_ragged(operands[k]):  # not merged with what varies: both have it
                letter, extent = next(iter(fixed.items()))
                terms, operands = list(terms), list(operands)
                terms[1 - k], operands[1 - k] = letter + terms[1 - k], _repeated(f, operands[1 - k], extent)
                return _einsum_of_two(f, terms, output, operands)
    x, y = (
        permute(f, v, [term.index(c) for c in order])
        for v, term, order in zip(operands, terms, ([*batch, *left, *summed], [*batch, *summed, *right]), strict=True)
    )
    if not summed:
        for _ in right:
            x = move(f, x, "unsqueeze", len(shape(x)))
        for _ in left:
            y = move(f, y, "unsqueeze", len(batch))
        product: Value = elementwise(f, [x, y], lambda v: op(f, "mul", v), broadcast_in(f, [x, y]))
    elif not batch and not right and len(summed) == 1:  # a matrix product with a vector, as it is
        product = call_operation(f, "matmul", CallArguments("matmul", [x, y], {}))
    else:
        sizes = {c: e for v, term in zip(operands, terms, strict=True) for c, e in zip(term, shape(v), strict=True)}
        x, y = (
            _grouped(f, v, [len(batch), *groups])
            for v, groups in ((x, (len(left), len(summed))), (y, (len(summed), len(right))))
        )
        product = call_operation(f, "matmul", CallArguments("matmul", [x, y], {}))
        if len(left) != 1 or len(right) != 1:
            extents = [-1 if sizes[c] is None else sizes[c] for c in (*batch, *left, *right)]
            if len(left) == 0:
                product = move(f, product, "squeeze", len(batch))
            if len(right) == 0:
                product = move(f, product, "squeeze", len(shape(product)) - 1)
            if len(left) > 1 or len(right) > 1:
                product = call_operation(f, "reshape", CallArguments("reshape", [product, *map(Static, extents)], {}))
    now = [*batch, *left, *right]
    return permute(f, product, [now.index(c) for c in output])


def _repeated(f: Frame, x: Any, times: int) -> Value:
    """The tensor with a further first dimension of this extent, along which it is the same."""
    x = move(f, x, "unsqueeze", 0)
    sizes = [times, *(-1 for _ in shape(x)[1:])]
    return call_operation(f, "expand", CallArguments("expand", [x, *map(Static, sizes)], {}))


def _grouped(f: Frame, x: Any, sizes: list[int]) -> Any:
    """The tensor with the dimensions behind the first `sizes[0]` merged into two groups, of `sizes[1]` and `sizes[2]`
    dimensions; an empty group becomes a dimension of extent 1. Raises Refused."""
    batch, first, second = sizes
    if first == 0:
        x = move(f, x, "unsqueeze", batch)
    if second == 0:
        x = move(f, x, "unsqueeze", len(shape(x)))
    if first <= 1 and second <= 1:
        return x
    extents, middle = shape(x), batch + max(first, 1)
    groups = [[e] for e in extents[:batch]] + [extents[batch:middle], extents[middle:]]
    folded = tuple(-1 if None in group else math.prod(e or 0 for e in group) for group in groups)
    if not is_ragged(x):
        return op(f, "reshape", [x], {"shape": folded})
    if folded.count(-1) > 1:
        raise Refused("this `einsum` of tensors whose extents vary is not in the language", "write the product with @ and sum")
    return call_operation(f, "reshape", CallArguments("reshape", [x, *map(Static, folded)], {}))
