"""The op table: meanings against torch in float64, shape rules against the meanings, views against numpy's memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from backends.acrobat.core.host import HOST, MATH, infer_host
from backends.acrobat.core.messages import Message, Messages
from backends.acrobat.core.moves import view_displacement
from backends.acrobat.core.operands import ShapeError
from backends.acrobat.core.ops import LISTS, OPS, Fusion, evaluate, infer
from backends.acrobat.core.texts import TEXT, evaluate_text
from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Lit, Var, Weight

Meaning = Callable[..., torch.Tensor]
Shapes = tuple[tuple[int, ...], ...]

BINARY: dict[str, Meaning] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "less": lambda x, y: (x < y).double(),
    "less_equal": lambda x, y: (x <= y).double(),
    "equal": lambda x, y: (x == y).double(),
}
UNARY: dict[str, Meaning] = {
    "neg": torch.neg,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": F.gelu,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "floor": torch.floor,
    "sin": torch.sin,
    "cos": torch.cos,
}
OTHERS: list[tuple[str, Shapes, dict[str, Any], Meaning]] = [
    ("linear", ((3,), (5, 3)), {}, F.linear),
    ("linear", ((2, 4, 3), (5, 3), (5,)), {}, F.linear),
    ("cat", ((2, 3), (4, 3), (1, 3)), {"dim": 0}, lambda *xs: torch.cat(xs, 0)),
    ("cat", ((2, 3), (2, 1)), {"dim": 1}, lambda *xs: torch.cat(xs, 1)),
    ("stack", ((2, 3), (2, 3)), {"dim": 0}, lambda *xs: torch.stack(xs, 0)),
    ("stack", ((2, 3), (2, 3), (2, 3)), {"dim": 2}, lambda *xs: torch.stack(xs, 2)),
    ("slice", ((4, 5),), {"dim": 1, "start": 1, "stop": 4}, lambda x: x[:, 1:4]),
    ("slice", ((4,),), {"dim": 0, "start": 2, "stop": 2}, lambda x: x[2:2]),
    ("index", ((4, 5),), {"dim": 0, "i": 3}, lambda x: x[3]),
    ("index", ((4, 5),), {"dim": 1, "i": 0}, lambda x: x[:, 0]),
    ("reshape", ((4, 6),), {"shape": (3, 8)}, lambda x: x.reshape(3, 8)),
    ("reshape", ((1, 1),), {"shape": ()}, lambda x: x.reshape(())),
    ("permute", ((2, 3, 4),), {"dims": (2, 0, 1)}, lambda x: x.permute(2, 0, 1)),
    ("softmax", ((3, 4),), {"dim": 0}, lambda x: x.softmax(0)),
    ("softmax", ((3, 4),), {"dim": 1}, lambda x: x.softmax(1)),
    ("argmax", ((3, 4),), {"dim": 1}, lambda x: x.argmax(1)),
    ("argmax", ((3, 4),), {"dim": 0, "keepdim": True}, lambda x: x.argmax(0, keepdim=True)),
    ("layer_norm", ((3, 4), (4,), (4,)), {"eps": 1e-3}, lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-3)),
    ("sum", ((3, 4),), {"dim": 0}, lambda x: x.sum(0)),
    ("sum", ((3, 4),), {"dim": 1, "keepdim": True}, lambda x: x.sum(1, keepdim=True)),
    ("mean", ((3, 4),), {"dim": 0, "keepdim": False}, lambda x: x.mean(0)),
    ("mean", ((3, 4),), {"dim": 1, "keepdim": True}, lambda x: x.mean(1, keepdim=True)),
    ("max", ((3, 4),), {"dim": 1}, lambda x: x.max(1).values),
    ("max", ((3, 4),), {"dim": 0, "keepdim": True}, lambda x: x.max(0, keepdim=True).values),
    ("full", (), {"shape": (2, 3), "value": 1.5}, lambda: torch.full((2, 3), 1.5, dtype=torch.float64)),
    *(
        ("matmul", (a, b), {}, torch.matmul)
        for a, b in [
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 4)),
            ((2, 3), (3, 4)),
            ((5, 2, 3), (3, 4)),
            ((5, 1, 2, 3), (6, 3, 4)),
        ]
    ),
    *(
        (op, shapes, {}, f)
        for op, f in BINARY.items()
        for shapes in [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2,))]
    ),
    ("where", ((3, 1), (4,), (3, 4)), {}, lambda mask, x, y: torch.where(mask != 0, x, y)),
    *((op, shapes, {}, f) for op, f in UNARY.items() for shapes in [((3, 4),), ((),)]),
]


def tensors(op: str, shapes: Shapes) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.normal(size=shape)) for shape in shapes]
    return [np.asarray(np.abs(a) + 0.1) for a in arrays] if op in ("log", "sqrt") else arrays


@pytest.mark.parametrize(("op", "shapes", "attrs", "meaning"), OTHERS)
def test_meaning_and_type(op: str, shapes: Shapes, attrs: dict[str, Any], meaning: Meaning) -> None:
    arrays = tensors(op, shapes)
    wanted = meaning(*map(torch.from_numpy, arrays))
    t = infer(op, [TensorT(s) for s in shapes], attrs)
    assert t == TensorT(tuple(wanted.shape), "int64" if wanted.dtype == torch.int64 else "float32")
    np.testing.assert_allclose(evaluate(op, arrays, attrs, t), wanted.numpy(), rtol=1e-12, atol=1e-14)


def test_every_operation_is_tested() -> None:
    assert set(OPS) == {op for op, *_ in OTHERS} | {"row", "lookup", "scalar"} | LISTS
    assert all(name == d.name for name, d in OPS.items())


@pytest.mark.parametrize("op", list(BINARY))
@pytest.mark.parametrize("literal", [2, -1.5, True])
def test_literals(op: str, literal: float) -> None:
    (x,) = tensors(op, ((3, 2),))
    kind = ScalarT(type(literal).__name__)  # type: ignore[arg-type]
    t = infer(op, [TensorT((3, 2)), kind], {})
    assert t == infer(op, [kind, TensorT((3, 2))], {}) == TensorT((3, 2))
    y = torch.full((3, 2), float(literal), dtype=torch.float64)
    np.testing.assert_allclose(evaluate(op, [x, literal], {}, t), BINARY[op](torch.from_numpy(x), y))
    np.testing.assert_allclose(evaluate(op, [literal, x], {}, t), BINARY[op](y, torch.from_numpy(x)))


def test_lookup() -> None:
    table, other = np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2)
    t = infer("lookup", [TensorT((3,)), TensorT((4, 3)), TensorT((4, 2))], {})
    assert t == TensorT((2,))
    assert evaluate("lookup", [table[2], table, other], {}, t).tolist() == [4, 5]
    with pytest.raises(ValueError, match="no row of its table"):
        evaluate("lookup", [table[2] + 1, table, other], {}, t)
    for types in ([V, TensorT((4, 2)), TensorT((4, 2))], [TensorT((3,)), TensorT((4, 3)), TensorT((5, 2))]):
        with pytest.raises(ShapeError, match="lookup needs a row of a table"):
            infer("lookup", types, {})


def test_rows() -> None:
    table = np.arange(12.0).reshape(4, 3)
    t = infer("row", [TensorT((4, 3)), INT], {})
    assert t == TensorT((3,))
    assert evaluate("row", [table, 1], {}, t).tolist() == [3, 4, 5]
    assert evaluate("row", [table, -1], {}, t).tolist() == [9, 10, 11]
    for i in (4, -5):
        with pytest.raises(IndexError, match=f"index {i} is out of range: the table has 4 rows"):
            evaluate("row", [table, i], {}, t)


def test_scalars() -> None:
    for value, kind in ((3, INT), (0.5, FLOAT), (True, BOOL)):
        t = infer("scalar", [kind], {})
        assert t == TensorT(()) and evaluate("scalar", [value], {}, t) == float(value)


@pytest.mark.parametrize(
    ("op", "meaning", "of_none", "word"),
    [
        ("list_sum", torch.sum, 0.0, "sum"),
        ("list_max", torch.amax, -math.inf, "maximum"),
        ("list_min", torch.amin, math.inf, "minimum"),
    ],
)
def test_reductions_of_lists(op: str, meaning: Meaning, of_none: float, word: str) -> None:
    t = infer(op, [ListT(TensorT((2, 2)))], {"nonempty": True})
    assert t == TensorT((2, 2))
    items = tensors(op, ((2, 2),) * 3)
    wanted = meaning(torch.from_numpy(np.stack(items)), 0)
    np.testing.assert_allclose(evaluate(op, [items], {"nonempty": True}, t), wanted.numpy())
    np.testing.assert_array_equal(evaluate(op, [[]], {"nonempty": False}, t), np.full((2, 2), of_none))
    with pytest.raises(ValueError, match=f"the {word} of an empty list"):
        evaluate(op, [[]], {"nonempty": True}, t)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_attention_over_a_list(size: int) -> None:
    query, *rows = tensors("list_attention", ((2, 3),) + ((2, 3), (2, 4)) * size)
    keys, values = rows[::2], rows[1::2]
    t = infer("list_attention", [TensorT((2, 3)), ListT(TensorT((2, 3))), ListT(TensorT((2, 4)))], {"scale": 0.5})
    assert t == TensorT((2, 4))
    k = torch.from_numpy(np.array(keys).reshape(size, 2, 3)).transpose(0, 1)
    v = torch.from_numpy(np.array(values).reshape(size, 2, 4)).transpose(0, 1)
    scores = 0.5 * (torch.from_numpy(query).unsqueeze(1) @ k.transpose(1, 2))
    wanted = (torch.softmax(scores, -1) @ v).squeeze(1)
    np.testing.assert_allclose(evaluate("list_attention", [query, keys, values], {"scale": 0.5}, t), wanted.numpy())
    alone = [s.numpy().reshape(2, 1) for s in scores[:, 0].unbind(1)]
    u = infer("list_softmax", [ListT(TensorT((2, 1))), ListT(TensorT((2, 4)))], {})
    np.testing.assert_allclose(evaluate("list_softmax", [alone, values], {}, u), wanted.numpy())


def test_extremes_do_not_warn() -> None:
    x = np.array([-1000.0, 0.0, 1000.0])
    t = TensorT((3,))
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        assert evaluate("sigmoid", [x], {}, t).tolist() == [0, 0.5, 1]
        assert evaluate("exp", [x], {}, t).tolist() == [0, 1, math.inf]
        assert np.isnan(evaluate("log", [x], {}, t)[0])
        np.testing.assert_allclose(evaluate("softmax", [x], {"dim": 0}, t), [0, 0, 1])


V, M, I8 = TensorT((4,)), TensorT((3, 4)), TensorT((4,), "int64")


@pytest.mark.parametrize(
    ("op", "types", "attrs", "message"),
    [
        ("add", [V, TensorT((3,))], {}, r"add: the shapes \(4,\), \(3,\) do not broadcast"),
        ("add", [V], {}, "add takes 2 operands, got 1"),
        ("add", [INT, INT], {}, r"add needs tensors or numbers, got \(int, int\)"),
        ("add", [V, ListT(V)], {}, "needs tensors or numbers"),
        ("mul", [V, I8], {}, "mul needs float32 operands, got int64"),
        ("tanh", [V, V], {}, "tanh takes 1 operand, got 2"),
        ("linear", [V, TensorT((4, 3))], {}, r"linear: an input of shape \(4,\) does not fit a weight of shape \(4, 3\)"),
        ("linear", [V, M, V], {}, r"a bias of shape \(4,\) does not fit a weight of shape \(3, 4\)"),
        ("linear", [V, M, TensorT((3,)), V], {}, "linear takes 3 operands, got 4"),
        ("linear", [V, M, INT], {}, "linear needs a tensor as operand 3"),
        ("linear", [TensorT(()), M], {}, "does not fit a weight"),
        ("matmul", [M, M], {}, r"matmul: the shapes \(3, 4\) and \(3, 4\) do not fit"),
        ("matmul", [TensorT(()), V], {}, "do not fit"),
        ("matmul", [TensorT((2, 3, 4)), TensorT((5, 4, 3))], {}, "do not fit"),
        ("cat", [M, V], {"dim": 0}, "differ elsewhere"),
        ("cat", [V, V], {"dim": 1}, "there is no dimension 1"),
        ("cat", [V, V], {"dim": -1}, "there is no dimension -1"),
        ("cat", [V, I8], {"dim": 0}, "do not mix"),
        ("cat", [], {"dim": 0}, "cat needs a tensor as operand 1"),
        ("stack", [M, V], {"dim": 0}, "differ"),
        ("stack", [V, V], {"dim": 2}, r"shape \(4,\) has no place for a new dimension 2"),
        ("slice", [V], {"dim": 0, "start": 2, "stop": 5}, r"slice 2:5 of dimension 0 does not lie in shape \(4,\)"),
        ("slice", [V], {"dim": 0, "start": 3, "stop": 2}, "does not lie"),
        ("slice", [V], {"dim": 0, "start": 3}, "slice needs the attribute 'stop'"),
        ("index", [V], {"dim": 0, "i": 4}, "index 4 of dimension 0 does not lie"),
        ("index", [V], {"dim": 1, "i": 0}, "index 0 of dimension 1 does not lie"),
        ("reshape", [V], {"shape": (3, 2)}, r"\(4,\) has 4 elements, \(3, 2\) has 6"),
        ("reshape", [V], {"shape": (-2, -2)}, "reshape"),
        ("permute", [M], {"dims": (0, 0)}, "no permutation"),
        ("softmax", [V], {"dim": 1}, "nothing along dimension 1"),
        ("max", [TensorT((0,))], {"dim": 0}, "nothing along dimension 0"),
        ("argmax", [I8], {"dim": 0}, "needs float32"),
        ("layer_norm", [M, V, TensorT((3,))], {"eps": 1e-5}, "the length of the last dimension"),
        ("layer_norm", [M, V], {"eps": 1e-5}, "takes 3 operands"),
        ("list_sum", [V], {}, "needs a list of tensors"),
        ("list_sum", [ListT(INT)], {}, "needs a list of tensors"),
        ("list_softmax", [ListT(V), ListT(TensorT((3, 4)))], {}, "not one for each of the first dimensions"),
        ("list_attention", [V, ListT(V), ListT(M)], {"scale": 1.0}, "does not fit keys"),
        ("row", [V, FLOAT], {}, r"row needs a table and an int, got \(\(4,\), float\)"),
        ("row", [TensorT(()), INT], {}, "needs a table"),
        ("scalar", [V], {}, "needs a host number"),
        ("full", [], {"shape": (-1,), "value": 0}, "full takes"),
        ("full", [V], {"shape": (1,), "value": 0}, "full takes no operands"),
        ("conv", [V], {}, "there is no operation 'conv'"),
    ],
)
def test_what_does_not_fit(op: str, types: list[Type], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        infer(op, types, attrs)


def test_integers_are_moved_as_they_are() -> None:
    assert infer("cat", [I8, I8], {"dim": 0}) == TensorT((8,), "int64")
    assert infer("stack", [I8, I8], {"dim": 0}) == TensorT((2, 4), "int64")
    assert infer("slice", [I8], {"dim": 0, "start": 0, "stop": 2}) == TensorT((2,), "int64")
    assert infer("index", [I8], {"dim": 0, "i": 1}) == TensorT((), "int64")
    assert infer("reshape", [I8], {"shape": (2, 2)}) == TensorT((2, 2), "int64")
    assert infer("permute", [I8], {"dims": (0,)}) == I8


def test_nodes_have_their_attributes_in_order() -> None:
    x, w = Var("x", V), Weight("w", M)
    op = make_op("slice", [x], {"stop": 3, "dim": 0, "start": 1})
    assert op.attrs == (("dim", 0), ("start", 1), ("stop", 3)) and op.type == TensorT((2,))
    assert make_op("reshape", [x], {"shape": [2, 2]}).attrs == (("shape", (2, 2)),)
    assert make_op("linear", [x, w]).type == TensorT((3,))
    assert make_op("mul", [x, Lit(2, INT)]).args == (x, Lit(2, INT))
    with pytest.raises(ShapeError):
        make_op("linear", [w, x])


# ---- views

SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@st.composite
def moves(draw: st.DrawFn) -> tuple[str, tuple[int, ...], dict[str, Any]]:
    shape = draw(SHAPES)
    op = draw(st.sampled_from(["slice", "index", "permute", "reshape"] if shape else ["reshape", "permute"]))
    if op == "permute":
        return op, shape, {"dims": tuple(draw(st.permutations(range(len(shape)))))}
    if op == "reshape":
        return op, shape, {"shape": (math.prod(shape),)}
    dim = draw(st.integers(0, len(shape) - 1))
    start = draw(st.integers(0, shape[dim] - 1))
    if op == "index":
        return op, shape, {"dim": dim, "i": start}
    return op, shape, {"dim": dim, "start": start, "stop": draw(st.integers(start + 1, shape[dim]))}


@given(moves(), st.sampled_from(["float32", "int64"]))
def test_views_are_what_lies_contiguously(move: tuple[str, tuple[int, ...], dict[str, Any]], dtype: Any) -> None:
    op, shape, attrs = move
    memory = np.arange(math.prod(shape)).reshape(shape)
    t = TensorT(shape, dtype)
    found = evaluate(op, [memory], attrs, infer(op, [t], attrs)).reshape(-1)
    contiguous = (found == np.arange(found[0], found[0] + len(found))).all()
    unit = 2 if dtype == "int64" else 1
    assert view_displacement(op, [t], attrs) == (found[0] * unit if contiguous else None)


def test_only_moves_of_one_tensor_are_views() -> None:
    assert view_displacement("tanh", [V], {}) is None
    assert view_displacement("cat", [V], {"dim": 0}) is None
    assert view_displacement("row", [M, INT], {}) is None
    assert {n for n, d in OPS.items() if d.fusion is Fusion.MOVE} == {"cat", "stack", "slice", "index", "reshape", "permute"}


# ---- host


@pytest.mark.parametrize(
    ("op", "args", "value", "t"),
    [
        ("add", (2, 3), 5, INT),
        ("add", (2, 0.5), 2.5, FLOAT),
        ("sub", (2, 3), -1, INT),
        ("mul", (2, 3), 6, INT),
        ("div", (1, 2), 0.5, FLOAT),
        ("floordiv", (-7, 2), -4, INT),
        ("floordiv", (7.5, -2), -4.0, FLOAT),
        ("mod", (-7, 3), 2, INT),
        ("mod", (7, -3), -2, INT),
        ("square", (1.5,), 2.25, FLOAT),
        ("square", (2,), 4.0, FLOAT),
        ("neg", (3,), -3, INT),
        ("abs", (-0.5,), 0.5, FLOAT),
        ("min", (2, 1), 1, INT),
        ("max", (2, 1), 2, INT),
        ("bitand", (6, 3), 2, INT),
        ("bitor", (6, 3), 7, INT),
        ("bitxor", (6, 3), 5, INT),
        ("shl", (3, 2), 12, INT),
        ("shr", (-5, 1), -3, INT),
        ("eq", (2, 2), True, BOOL),
        ("ne", (2, 2), False, BOOL),
        ("lt", (1, 2), True, BOOL),
        ("le", (2, 2), True, BOOL),
        ("gt", (1, 2.5), False, BOOL),
        ("ge", (2, 2), True, BOOL),
        ("not", (True,), False, BOOL),
        ("int", (-2.7,), -2, INT),
        ("int", (True,), 1, INT),
        ("float", (2,), 2.0, FLOAT),
        ("bool", (2,), True, BOOL),
        ("float32", (0.5,), 0.5, FLOAT),
        ("float32", (16777217,), 16777216.0, FLOAT),
        ("from_start", (0,), 0, INT),
        ("range", (0, 5, 2), [0, 2, 4], ListT(INT)),
        ("range", (3, 0, -1), [3, 2, 1], ListT(INT)),
        ("list.len", ([4, 5],), 2, INT),
        ("list.get", ([4, 5], -1), 5, INT),
        ("list.slice", ([4, 5, 6], 1, 9), [5, 6], ListT(INT)),
        ("list.reverse", ([4, 5],), [5, 4], ListT(INT)),
        ("list.concat", ([4], [5]), [4, 5], ListT(INT)),
        ("list.append", ([4], 5), [4, 5], ListT(INT)),
        ("list.order", ([5, 4, 5, 6], False), [1, 0, 2, 3], ListT(INT)),
        ("list.order", ([0.5, float("nan"), -0.0, 0.0, float("inf"), float("nan")], True), [1, 5, 4, 0, 2, 3], ListT(INT)),
        ("list.top", ([5, 4, 5, 6], 2), [3, 0], ListT(INT)),
        ("list.top", ([0.5, float("nan"), 0.5], 9), [1, 0, 2], ListT(INT)),
        ("list.top", ([5, 4], -1), [], ListT(INT)),
        ("zip", ([4, 5], [0.5, 1.5, 2.5]), [(4, 0.5), (5, 1.5)], ListT(TupleT((INT, FLOAT)))),
        ("enumerate", ([4, 5],), [(0, 4), (1, 5)], ListT(TupleT((INT, INT)))),
        *((f"math.{name}", (0.5,), getattr(math, name)(0.5), FLOAT) for name in MATH if name != "acosh"),
        ("math.acosh", (1.5,), math.acosh(1.5), FLOAT),
        ("math.log", (4,), math.log(4), FLOAT),
        ("math.pow", (9, 0.5), 3.0, FLOAT),
        ("math.hypot", (3, 4.0), 5.0, FLOAT),
        ("math.atan2", (-1.0, -1), math.atan2(-1, -1), FLOAT),
        ("math.fmod", (-7, 3.0), -1.0, FLOAT),
        ("math.remainder", (8.0, 3), -1.0, FLOAT),
        ("phase", (4,), 4, INT),
        ("phase", ([4, 5],), [4, 5], ListT(INT)),
        ("parallel", (4, 0.5), (4, 0.5), TupleT((INT, FLOAT))),
        ("parallel", ([4, 5],), [4, 5], ListT(INT)),
    ],
)
def test_host_operations(op: str, args: tuple[Any, ...], value: Any, t: Type) -> None:
    found = HOST[op].evaluate(*args)
    assert found == value and type(found) is type(value)
    assert infer_host(op, [type_of(a) for a in args]) == t


def type_of(value: Any) -> Type:
    return ListT(type_of(value[0])) if isinstance(value, list) else ScalarT(type(value).__name__)  # type: ignore[arg-type]


def test_every_host_operation_is_tested() -> None:
    tested = {case[0] for case in test_host_operations.pytestmark[0].args[1]}
    assert set(HOST) == tested | {"fail"} | TEXT.keys()  # `test_operations_on_strings`


TEXTS = ["ab", "a", "b", "12", "", ENUM := object()]
"""What the numbers 0, 1, ... stand for."""


@pytest.mark.parametrize(
    ("op", "args", "value", "operands", "t"),
    [
        ("text.letters", [0], [1, 2], [INT], ListT(INT)),
        ("text.letters", [4], [], [INT], ListT(INT)),
        ("text.joined", [[1, 2]], 0, [ListT(INT)], INT),
        ("text.method", ["upper", 4], 4, [INT, INT], INT),
        ("text.method", ["isdigit", 3], True, [INT, INT], INT),
        ("text.from_int", ["", 12], 3, [INT, INT], INT),
        ("text.from_float", [".0f", 12.2], 3, [INT, FLOAT], INT),
        ("text.from_text", [".2", "abc"], 0, [INT, INT], INT),
        ("text.int", [3], 12, [INT], INT),
        ("text.float", [3], 12.0, [INT], FLOAT),
        ("text.code", [1], 97, [INT], INT),
        ("text.part", [0, 1, 5], 2, [INT, INT, INT], INT),
        ("text.spans", ["(b)|(c)", "finditer", 0, 0], [1, 1, 2, 1, 2, -1, -1], [INT] * 4, ListT(INT)),
        ("text.spans", ["b", "match", 0, 0], [], [INT] * 4, ListT(INT)),
        ("text.spans", ["b", "match", 0, 1], [0, 1, 2], [INT] * 4, ListT(INT)),
        ("text.replaced", ["b", "", 0, 0], 1, [INT] * 4, INT),
    ],
)
def test_operations_on_strings(op: str, args: list[Any], value: Any, operands: list[Type], t: Type) -> None:
    texts = [*TEXTS, *(a for a in args if isinstance(a, str))]
    args = [texts.index(a) if isinstance(a, str) else a for a in args]
    assert evaluate_text(op, args, texts.__getitem__, texts.index) == value
    assert infer_host(op, operands) == t
    with pytest.raises(TypeError, match="`evaluate_text`"):
        HOST[op].evaluate(*args)


def test_what_is_no_string_has_no_letters() -> None:
    for op, number in (("text.letters", TEXTS.index(ENUM)), ("text.int", 1), ("text.code", 0)):
        with pytest.raises(ValueError, match=r"TypeError|invalid literal"):
            evaluate_text(op, [number], TEXTS.__getitem__, TEXTS.index)


def test_fail_tells_its_values_exactly() -> None:
    """`fail` raises a number and exact values as text, and `Messages.decoded` puts them into the model's own error text."""
    messages = Messages(lambda number: ["add", "mul"][number])
    text = Message("model.py:3: ", "ValueError: {0!r} at {1:>4} of {2!r}, {3}", frozenset({0}))
    assert messages.number(Message("", "other")) == 0
    assert messages.number(text) == messages.number(text) == 1
    with pytest.raises(ValueError, match=r"^raised i1 i1 i-2 f0x1") as raised:
        HOST["fail"].evaluate(1, 1, -2, 0.1, True)
    assert messages.decoded(f"instance 4: {raised.value}") == "instance 4: model.py:3: ValueError: 'mul' at   -2 of 0.1, True"
    assert messages.decoded("instance 4: raised by nobody") == "instance 4: raised by nobody"
    assert infer_host("fail", [INT, INT, FLOAT]) == INT


def test_appending_and_joining_leave_the_lists_as_they_are() -> None:
    xs = [1]
    HOST["list.append"].evaluate(xs, 2)
    HOST["list.concat"].evaluate(xs, [2])
    assert xs == [1]


@pytest.mark.parametrize(
    ("op", "types", "message"),
    [
        ("add", [INT], r"add does not take \(int\)"),
        ("add", [V, INT], r"add does not take \(\(4,\), int\)"),
        ("bitand", [INT, FLOAT], "bitand does not take"),
        ("list.len", [INT], "list.len does not take"),
        ("list.get", [ListT(V), FLOAT], "list.get does not take"),
        ("list.append", [ListT(V), INT], "items have another type"),
        ("list.concat", [ListT(V), ListT(INT)], "items of different types"),
        ("range", [INT, INT], "range does not take"),
        ("zip", [ListT(V), INT], "zip does not take"),
        ("eq", [ListT(INT), ListT(INT)], "eq does not take"),
        ("pow", [INT, INT], "there is no host operation 'pow'"),
    ],
)
def test_host_operands_that_do_not_fit(op: str, types: list[Type], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        infer_host(op, types)
