"""Strings that are known at run time only: their letters, parts and methods, and strings that the model makes.

The program has a number for each string, which is all that comparing and looking up need. For the contents of a string it asks
the runtime (`core.texts`), which also numbers new strings; methods of several letters are in `library/strings.py`.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import choose
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import is_spread
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.scalars.formatting import Shown, as_one, concatenation, shown
from backends.acrobat.frontend.evaluator.scalars.text_fields import formatted
from backends.acrobat.frontend.evaluator.tables import BINARY, FUNCTIONS, ITERATION, LENGTHS, MEMBERSHIP, METHODS, handles
from backends.acrobat.frontend.kinds import is_string, is_unknown, known, type_of, type_or_none
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.types import NEVER, SYMBOL, contains_unknown
from backends.acrobat.frontend.values import Dyn, Held, Static, Value, guess, unknown
from backends.acrobat.library import strings, templates, words

GIVE_STRINGS = ("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "casefold", "swapcase")
"""Methods without arguments that give a string."""
TESTS = ("isalpha", "isdigit", "isnumeric", "isdecimal", "isalnum", "isspace", "isupper", "islower", "istitle", "isascii")
"""Methods that test a string."""
IN_LIBRARY = {
    "find": (strings.find, "sub"),
    "rfind": (strings.last, "sub"),
    "index": (strings.index, "sub"),
    "rindex": (strings.last_index, "sub"),
    "count": (strings.count, "sub"),
    "startswith": (strings.startswith, "prefix"),
    "endswith": (strings.endswith, "suffix"),
    "removeprefix": (strings.removeprefix, "prefix"),
    "removesuffix": (strings.removesuffix, "suffix"),
    "strip": (strings.strip, "chars"),
    "lstrip": (strings.lstrip, "chars"),
    "rstrip": (strings.rstrip, "chars"),
}
"""Methods of one string, with the name of that argument in messages."""
PLACES = {"find": "find", "rfind": "rfind", "index": "find", "rindex": "rfind"}
"""Methods that give places, and those that find them in a part of a string."""
BETWEEN = frozenset({*PLACES, "count", "startswith", "endswith"})
"""Those that may be given between which places they look."""
ENCODINGS = {"utf-8": strings.utf8, "utf8": strings.utf8, "ascii": strings.ascii_codes}
"""Encodings, and what gives the bytes of a string in them."""


def letters(f: Frame, text: Value) -> Dyn:
    """The letters of a string, as a list of strings."""
    return f.host("text.letters", [text], ListT(SYMBOL), "letters")


def number(f: Frame, text: Value, type: Any) -> Value:
    """`int(text)` or `float(text)`."""
    return f.host("text.float" if type == FLOAT else "text.int", [text], type, "number")


@handles(FUNCTIONS, words.letters)
def _letters(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return unknown() if is_unknown(args[0]) else letters(f, args[0])


@handles(ITERATION, "string")
def _iterated(f: Frame, text: Dyn) -> Value:
    return letters(f, text)


@handles(FUNCTIONS, words.joined)
def _joined(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    parts = as_list(f, node, iterable(f, args[0]))
    return unknown() if is_unknown(parts) else as_one(f, parts)


@handles(FUNCTIONS, ord)
def _code(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (letter,) = CallArguments("ord", args, kwargs).bind("c")
    is_known, x = known(letter)
    if is_known:
        return Static(ord(x))
    return unknown() if is_unknown(letter) else f.host("text.code", [opened(f, node, letter, types=("str",))], INT, "code")


@handles(FUNCTIONS, chr)
def _letter(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (code,) = CallArguments("chr", args, kwargs).bind("i")
    is_known, x = known(code)
    if is_known:
        return Static(chr(x))
    if is_unknown(code):
        return unknown()
    return f.host("text.from_int", [Static("c"), opened(f, node, f.as_number(code), types=("int", "bool"))], SYMBOL, "letter")


@handles(LENGTHS, "string")
def _length(f: Frame, text: Value) -> Value:
    return f.host("list.len", [letters(f, text)], INT, "size")


def _found_in(f: Frame, node: ast.AST, name: str, text: Value, part: Value) -> Value:
    """`text.find(wanted)` and the like; `startswith` and `endswith` also take several strings as a tuple. Raises Refused."""
    part = opened(f, node, part, types=("str",))
    several = f.components(part) if name in ("startswith", "endswith") else None
    if several is not None:
        result: Value = Static(False)
        for each in several:
            one = _found_in(f, node, name, text, each)
            result = choose(f, node, result, lambda: Static(True), lambda one=one: one)  # type: ignore[misc]
        return result
    if type_or_none(part) != SYMBOL:
        raise Refused(f"`{name}` of a string takes a string, not {describe(type_or_none(part))}")
    return f.call_with(IN_LIBRARY[name][0], [text, part])


def _found_between(f: Frame, node: ast.AST, text: Value, name: str, args: Sequence[Value]) -> Value:
    """`text.find(wanted, start, stop)` and the like, without or with `stop`."""
    part, start, *end = args
    start = Static(0) if start == Static(None) else start
    stop = end[0] if end and end[0] != Static(None) else _length(f, text)
    inside = f.call_with(strings.between, [text, start, stop])
    found = _found_in(f, node, PLACES.get(name, name), inside, part)
    if name not in PLACES:
        return found
    at = f.call_with(strings.moved, [found, f.call_with(strings.begin, [text, start])])
    return at if PLACES[name] == name else f.call_with(strings.index_or_error, [at], node)


def _strings(f: Frame, node: ast.AST, items: Value) -> Value:
    """A list of strings made from one whose elements may be None or of other types: such an element is an error of the
    instance."""
    item = getattr(type_or_none(items), "item", SYMBOL)
    if item == SYMBOL or contains_unknown(item) or item is NEVER:
        return items
    if f.without_none(item) != SYMBOL and "str" not in f.mixed(f.without_none(item)):
        raise Refused(f"`join` takes strings, not {describe(item)}", "write `str(x)` for each")
    return mapped(f, [items], lambda x: opened(f, node, x, types=("str",)))


@handles(METHODS, "string")
def _method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    return method_of_string(f, node, method.owner, method.name, args, kwargs)


def method_of_string(
    f: Frame, node: ast.AST, text: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """`text.name(...)`, where the text or an argument is known at run time only; None for a method that is not in the
    language. Raises Refused."""
    if any(map(is_unknown, (text, *args, *kwargs.values()))):
        return guess(SYMBOL) if name in GIVE_STRINGS or name in ("join", "format") else unknown()
    if name == "format" and (any(map(is_spread, args)) or not known(text)[0]):
        return _filled(f, node, text, args, kwargs)
    if name == "format":
        return formatted(f, node, known(text)[1], args, kwargs)
    if name in BETWEEN and 1 < len(args) < 4 and not kwargs:
        return _found_between(f, node, text, name, args)
    bind = CallArguments(name, args, kwargs).bind
    if name in TESTS or name in GIVE_STRINGS and not (name in IN_LIBRARY and args and args != [Static(None)]):
        bind(*(["chars"] if args else []))
        result = f.host("text.method", [Static(name), text], SYMBOL if name in GIVE_STRINGS else INT, name)
        return result if name in GIVE_STRINGS else f.host("bool", [result], BOOL, name)
    if name in IN_LIBRARY:
        (part,) = bind(IN_LIBRARY[name][1])
        return _found_in(f, node, name, text, part)
    match name:
        case "encode":
            (encoding,) = bind("encoding", encoding=Static("utf-8"))
            if known(encoding)[1] not in ENCODINGS:
                raise Refused("`encode` gives the bytes of UTF-8 or ASCII in the language", "leave the encoding out")
            return Held("iterator", f.call_with(ENCODINGS[known(encoding)[1]], [text]))
        case "join":
            (parts,) = bind("iterable")
            return f.call_with(strings.join, [text, _strings(f, node, as_list(f, node, iterable(f, parts)))])
        case "split" | "rsplit":
            separator, most = bind("sep", "maxsplit", sep=Static(None), maxsplit=Static(-1))
            if separator == Static(None):
                if most != Static(-1):
                    raise Refused(f"`{name}` at spaces has no `maxsplit` in the language", "name the separator")
                return f.call_with(strings.words_of, [text])
            return f.call_with(getattr(strings, name), [text, _not_empty(separator), most])
        case "splitlines":
            (ends,) = bind("keepends", keepends=Static(False))
            if ends != Static(False):
                raise Refused("`splitlines` leaves the ends of lines out in the language", "add them to the lines")
            return f.call_with(strings.lines_of, [text])
        case "partition" | "rpartition":
            (separator,) = bind("sep")
            return f.call_with(getattr(strings, name), [text, _not_empty(separator)])
        case "translate":
            (table,) = bind("table")
            whole = known(table)[1]
            if not isinstance(whole, dict):
                raise Refused("`translate` takes a constant table, as `str.maketrans` makes it")
            old, new = map(Static, _by_letters(whole))
            return f.call_with(strings.translate, [text, old, new]) if whole else text
        case "ljust" | "rjust" | "center":
            width, fillchar = bind("width", "fillchar", fillchar=Static(" "))
            return f.call_with(getattr(strings, name), [text, width, fillchar])
        case "zfill":
            return f.call_with(strings.zfill, [text, *bind("width")])
        case "replace":
            old, new, most = bind("old", "new", "count", count=Static(-1))
            return f.call_with(strings.replace, [text, _not_empty(old), new, most])
    return None


def _by_letters(table: dict[int, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The letters that `translate` replaces, and their replacements, from the table that it takes: by codes, with None for
    letters to be left out."""
    new = ("" if x is None else chr(x) if isinstance(x, int) else x for x in table.values())
    return tuple(map(chr, table)), tuple(new)


@handles(FUNCTIONS, str.maketrans)
def _table(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`str.maketrans(...)` of constants. Raises Refused."""
    facts = [known(a) for a in args]
    if not all(is_known for is_known, _ in facts):
        return unknown() if any(map(is_unknown, args)) else f.problem(node, "`str.maketrans` takes constants in the language")
    try:
        return Static(str.maketrans(*(x for _, x in facts)))
    except (TypeError, ValueError) as error:
        raise Refused(f"`str.maketrans`: {error}") from None


def _not_empty(text: Value) -> Value:
    if text == Static(""):
        raise Refused("an empty string is not looked for", "write what is meant")
    return text


def _filled(f: Frame, node: ast.AST, template: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`template.format(*args)`, where the template, or the number of arguments, is known at run time only. Raises Refused."""
    if kwargs:
        raise Refused("`format` of what is known at run time only takes no arguments by name", "give them without names")
    is_known, constant = known(template)
    fields = string.Formatter().parse(constant) if is_known else ()
    if any(spec or conversion or name and not name.isdigit() for _, name, spec, conversion in fields):
        raise Refused("with a list of run-time length fields of `format` are `{}` or `{0}`", "take the list apart first")
    texts: Value = f.coerce(list_of(f, node, []), ListT(SYMBOL))
    for a in args:
        if is_spread(a):
            more: Value = mapped(f, [a.value], lambda x: _formatted(f, x))
        else:
            more = list_of(f, node, [_formatted(f, a)])
        texts = f.host("list.concat", [texts, more], ListT(SYMBOL))
    return f.call_with(templates.filled, [template, texts])


def _formatted(f: Frame, value: Value) -> Value:
    """The text of a string or number as `format` shows it. Raises Refused."""
    text = unknown() if is_unknown(value) else shown(f, Shown(f.staged(value)))
    if text is None:
        what = describe(type_or_none(value))
        raise Refused(f"of what is known at run time only, `format` takes strings and numbers, not {what}")
    return text


@handles(MEMBERSHIP, "string")
def _contains(f: Frame, node: ast.AST, text: Value, part: Value) -> Value:
    return f.call_with(strings.contains, [text, part])


@handles(BINARY, "string")
def _binary(f: Frame, node: ast.AST, op: ast.operator, name: str, a: Value, b: Value) -> Value:
    """`a + b` of strings, `text * n`."""
    match op:
        case ast.Add() if is_string(a) and is_string(b):
            return concatenation(f, node, [a, b])
        case ast.Mod() if is_string(a):
            raise Refused("the text before `%` is a constant in the language", "write an f-string")
        case ast.Mult() if INT in (type_or_none(a), type_or_none(b)):
            text, times = (a, b) if is_string(a) else (b, a)
            return f.call_with(strings.repeated, [text, times])
    return f.problem(node, f"this operator does not take {describe(type_of(a))} and {describe(type_of(b))}")
