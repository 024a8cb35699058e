"""Texts that show values which are known at run time only: f-strings, `format`, `%` and `str`.

Each of them becomes a list of the values that it shows, in order, and how each is shown. The runtime makes the text by Python's
own `format` and `str` (`core.texts`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, INT, LIST, TupleT, is_tensor_word
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail, mapped_choice, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import NUMBERS, by_type, is_tree, mixed
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.derived_values import text_method
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.tables import TEXTS
from backends.acrobat.frontend.kinds import as_kind, is_unknown, kind, known, plain_container, type_of, type_or_none
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import SYMBOL, is_never_filled, is_node, is_unassigned
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, unknown
from backends.acrobat.library import strings

CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda x: x, "s": str, "r": repr, "a": ascii}
"""What is shown of a value: itself, or its text by one of these functions."""
SHOWN_BY = {BOOL: "text.from_int", INT: "text.from_int", FLOAT: "text.from_float", SYMBOL: "text.from_text"}
"""The operation that shows a value of a type in a given way."""


@dataclass(frozen=True)
class Shown:
    """A value in a text: `format(value, spec)`, after the conversion that is a key of `CONVERSIONS`."""

    value: Value
    spec: str = ""
    conversion: str = ""


# ---- texts of values


def concatenation(f: Frame, node: ast.AST, parts: Sequence[Value]) -> Value:
    """Several strings as one."""
    if all(isinstance(known(p)[1], str) for p in parts):
        return Static("".join(known(p)[1] for p in parts))
    return as_one(f, list_of(f, node, list(parts)))


def as_one(f: Frame, texts: Value) -> Dyn:
    """The strings of a list as one."""
    return f.host("text.joined", [texts], SYMBOL, "text")


def shown(f: Frame, part: Shown) -> Value | None:
    """The text that shows a value; None for values whose text needs more than the program knows. Raises Refused for a value
    that is not shown in this way."""
    is_known, x = known(part.value)
    if is_known:
        return Static(_format_of_constant(CONVERSIONS[part.conversion](x), part.spec))
    if (words := mixed(f, part.value)) and _have_texts(words):
        if is_tree(f, type_of(part.value)):
            return _text_of_tree(f, part)
        return _of_each_type(f, part)
    if isinstance(part.value, Dyn) and (inner := optional(f, part.value)) is not None and not is_unassigned(part.value.type):
        return _shown_or_none(f, part, part.value, inner)
    name = "__repr__" if part.conversion == "r" else "__str__"
    if (own := text_method(f, part.value, name)) is not None and part.conversion != "a" and (part.conversion or not part.spec):
        given = f.program.call(f, ast.Pass(), own, [part.value], {})
        return given if is_unknown(given) else shown(f, Shown(given, part.spec))
    if own is None and (plain := plain_container(part.value)) is not part.value:
        return shown(f, replace(part, value=plain))
    if (rule := TEXTS.get(kind(part.value))) is not None and not words:
        text = rule(f, part.value, name)
        in_python = part.conversion == "a" or part.spec and not part.conversion  # the latter is an error of Python's
        if text is None or in_python:
            return None
        return text if is_unknown(text) else shown(f, Shown(text, part.spec))
    t = type_or_none(part.value)
    if is_node(t):
        in_python = part.spec and not part.conversion  # is an error of Python's
        text = None if in_python or part.conversion == "a" else _of_elements(f, part.value)
        return text if text is None or not part.spec else shown(f, Shown(text, part.spec))
    if part.conversion == "r" and t == SYMBOL:
        text = f.host("text.method", [Static("__repr__"), part.value], SYMBOL, "text")
        return shown(f, Shown(text, part.spec))
    if part.conversion and (t != SYMBOL or part.conversion == "s"):
        text = part.value if t == SYMBOL else shown(f, Shown(part.value))
        return text if text is None or not part.spec else shown(f, Shown(text, part.spec))
    if t not in SHOWN_BY or part.conversion:
        return None
    if t == SYMBOL and not part.spec:
        return part.value
    if t == BOOL and not part.spec:
        return choose(f, ast.Pass(), part.value, lambda: Static("True"), lambda: Static("False"))
    _format_of_constant({BOOL: False, INT: 0, FLOAT: 0.0, SYMBOL: ""}[t], part.spec)
    return f.host(SHOWN_BY[t], [Static(part.spec), part.value], SYMBOL, "text")


def _have_texts(words: Collection[str]) -> bool:
    """Whether values of these types of Python's, or some of them where others are tensors, are shown in texts."""
    others = {word for word in words if not is_tensor_word(word)}
    return bool(others) and others <= {*NUMBERS, "str", "object", "tuple", "list"}


def _of_each_type(f: Frame, part: Shown) -> Value:
    """The text of a mixed value; that of a tensor is an error of the instance. Raises Refused."""

    def of_one(word: str, one: Value) -> Value:
        if is_tensor_word(word):
            return fail(f, "the text of a tensor is not known to the compiled program")
        return _shown_in(f, replace(part, value=one))

    assert isinstance(part.value, Dyn)
    return by_type(f, ast.Pass(), part.value, of_one)


def _of_elements(f: Frame, value: Value) -> Value:
    """The text of a list or a tuple: those of its elements as `repr` gives them. Raises Refused."""
    t = type_of(value)
    left, right = ("[", "]") if getattr(t, "listed", False) or getattr(t, "kind", None) == LIST else ("(", ")")
    if is_never_filled(t):
        return Static(left + right)
    if isinstance(t, TupleT):
        items = f.components(value) or []
        parts: list[Value] = [Static(", ")] * (2 * len(items) - 1)
        parts[::2] = [_text_of_element(f, v) for v in items]
        return concatenation(f, ast.Pass(), [Static(left), *parts, Static(",)" if len(items) == 1 and right == ")" else right)])
    whole = as_kind(value, LIST)
    texts = mapped(f, [whole], lambda x: _text_of_element(f, x))
    inside = f.program.call(f, ast.Pass(), strings.join, [Static(", "), texts], {})
    if is_unknown(inside):
        return unknown()
    end: Value = Static(right)
    if right == ")":
        alone = f.host("eq", [f.host("list.len", [whole], INT, "size"), Static(1)], BOOL)
        end = choose(f, ast.Pass(), alone, lambda: Static(",)"), lambda: Static(")"))
    return concatenation(f, ast.Pass(), [Static(left), inside, end])


def _text_of_element(f: Frame, value: Value) -> Value:
    """The text of an element of a list or tuple. Raises Refused."""
    if type_or_none(value) == FLOAT and not known(value)[0] and not f.program.datatypes.is_float_in_python():
        what = "an int is a float where floats are in its place, which the text of a list shows"
        raise Refused(what, "keep numbers of the two types in lists or names of their own")
    return _shown_in(f, Shown(value, conversion="r"))


def _text_of_tree(f: Frame, part: Shown) -> Value | None:
    """As `shown`, of a tree of tuples or lists, by a function that calls itself for the trees in it. Raises Refused."""
    if part.conversion == "a" or part.spec and not part.conversion:
        return None
    if f.function is strings.text_of_tree and part.value == f.env.get("tree"):
        return _of_each_type(f, part)
    of_tree = strings.text_of_tree if part.conversion == "r" else strings.str_of_tree
    text = f.program.call(f, ast.Pass(), of_tree, [part.value], {})
    return text if is_unknown(text) or not part.spec else shown(f, Shown(text, part.spec))


def _shown_in(f: Frame, part: Shown) -> Value:
    """As `shown`, for a value of one of several types. Raises Refused also for values whose text needs more than the program
    has."""
    if is_unknown(part.value):
        return unknown()
    text = shown(f, part)
    if text is None:
        raise Refused(_needs_more(part))
    return text


def _needs_more(part: Shown, what: str = "a text") -> str:
    return f"of what is known at run time only, {what} takes strings and numbers, not {describe(type_or_none(part.value))}"


def _shown_or_none(f: Frame, part: Shown, value: Dyn, inner: Any) -> Value | None:
    """As `shown`, for a value of type `inner` or None. With a format specification, None is an error of the instance."""
    words = f.mixed(inner)
    of_text = inner == SYMBOL or "str" in words
    if (
        inner not in SHOWN_BY
        and not (words and _have_texts(words))
        and not is_node(inner)
        and (words or kind(guess(inner)) != "object")
    ):
        return None
    if of_text and part.conversion == "a":
        return None

    def none() -> Value:
        if part.spec and not part.conversion:
            return fail(f, "TypeError: unsupported format string passed to NoneType.__format__")
        return Static(_format_of_constant(CONVERSIONS[part.conversion](None), part.spec))

    return open_optional(f, ast.Pass(), value, lambda some: _shown_in(f, replace(part, value=some)), none)


def _format_of_constant(value: Any, spec: str) -> str:
    """`format(value, spec)`. Raises Refused where Python raises an error for all values of this type."""
    try:
        return format(value, spec)
    except (ValueError, TypeError) as error:
        raise Refused(f"{type(error).__name__}: {error}") from None


def text_of(f: Frame, node: ast.AST, parts: Sequence[Shown], what: str) -> Value:
    """The texts of these values as one string; `what` makes it, for messages. Raises Refused."""
    i = next((i for i, part in enumerate(parts) if isinstance(part.value, OneOf)), None)
    if i is not None:  # the name of a class: one text for each

        def of_one(each: Value) -> Value:
            return text_of(f, node, [*parts[:i], replace(parts[i], value=each), *parts[i + 1 :]], what)

        return mapped_choice(f, node, parts[i].value, of_one)  # type: ignore[arg-type]
    if any(is_unknown(part.value) for part in parts):
        return guess(SYMBOL)
    texts = [shown(f, part) for part in parts]
    if None in texts:
        return f.problem(node, _needs_more(parts[texts.index(None)], what))
    return concatenation(f, node, [text for text in texts if text is not None])
