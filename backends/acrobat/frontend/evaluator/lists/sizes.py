"""Lists whose number of elements is known: those that loops of a known number of rounds append to, once in each round."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_list, variable_of
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, is_empty

Size: TypeAlias = "int | tuple[Size, ...]"
"""The number of elements of a list, or such numbers for the components of a tuple; 0 where it is not known."""

LONGEST = 32
"""Of a list with so many elements at most their number is known, so that `torch.stack` of it has a fixed shape."""


def size_of(f: Frame, value: Value | None) -> int | None:
    """The number of elements of a list, tuple or range, if it is known."""
    if value is None:
        return None
    if is_empty(value) or variable_of(value) in f.empties:
        return 0
    if isinstance(value, Static):
        return len(value.value) if isinstance(value.value, (range, list, tuple)) else None
    items = f.display(value)
    return None if items is None else len(items)


def known_size(f: Frame, xs: Dyn) -> int | None:
    """The number of elements of a list of the program, if it is known without computing any of them."""
    if (name := variable_of(xs)) in f.displays:
        return len(f.displays[name])
    size = f.sizes.get(name)
    return size if isinstance(size, int) and size > 0 else None


def sizes_in(f: Frame, value: Value) -> Size:
    """How many elements a list has, or the lists in a tuple have, as far as that is known."""
    if is_list(value):
        size = size_of(f, value) or 0
        return size if size <= LONGEST else 0
    if not isinstance(value, TupleV):
        return 0 if isinstance(value, Static) else f.sizes.get(variable_of(value), 0)
    inside = tuple(sizes_in(f, v) for v in value.items)
    return inside if any(inside) else 0


def common_size(a: Size, b: Size) -> Size:
    """What holds of both of two values of one type: the part of their `sizes_in` that is equal."""
    if a == b or not isinstance(a, tuple) or not isinstance(b, tuple):
        return a if a == b else 0
    inside = tuple(map(common_size, a, b))
    return inside if any(inside) else 0


def sizes_after(
    f: Frame, s: ast.For | ast.While, changed: Callable[[Frame, Sequence[ast.AST]], Sequence[str]]
) -> dict[str, int]:
    """The names of lists to which each round of a loop appends one element, and how many elements they have after it. `changed`
    gives the names that statements may assign or change, also by a call (`scope.changed_in`)."""
    if not isinstance(s, ast.For) or any(isinstance(x, (ast.Break, ast.Continue, ast.Return)) for x in every_node(s)):
        return {}
    appends = [(b, result) for b in s.body if (result := _appended(b)) is not None]
    before = {}
    for append, (name, item) in appends:
        size = size_of(f, f.env.get(name))
        if size is not None and name not in changed(f, [item, *(b for b in s.body if b is not append)]):
            before[name] = size
    if not before:
        return {}
    with f.trial():
        rounds = size_of(f, f.borrowed(s.iter))
    return {} if not rounds else {name: size + rounds for name, size in before.items() if size + rounds <= LONGEST}


def _appended(s: ast.stmt) -> tuple[str, ast.expr] | None:
    """The name of the list and the item of a statement `xs.append(x)`; None for other statements."""
    match s:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [item])):
            return name, item
    return None
