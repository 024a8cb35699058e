"""The operations of the core IR on values of the host, which are numbers and lists: the type rule of each, and its meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backends.acrobat.core.messages import raise_encoded
from backends.acrobat.core.operands import ShapeError, text
from backends.acrobat.core.texts import TEXT, numbers_alone_do_not_tell
from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, ScalarT, TupleT, Type


@dataclass(frozen=True, slots=True)
class HostDef:
    """An operation on host values; `infer(arg types)` raises ShapeError, `evaluate(*args)` has Python's meaning."""

    name: str
    infer: Callable[[Sequence[Type]], Type]
    evaluate: Callable[..., Any]


def _host_type(op: str, operands: str, result: Callable[[Sequence[Type]], Type]) -> Callable[[Sequence[Type]], Type]:
    """A type rule. `operands` has a letter for each: s scalar, i int or bool, l list, x anything; a `*` repeats the last."""

    def fits(t: Type, kind: str) -> bool:
        match kind:
            case "s":
                return isinstance(t, ScalarT)
            case "i":
                return t in (INT, BOOL)
            case "l":
                return isinstance(t, ListT)
        return True

    def infer(types: Sequence[Type]) -> Type:
        kinds = operands.rstrip("*")
        if operands.endswith("*"):
            kinds += kinds[-1] * (len(types) - len(kinds))
        if len(kinds) != len(types) or not all(map(fits, types, kinds)):
            raise ShapeError(f"{op} does not take ({text(types)})")
        return result(types)

    return infer


def _number(types: Sequence[Type]) -> Type:
    return FLOAT if FLOAT in types else INT


def _item(types: Sequence[Type]) -> Type:
    assert isinstance(types[0], ListT)
    return types[0].item


def _concat_type(types: Sequence[Type]) -> Type:
    if types[0] != types[1]:
        raise ShapeError("list.concat: the lists have items of different types")
    return types[0]


def _append_type(types: Sequence[Type]) -> Type:
    if _item(types) != types[1]:
        raise ShapeError("list.append: the list's items have another type")
    return types[0]


def _zip_type(types: Sequence[Type]) -> Type:
    return ListT(TupleT(tuple(_item([t]) for t in types)))


def _parallel_type(types: Sequence[Type]) -> Type:
    if len(types) == 1 and not isinstance(types[0], ListT):
        raise ShapeError(f"parallel takes several values or one list, got ({text(types)})")
    return types[0] if len(types) == 1 else TupleT(tuple(types))


def _order_type(types: Sequence[Type]) -> Type:
    if not isinstance(_item(types), ScalarT):
        raise ShapeError(f"list.order and list.top take a list of numbers, got ({text(types)})")
    return ListT(INT)


def order(keys: Sequence[float], descending: bool) -> list[int]:
    """The indices that sort `keys`: stably, and with NaN above all numbers, as in PyTorch."""

    def rank(i: int) -> tuple[bool, float]:
        is_nan = keys[i] != keys[i]
        return is_nan, 0 if is_nan else keys[i]

    return sorted(range(len(keys)), key=rank, reverse=bool(descending))


def float32(number: float) -> float:
    """`number` rounded to float32, as torch rounds a number that it compares with a tensor."""
    with np.errstate(over="ignore"):
        return float(np.asarray(number).astype(np.float32))


def _from_start(index: int) -> int:
    if index < 0:
        raise IndexError(f"index {index} is out of range: the index of an embedding does not count from the end")
    return index


_OF_ANGLES = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
MATH = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    *_OF_ANGLES,
    "erf",
    "erfc",
    "asinh",
    "acosh",
    "atanh",
    "cbrt",
    "exp2",
)
"""The functions of Python's `math` that are operations of the host: from a number to a float. They raise where Python does."""
MATH_OF_TWO = ("pow", "hypot", "atan2", "fmod", "remainder")
"""Those of two numbers."""

_HOST: list[tuple[str, str, Callable[[Sequence[Type]], Type], Callable[..., Any]]] = [
    ("add", "ss", _number, lambda a, b: a + b),
    ("sub", "ss", _number, lambda a, b: a - b),
    ("mul", "ss", _number, lambda a, b: a * b),
    ("div", "ss", lambda t: FLOAT, lambda a, b: a / b),
    ("floordiv", "ss", _number, lambda a, b: a // b),
    ("mod", "ss", _number, lambda a, b: a % b),
    ("neg", "s", _number, lambda a: -a),
    ("square", "s", lambda t: FLOAT, lambda a: float(a) ** 2),
    ("abs", "s", _number, abs),
    ("min", "ss", _number, min),
    ("max", "ss", _number, max),
    ("bitand", "ii", lambda t: INT, lambda a, b: a & b),
    ("bitor", "ii", lambda t: INT, lambda a, b: a | b),
    ("bitxor", "ii", lambda t: INT, lambda a, b: a ^ b),
    ("shl", "ii", lambda t: INT, lambda a, b: a << b),
    ("shr", "ii", lambda t: INT, lambda a, b: a >> b),
    ("eq", "ss", lambda t: BOOL, lambda a, b: a == b),
    ("ne", "ss", lambda t: BOOL, lambda a, b: a != b),
    ("lt", "ss", lambda t: BOOL, lambda a, b: a < b),
    ("le", "ss", lambda t: BOOL, lambda a, b: a <= b),
    ("gt", "ss", lambda t: BOOL, lambda a, b: a > b),
    ("ge", "ss", lambda t: BOOL, lambda a, b: a >= b),
    ("not", "s", lambda t: BOOL, lambda a: not a),
    ("int", "s", lambda t: INT, int),
    ("float", "s", lambda t: FLOAT, float),
    ("bool", "s", lambda t: BOOL, bool),
    ("float32", "s", lambda t: FLOAT, float32),
    *((f"math.{name}", "s", lambda t: FLOAT, getattr(math, name)) for name in MATH),
    *((f"math.{name}", "ss", lambda t: FLOAT, getattr(math, name)) for name in MATH_OF_TWO),
    ("from_start", "i", lambda t: INT, _from_start),
    ("list.len", "l", lambda t: INT, len),
    ("list.get", "li", _item, lambda xs, i: xs[i]),
    ("list.slice", "lii", lambda t: t[0], lambda xs, start, stop: xs[start:stop]),
    ("list.reverse", "l", lambda t: t[0], lambda xs: xs[::-1]),
    ("list.concat", "ll", _concat_type, lambda xs, ys: [*xs, *ys]),
    ("list.append", "lx", _append_type, lambda xs, x: [*xs, x]),
    ("list.order", "li", _order_type, order),
    ("list.top", "li", _order_type, lambda keys, count: order(keys, True)[: max(count, 0)]),
    ("range", "iii", lambda t: ListT(INT), lambda start, stop, step: list(range(start, stop, step))),
    ("zip", "l*", _zip_type, lambda *lists: list(zip(*lists, strict=False))),
    ("enumerate", "l", lambda t: ListT(TupleT((INT, _item(t)))), lambda xs: list(enumerate(xs))),
    # Strings have numbers; who evaluates these knows which (`core.texts.evaluate_text`).
    *(
        (op, text_op.operands, lambda t, text_op=text_op: text_op.result, numbers_alone_do_not_tell)
        for op, text_op in TEXT.items()
    ),
    # Raises an error of the model: the operands are the number of its text (`core.messages`) and the values in the text.
    ("fail", "s*", lambda t: INT, raise_encoded),
    # The language's annotations: identities, which say when work runs and what is independent.
    ("phase", "x", lambda t: t[0], lambda x: x),
    ("parallel", "x*", _parallel_type, lambda *xs: xs[0] if len(xs) == 1 else xs),
]
HOST: dict[str, HostDef] = {
    name: HostDef(name, _host_type(name, operands, result), meaning) for name, operands, result, meaning in _HOST
}


def infer_host(op: str, types: Sequence[Type]) -> Type:
    """The result type of a host operation. Raises ShapeError."""
    if op not in HOST:
        raise ShapeError(f"there is no host operation {op!r}")
    return HOST[op].infer(types)
