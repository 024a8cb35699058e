"""Regular expressions: Python's `re` on strings of run time, with patterns that are known at compile time.

The runtime asks Python's `re` where a pattern matches (`core.texts`); everything else that `re` returns is made from that by
`library/regex.py`. The flags of a pattern are written into its text.
"""

from __future__ import annotations

import ast
import importlib
import re
import types
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, LIBRARY_RULES, handles
from backends.acrobat.frontend.kinds import is_string, known, nothing_known, type_or_none
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Held, Static, Value, unknown
from backends.acrobat.library import regex, words

PARSER: Any = importlib.import_module("re._parser")
"""What Python has for reading patterns; `re.sre_parse` is a name of it that is not to be used any more."""
FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
"""The letters of flags in a pattern's text."""
ONE_MATCH = ("match", "fullmatch", "search")
HAVE_START = (*ONE_MATCH, "finditer", "findall")
"""Methods of patterns that take the place to begin at."""
METHODS_OF_PATTERNS = (*HAVE_START, "split", "sub")


@handles(FUNCTIONS, words.part)
def _part(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _host(f, "text.part", args, SYMBOL, "part")


@handles(FUNCTIONS, words.spans)
def _spans(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _host(f, "text.spans", args, ListT(INT), "places")


@handles(FUNCTIONS, words.replaced)
def _replaced(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _host(f, "text.replaced", args, SYMBOL, "replaced")


def _host(f: Frame, op: str, args: list[Value], type: Any, hint: str) -> Value:
    return unknown() if any(map(nothing_known, args)) else f.host(op, args, type, hint)


@handles(FUNCTIONS, re.compile)
def _compiled(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    pattern, flags = CallArguments("re.compile", args, kwargs).bind("pattern", "flags", flags=Static(0))
    return unknown() if nothing_known(pattern) else Static(_pattern(pattern, flags))


@handles(FUNCTIONS, re.escape)
def _escaped(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (text,) = CallArguments("re.escape", args, kwargs).bind("pattern")
    is_known, constant = known(text)
    if not is_known:
        raise Refused("`re.escape` takes a text that is known at compile time")
    return Static(re.escape(constant))


def _pattern(pattern: Value, flags: Value) -> re.Pattern[str]:
    """The pattern of these arguments, also one that is compiled already. Raises Refused."""
    (is_known, text), (has_flags, number) = known(pattern), known(flags)
    if not is_known or not has_flags:
        raise Refused("a regular expression and its flags must be known at compile time", "write the pattern out")
    try:
        compiled = re.compile(text, int(number))
    except (re.error, TypeError, ValueError) as error:
        raise Refused(f"`re.compile`: {error}") from None
    if not isinstance(compiled.pattern, str):
        raise Refused("a regular expression of bytes is not in the language", "write it as a string")
    return compiled


def text_of(pattern: re.Pattern[str]) -> str:
    """A pattern's text with its flags written into it."""
    letters = "".join(letter for flag, letter in FLAGS.items() if pattern.flags & flag)
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern


def is_certain(pattern: re.Pattern[str]) -> bool:
    """Whether each group takes part in each match, as far as the structure of the pattern tells."""
    return not pattern.groups or _certain(PARSER.parse(pattern.pattern, pattern.flags))


def _certain(tree: Iterable[Any]) -> bool:
    """Whether all groups of a parsed pattern take part in what it matches."""
    for op, about in tree:
        match str(op):
            case "SUBPATTERN":
                inside, sure = about[-1], True
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                inside, sure = about[2], about[0] > 0
            case _:
                inside, sure = about, False
        if not (_certain(inside) if sure else not _has_group(inside)):
            return False
    return True


def _has_group(part: Any) -> bool:
    """Whether there is a group in a part of a parsed pattern."""
    if isinstance(part, tuple) and len(part) == 2 and str(part[0]) == "SUBPATTERN" and part[1][0] is not None:
        return True
    return isinstance(part, (tuple, list, PARSER.SubPattern)) and any(map(_has_group, part))


def _of_re(function: Any) -> Callable[..., Value] | None:
    """The handler of a function of `re`, or of a method of a pattern; None for other objects."""
    name = getattr(function, "__name__", "")
    if name not in METHODS_OF_PATTERNS:
        return None
    if isinstance(function, types.FunctionType) and function is getattr(re, name):
        return partial(_function, name)
    if isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, re.Pattern):
        return partial(_method, name, function.__self__)
    return None


def _function(name: str, f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`re.name(...)`"""
    bind = CallArguments(f"re.{name}", args, kwargs).bind
    most, none = Static(0), Static(0)
    match name:
        case "split":
            pattern, string, most, flags = bind("pattern", "string", "maxsplit", "flags", maxsplit=most, flags=none)
            given = [string, most]
        case "sub":
            pattern, new, string, most, flags = bind("pattern", "repl", "string", "count", "flags", count=most, flags=none)
            given = [new, string, most]
        case _:
            pattern, string, flags = bind("pattern", "string", "flags", flags=none)
            given = [string]
    if nothing_known(pattern):
        return unknown()
    return _method(name, _pattern(pattern, flags), f, node, given, {}, hint)


def _method(
    name: str, pattern: re.Pattern[str], f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str
) -> Value:
    """`pattern.name(...)`. Raises Refused."""
    pattern = _pattern(Static(pattern), Static(0))
    bind, new, start, most = CallArguments(name, args, kwargs).bind, Static(""), Static(0), Static(0)
    match name:
        case "split":
            string, most = bind("string", "maxsplit", maxsplit=most)
        case "sub":
            new, string, most = bind("repl", "string", "count", count=most)
        case _:
            string, start = bind("string", "pos", pos=start)
    string = opened(f, node, string, types=("str",))
    if any(map(nothing_known, (string, start, most, new))):
        return unknown()
    if not is_string(string):
        raise Refused(f"`{name}` of a regular expression takes a string, not {describe(type_or_none(string))}")
    text, certain = Static(text_of(pattern)), is_certain(pattern)
    cls = Static(regex.TextMatch if certain else regex.PartialTextMatch)
    numbers = {number: name for name, number in pattern.groupindex.items()}
    names = Static(tuple(numbers.get(i, "") for i in range(pattern.groups + 1)))
    groups = Static(tuple(range(1, pattern.groups + 1)))

    def call(function: Any, *given: Value) -> Value:
        return f.call_with(function, list(given))

    match name:
        case "findall":
            return call(regex.find_all, text, string, start, groups)
        case "finditer":
            return Held("iterator", call(regex.matches, text, string, start, names, cls))
        case "split":
            return call(regex.divided, text, string, most, groups, Static(certain))
        case "sub" if is_string(opened(f, node, new)):
            return call(regex.by_template, text, opened(f, node, new), string, most)
        case "sub":
            return call(regex.by_function, new, text, string, most, names, cls)
    return call(regex.matched, text, Static(name), string, start, names, cls)


LIBRARY_RULES.append(_of_re)
