"""Tensors of ints, which the host has as a list of all, maybe with dimensions of extent 1 around it; an extent that is known
stands in the type (`ListT.extent`). Their shape changes by taking the ints one after another and arranging them anew.

An int that is an element of such a tensor is a number of the host, `torch.tensor(i)` is a `Held("index")`, and a tensor of ints
written out is a `Held("ids")`. Of a `Held("loose")`, a tensor of one int, the rank differs from round to round of a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, INT, ListT, ScalarT, TensorT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import length, of_size
from backends.acrobat.frontend.evaluator.lists.mapping import flattened, mapped
from backends.acrobat.frontend.evaluator.tables import COERCIONS
from backends.acrobat.frontend.kinds import is_list, is_number, is_ragged, is_tensor, is_unknown, known, retyped, type_or_none
from backends.acrobat.frontend.tensor_types import LOOSE, innermost, ints_of_shape, shape_of_ints
from backends.acrobat.frontend.tensors.broadcasting import broadcast_in
from backends.acrobat.frontend.tensors.fixing import only_element, several, with_check
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    dim_of,
    elementwise,
    extent_of,
    is_numbers,
    item,
    op,
    over_rows,
    shape,
    stack_parts,
)
from backends.acrobat.frontend.values import HELD, VARIABLES, Dyn, Held, Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import moving

HELD["loose"] = "a tensor of an int whose rank differs from round to round is reshaped first, or is an index"
VARIABLES.add("loose")


def is_ints(value: Any) -> bool:
    """Whether a value is a tensor of ints that the host has, or an int that may be an element of one."""
    if isinstance(value, Held):
        return value.kind in ("index", "ids", "loose")
    return not is_tensor(value) and shape_of_ints(type_or_none(value)) is not None


def listed_ids(f: Frame, x: Any) -> Any:
    """A list of ints that are known at compile time, as a tensor of ints that is written out; any other value as it is. Raises
    Refused for bools, which would be a mask."""
    of_list = isinstance(x, Static) and isinstance(x.value, list) or is_list(x)
    items = f.static_list(x) if of_list else x
    if not of_list or not isinstance(items, TupleV) or not items.items or not all(known(v)[0] for v in items.items):
        return x
    if any(isinstance(known(v)[1], bool) for v in items.items):
        raise Refused("a list of bools is no index here", "make a mask of it, with `torch.tensor(...)`")
    return Held("ids", items) if all(isinstance(known(v)[1], int) for v in items.items) else x


def elements(f: Frame, x: Any) -> Any:
    """The ints of a tensor of ints one after another, as a list. For a computed tensor the instance waits."""
    match x:
        case Held("ids", TupleV(items)):
            return _list_of_ints(f, list(items))
        case Held("index" | "loose", inner):
            return _list_of_ints(f, [inner])
    if is_tensor(x):
        flat = op(f, "reshape", [x], {"shape": (x.type.size,)})
        parts = [op(f, "index", [flat], {"dim": 0, "i": i}) for i in range(x.type.size)]
        return _list_of_ints(f, [f.host("int", [item(f, p, "index")], INT) for p in parts])
    if not is_ragged(x):
        return _list_of_ints(f, [x])
    if is_numbers(x):
        return retyped(x, ListT(INT))
    return flattened(f, mapped(f, [as_rows(f, x, 0)], lambda row: elements(f, row)))


def _list_of_ints(f: Frame, items: list[Value]) -> Dyn:
    return f.bind(n.ListOf(tuple(f.atom(v) for v in items), ListT(INT), span=f.span), "ints")


def arranged(f: Frame, flat: Any, extents: Sequence[Any]) -> Value:
    """The tensor of ints of this shape whose elements one after another are `flat`. An extent is an int, or a value of the
    program."""
    if is_unknown(flat):
        return flat
    if not extents:
        return f.host("list.get", [flat, Static(0)], INT, "element")
    if sum(e != 1 for e in extents) > 1:
        raise Refused("a tensor of ints keeps one dimension, and others of extent 1, when its shape is changed")
    return retyped(flat, ints_of_shape(tuple(e if isinstance(e, int) else None for e in extents)))


def extents_of(f: Frame, x: Any) -> list[Any]:
    """The shape of a tensor of ints; values of the program where extents are not known."""
    match x:
        case Held("ids", TupleV(items)):
            return [len(items)]
        case Held("loose"):
            raise Refused(HELD["loose"])
    if not is_ragged(x):
        return list(shape_of_ints(type_or_none(x)) or ())
    return [extent_of(f, x, d) if e is None else e for d, e in enumerate(shape(x))]


def reshaped(f: Frame, x: Any, extents: Sequence[Any]) -> Value:
    """`x.view(wanted)` of a tensor of ints; one extent may be -1, others may be known at run time only."""
    flat = elements(f, x)
    sizes = [known(e)[1] if known(e)[0] else e for e in extents]
    if -1 in sizes:
        at, rest = sizes.index(-1), [e for e in sizes if e != -1]
        have = [1] if isinstance(x, Held) and x.kind == "loose" else extents_of(f, x)
        if all(isinstance(e, int) for e in (*have, *rest)):
            sizes[at] = _product(have) // max(_product(rest), 1)
        else:
            count: Value = length(f, flat)
            for e in rest:
                count = count if e == 1 else f.host("floordiv", [count, Static(e) if isinstance(e, int) else e], INT)
            sizes[at] = count
    elif not is_unknown(flat) and not all(isinstance(e, int) for e in extents_of(f, x)):
        flat = _of_product(f, flat, sizes)
    large = [e for e in sizes if e != 1]
    if len(large) == 2 and not is_unknown(flat):
        counts = [Static(e) if isinstance(e, int) else e for e in large]
        groups = f.program.call(f, ast.Pass(), moving.rows_grouped, [flat, *counts], {})
        if is_unknown(groups):
            return unknown()
        grouped: Value = retyped(groups, ints_of_shape(tuple(e if isinstance(e, int) else None for e in large)))  # type: ignore[arg-type]
        for d, e in enumerate(sizes):
            grouped = with_dimension(f, grouped, d) if e == 1 else grouped
        return grouped
    return arranged(f, flat, sizes)


def _of_product(f: Frame, flat: Any, sizes: Sequence[Any]) -> Any:
    """The ints `flat`, whose number varies, where there are as many as a tensor of these extents has: any other number is an
    error of the instance."""
    runtime = [e for e in sizes if not isinstance(e, int)]
    whole = _product([e for e in sizes if isinstance(e, int)])
    if not runtime:
        text = f"RuntimeError: a tensor has {{0}} elements, not {whole}, as the shape {tuple(sizes)} takes them"
        return with_check(f, "eq", length(f, flat), Static(whole), text, lambda: flat)
    return of_size(f, flat, runtime[0]) if len(runtime) == whole == 1 else flat


def _product(numbers: Sequence[int]) -> int:
    out = 1
    for e in numbers:
        out *= e
    return out


def with_dimension(f: Frame, x: Any, dim: int) -> Value:
    """`x.unsqueeze(dim)`, for a dimension that is not negative."""
    if is_ragged(x) and not is_numbers(x):  # several extents above 1
        return stack_parts(f, [x], dim)
    have = extents_of(f, x)
    return arranged(f, elements(f, x), [*have[:dim], 1, *have[dim:]])


def whole(f: Frame, x: Any) -> Any:
    """A tensor of ints that is written out as one of the program; any other value as it is."""
    return Dyn(f.atom(x)) if isinstance(x, Held) and x.kind == "ids" else x


def rows_of(f: Frame, x: Any) -> Any:
    """The parts of a tensor of ints along its first dimension as a list of tensors of ints, of one dimension less each."""
    rows = as_rows(f, x, 0)
    units = x.type.units if axis(x) == 0 else 0
    if not units or is_unknown(rows):
        return rows
    return mapped(f, [rows], lambda i: arranged(f, elements(f, i), [1] * units))


def on_host(f: Frame, x: Any) -> Any:
    """A tensor of ints as the host has it; for a computed one the instance waits."""
    if is_ragged(x) and not is_numbers(x) and axis(x) != 0:  # several extents above 1: the first is the outermost list
        return f.coerce(x, ints_of_shape(shape(x)))
    return arranged(f, elements(f, x), list(x.type.shape)) if is_tensor(x) else whole(f, x)


def on_host_in_parts(f: Frame, x: Any) -> Value:
    """As `on_host`, with a row of several extents that vary by itself, and a tensor of one int as that int."""
    if is_ragged(x) and not is_numbers(x):
        return over_rows(f, x, axis(x), lambda part: on_host_in_parts(f, part))
    return one(f, x) if isinstance(x, Held) and x.kind != "ids" or not shape(x) and not is_number(x) else on_host(f, x)


def computed(value: Any) -> bool:
    """Whether a value is a tensor of ints that kernels have computed, as `argmax` does."""
    return (is_tensor(value) or is_ragged(value)) and getattr(innermost(value.type), "dtype", "") == "int64"


ARITHMETIC = {"add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "floordiv": "floordiv"}
ARITHMETIC |= {"floor_divide": "floordiv", "mod": "mod", "remainder": "mod", "maximum": "max", "minimum": "min"}
ARITHMETIC |= {"bitand": "bitand", "bitor": "bitor", "bitxor": "bitxor", "shl": "shl", "shr": "shr"}
ARITHMETIC |= {"bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor"}
"""The operations of two tensors of ints that give ints -> those of the host."""


def arithmetic(f: Frame, name: str, a: Any, b: Any) -> Value | None:
    """`a + b` and the like of tensors of ints, or of one and an int; None for other operations and values. For tensors of ints
    that were computed the instance waits."""
    if name not in ARITHMETIC or any(map(is_unknown, (a, b))):
        return None
    if not all(is_ints(v) or computed(v) or isinstance(known(v)[1], int) and not isinstance(known(v)[1], bool) for v in (a, b)):
        return None

    def work(values: Sequence[Value]) -> Value:
        return f.host(ARITHMETIC[name], list(values), INT)

    sides = [
        on_host_in_parts(f, v) if computed(v) or isinstance(v, Held) and v.kind == "index" else on_host(f, v) for v in (a, b)
    ]
    if any(isinstance(v, Held) for v in sides):
        return None
    result = elementwise(f, sides, work, broadcast_in(f, sides))
    return result if is_ragged(result) else Held("index", result)


# ---- operations that move elements: the entries of `MOVES` take the call's arguments behind the tensor


def _view(f: Frame, x: Any, call: CallArguments) -> Value:
    return reshaped(f, x, f.spread([*call.args[1:], *call.kwargs.values()]))


def _flatten(f: Frame, x: Any, call: CallArguments) -> Value:
    _, start, end = call.bind("input", "start_dim", "end_dim", start_dim=Static(0), end_dim=Static(-1))
    have = [1] if isinstance(x, Held) and x.kind == "loose" else extents_of(f, x) or [1]
    first, last = (dim_of(d, len(have), call.name) for d in (start, end))
    joined = have[first : last + 1]
    if all(isinstance(e, int) for e in joined):
        size: Any = _product(joined)
    else:
        wider = [e for e in joined if e != 1]
        size = wider[0] if len(wider) == 1 else length(f, elements(f, x)) if len(joined) == len(have) else None
    if size is None:
        raise Refused("`flatten` of some of the dimensions of such a tensor of ints is not in the language", "write a view")
    return arranged(f, elements(f, x), [*have[:first], size, *have[last + 1 :]])


def _unsqueeze(f: Frame, x: Any, call: CallArguments) -> Value:
    _, dim = call.bind("input", "dim")
    return with_dimension(f, x, dim_of(dim, len(extents_of(f, x)), call.name, extra=1))


def _squeeze(f: Frame, x: Any, call: CallArguments) -> Value:
    if isinstance(x, Held) and x.kind == "loose":
        return x
    _, dim = call.bind("input", "dim", dim=None)
    have = extents_of(f, x)
    if dim is None and len(have) > 1:
        for e in have:
            if not isinstance(e, int):
                several(f, e)
    dropped = [d for d, e in enumerate(have) if e == 1] if dim is None else [dim_of(dim, len(have), call.name)]
    return arranged(f, elements(f, x), [e for d, e in enumerate(have) if d not in dropped or e != 1])


def _same(f: Frame, x: Any, call: CallArguments) -> Value:
    return x


def _item(f: Frame, x: Any, call: CallArguments) -> Value:
    return only_element(f, x) if is_ragged(x) and any(e != 1 for e in shape(x)) else one(f, x)


def one(f: Frame, x: Any) -> Value:
    """The int of a tensor of one int."""
    return f.host("list.get", [elements(f, x), Static(0)], INT, "element")


def _bool(f: Frame, x: Any, call: CallArguments) -> Value | None:
    """`x.bool()` of a tensor of one int without dimensions; of others it is found as that of any tensor of ints."""
    number = x.value if isinstance(x, Held) and x.kind == "index" else x
    if is_number(number):
        return f.host("ne", [number, Static(0)], BOOL)
    call.args[0] = whole(f, x)
    return None


MOVES: dict[str, Callable[[Frame, Any, CallArguments], Value | None]] = {
    "bool": _bool,
    "view": _view,
    "reshape": _view,
    "flatten": _flatten,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "detach": _same,
    "clone": _same,
    "contiguous": _same,
    "cpu": _same,
    "long": _same,
    "int": _same,
    "item": _item,
}


def moved(f: Frame, name: str, call: CallArguments) -> Value | None:
    """What an operation that moves elements, or reads one, makes of a tensor of ints; None for other operations and values."""
    x = call.args[0] if call.args else call.kwargs.get("input")
    if name not in MOVES or not is_ints(x) or is_unknown(x):  # type: ignore[arg-type]
        return None
    if not call.args:
        call.args = [call.kwargs.pop("input")]
    return MOVES[name](f, x, call)


def _as_ints(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """Coercion among tensors of ints: of computed ones, of ones written out, and of extents that are known in one only."""
    if have != LOOSE and shape_of_ints(have) is None or type != LOOSE and shape_of_ints(type) is None:
        return None
    if type == LOOSE:
        return Held("loose", one(f, value))
    if isinstance(type, TensorT) or type != ints_of_shape(shape_of_ints(type) or ()):
        return None
    if is_ragged(value) and len(shape(value)) == 1:
        return retyped(value, type)  # type: ignore[arg-type]
    if is_ragged(value) and isinstance(type, ListT) and not isinstance(type.item, ScalarT):  # several extents above 1
        rows = mapped(f, [rows_of(f, value)], lambda row: f.coerce(row, type.item))
        return retyped(rows, type)
    have_now = [] if have == LOOSE else extents_of(f, value) if not is_tensor(value) else list(have.shape)
    if have != LOOSE and len(have_now) != len(shape_of_ints(type) or ()):
        return None
    result = arranged(f, elements(f, value), have_now)
    return retyped(result, type) if isinstance(result, Dyn) and isinstance(type, ListT) else result


COERCIONS.insert(0, _as_ints)
