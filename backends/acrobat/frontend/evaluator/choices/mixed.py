"""Values that are of one of several types of Python's own, such as the nodes of a tree `("S", ("NP", "dogs"), "bark")`: strings
or tuples. `isinstance` narrows them (`conditions`). Where a value of a certain type is needed, the program goes on with it; as
in Python, a value of another type is an error, of the instance."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import fail, one_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import COERCIONS
from backends.acrobat.frontend.instances.added_unions import TYPES
from backends.acrobat.frontend.kinds import is_array, is_list, is_unknown, type_of, type_or_none, untupled
from backends.acrobat.frontend.types import Mismatch, contains_unknown, is_varying_tuple, word_of_type
from backends.acrobat.frontend.values import Dyn, Value, guess, held_in
from backends.acrobat.ir import nodes as n

NUMBERS = ("bool", "int", "float")
SEQUENCES = ("tuple", "list")
ITERABLE = (*SEQUENCES, "dict", "tensor")
COMPUTED = (*NUMBERS, "tensor")


def mixed(f: Frame, value: Any) -> dict[str, Any]:
    """The types of a mixed value, by their words in `PYTHON_TYPES`; empty for other values."""
    return f.mixed(value.type) if isinstance(value, Dyn) else {}


def is_tree(f: Frame, type: Any) -> bool:
    """Whether values of a mixed type may have others of the same type in them."""
    pending, words = list(f.mixed(type).values()), set[str]()
    while pending:
        t = pending.pop()
        if t == type:
            return True
        match t:
            case TupleT(items):
                pending += items
            case ListT(item):
                pending.append(item)
            case DataT(name) if name not in words:
                words.add(name)
                pending += f.mixed(t).values() or [f.program.datatypes.optionals.get(name)]
    return False


def by_type(f: Frame, node: ast.AST, value: Dyn, arm: Callable[[str, Value], Value], apart: bool = False) -> Value:
    """`arm(word, inner)` for the type that a mixed value has at run time: its word, and the value as one of that type; `apart`
    as in `one_of`."""
    types = mixed(f, value)
    variables = {word: f.var(word, t) for word, t in types.items()}
    if any(map(contains_unknown, types.values())):
        f.program.incomplete = True

    def build(type: Any, bodies: list[n.Expr]) -> n.Expr:
        arms = [n.Arm(f"of_{word}", (var,), body) for (word, var), body in zip(variables.items(), bodies, strict=True)]
        return n.Match(value.atom, tuple(arms), type, span=f.span)

    arms = [partial(arm, word, held_in(Dyn(var))) for word, var in variables.items()]
    return one_of(f, node, arms, build, apart=apart)


def of_type(f: Frame, node: ast.AST, value: Value, *words: str) -> Value:
    """A mixed value as one of the types `words`, or of its only type; other values unchanged, and those that have none of the
    types. A value of another type is an error of the instance."""
    types = mixed(f, value)
    there = [word for word in types if word in words] if len(types) > 1 else list(types)
    if not there:
        return value
    assert isinstance(value, Dyn)
    either = {*SEQUENCES} <= {*there}  # what both can do is that of a list

    def arm(word: str, inner: Value) -> Value:
        if word not in there:
            return not_taken(f, node, word)
        return _as_list(f, inner) if either else inner

    return by_type(f, node, value, arm)


def is_tensor_or_text(types: Collection[str]) -> bool:
    """Whether values of several types, by their words, are tensors beside strings and objects only."""
    return "tensor" in types and {"tensor", "str", "object"}.issuperset(types)


def of_tensors(f: Frame, value: Value) -> Value:
    """A list of tensors beside strings and objects as one of tensors, which a function of PyTorch's needs; other values are
    unchanged. An element that is none is an error of the instance."""
    t = type_or_none(value)
    types = f.mixed(t.item) if is_list(value) else {}
    if not is_tensor_or_text(types):
        return value
    return f.coerce(value, replace(t, item=types["tensor"]))


def _as_list(f: Frame, value: Value) -> Value:
    """A tuple as the list of its elements, if these have one type; other values unchanged."""
    items = f.components(value) if isinstance(type_or_none(value), TupleT) else None
    if not items or any(map(is_unknown, items)):
        return untupled(value)
    item = f.common([type_of(v) for v in items], numbers=all(map(is_array, items)))  # tensors may differ in their extents
    return f.bind(n.ListOf(tuple(f.atom(f.coerce(v, item)) for v in items), ListT(item), span=f.span), "items")


def not_taken(f: Frame, node: ast.AST, word: str) -> Value:
    """The error of an instance whose value is of a type that the expression `node` does not take."""
    written = f"`{ast.unparse(node)}`" if isinstance(node, ast.expr) else "this"
    return fail(f, f"TypeError: {written} does not take {TYPES[word][0]}")


def with_attribute(f: Frame, node: ast.AST, value: Value, name: str) -> Value:
    """A mixed value as one of the type that has the attribute `name`: an object, else the first type of Python's with it."""
    types = mixed(f, value)
    if (union := types.get("object")) is not None:
        classes = f.program.datatypes.cases.get(getattr(union, "name", ""), ())
        datatypes = f.program.datatypes
        if any(datatypes.has_field(c, name) or name in datatypes.attribute_names(c) or hasattr(c, name) for c in classes):
            return of_type(f, node, value, "object")
    assert not types or isinstance(value, Dyn) and isinstance(value.type, DataT)
    of_python = (w for w in types if hasattr(f.program.datatypes.class_in_mixed(value.type.name, w), name))  # type: ignore[union-attr]
    return of_type(f, node, value, next(of_python, "object"))


def wrapped(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """A value as one of a mixed union, and a mixed value as one of a plain type; None where neither is wanted."""
    if f.mixed(type):
        word = None if f.mixed(have) else f.word_of(have, type)
        if word is None:
            if not f.mixed(have):
                return None
            return _as_another(f, value, have, type)
        inner = f.coerce(value, f.mixed(type)[word])
        if is_unknown(inner):
            return guess(type)
        return f.bind(n.Construct(f"of_{word}", (f.atom(inner),), type, span=f.span), word)
    types = f.mixed(have)
    if not types:
        return None
    words = [word for word, t in types.items() if f.covers(type, t, numbers=True)]
    if not words:
        raise Mismatch(f"{describe(have)} where {describe(type)} is needed")
    if len(words) == 1:
        return f.coerce(of_type(f, ast.Pass(), value, *words), type)
    assert isinstance(value, Dyn)
    there = ast.Pass()
    return by_type(f, there, value, lambda word, inner: f.coerce(inner, type) if word in words else not_taken(f, there, word))


def _as_another(f: Frame, value: Value, have: Any, type: Any) -> Value:
    """A mixed value as one of another mixed union. Raises Mismatch, also for trees whose parts would have to be converted too:
    that would take as many steps as a tree is deep."""
    if (have, type) in f.wrapping:
        raise Mismatch(f"{describe(have)} where {describe(type)} is needed")
    f.wrapping.add((have, type))
    try:
        return by_type(f, ast.Pass(), value, lambda _, inner: f.coerce(inner, type))  # type: ignore[arg-type]
    finally:
        f.wrapping.discard((have, type))


def list_or_tensor(f: Frame, values: Collection[Value]) -> Any:
    """The mixed union of values each of which is a list or a tensor, as of `found = torch.cat(found)` in a branch; None for
    other values. Raises Mismatch."""
    together = f.program.datatypes.by_word(map(type_or_none, values))
    if together.keys() != {"list", "tensor"}:
        return None
    return f.program.datatypes.either({word: f.common(types, numbers=True) for word, types in together.items()})


def word_of(value: Value) -> str:
    """The word in `PYTHON_TYPES` for the type of a value; "" if that is not known."""
    return word_of_type(type_or_none(value))


def _of_varying_length(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """A tuple as one whose length varies; None where another type is wanted."""
    if not is_varying_tuple(type) or not isinstance(have, TupleT) or have.listed:
        return None
    items = [f.coerce(v, type.item) for v in f.components(value) or ()]
    if contains_unknown(type) or any(map(is_unknown, items)):
        f.program.incomplete = True
        return guess(type)
    return f.bind(n.ListOf(tuple(map(f.atom, items)), type, span=f.span), "tuple")


COERCIONS.insert(0, wrapped)
COERCIONS.append(_of_varying_length)
