"""Texts with fields in them: `template.format(...)` and `template % ...` of values that are known at run time only."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, INT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.scalars.formatting import CONVERSIONS, Shown, text_of
from backends.acrobat.frontend.kinds import is_unknown, known, type_or_none
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.values import Static, Value, unknown

FIELD = re.compile(
    r"%(\((?P<name>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(\.(?P<digits>\*|\d*))?[hlL]?(?P<type>.)", re.DOTALL
)
"""A field of a text before `%`."""


def formatted(f: Frame, node: ast.AST, template: str, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`template.format(*args, **kwargs)`. Raises Refused."""
    facts, named_facts = [known(a) for a in args], {k: known(v) for k, v in kwargs.items()}
    try:
        fields = list(string.Formatter().parse(template))
        if all(is_known for is_known, _ in (*facts, *named_facts.values())):
            return Static(template.format(*(x for _, x in facts), **{k: x for k, (_, x) in named_facts.items()}))
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise Refused(f"`format`: {error}") from None
    parts: list[Shown] = []
    numbered = 0
    names = [name for _, name, _, _ in fields if name is not None]
    if "" in names and any(map(str.isdigit, names)):
        raise Refused("`format`: some fields have numbers and some have none")
    for literal, name, spec, conversion in fields:
        parts.append(Shown(Static(literal)))
        if name is None:
            continue
        at, numbered = (str(numbered), numbered + 1) if name == "" else (name, numbered)
        value = kwargs.get(at) if not at.isdigit() else args[int(at)] if int(at) < len(args) else None
        if value is None:
            raise Refused(f"`format`: the field `{at}` is not among its arguments", "give the value itself to `format`")
        if "{" in (spec or "") or (conversion or "") not in CONVERSIONS:
            raise Refused("the fields of `format` say how they are shown by constants where values are of run time")
        parts.append(Shown(value, spec or "", conversion or ""))
    return text_of(f, node, parts, "`format`")


def percent(f: Frame, node: ast.AST, template: str, arguments: Value) -> Value:
    """`template % given`. Raises Refused."""
    return unknown() if is_unknown(arguments) else text_of(f, node, fields_of(f, node, template, arguments), "`%`")


def fields_of(f: Frame, node: ast.AST, template: str, arguments: Value) -> list[Shown]:
    """What `template % given` shows. Raises Refused."""
    several = f.components(arguments)
    values = [arguments] if several is None else list(several)
    by_name, parts, used, end = False, list[Shown](), 0, 0
    for field in FIELD.finditer(template):
        parts.append(_literal(template[end : field.start()]))
        end = field.end()
        if field["type"] == "%":
            parts.append(Shown(Static("%")))
        elif field["name"] is not None:
            by_name = True
            item = ast.Subscript(CompiledNode(arguments), ast.Constant(field["name"]), ast.Load())
            parts.append(_by_percent(f, field, f.borrowed(ast.copy_location(item, node))))
        elif used == len(values):
            raise Refused("TypeError: not enough arguments for format string")
        else:
            parts.append(_by_percent(f, field, values[used]))
            used += 1
    if used < len(values) and not by_name:
        raise Refused("TypeError: not all arguments converted during string formatting")
    return [*parts, _literal(template[end:])]


def number_of_fields(template: str) -> int:
    """How many values `template % values` shows."""
    return sum(field["type"] != "%" for field in FIELD.finditer(template))


def _literal(text: str) -> Shown:
    if "%" in text:
        raise Refused("ValueError: incomplete format")
    return Shown(Static(text))


def _by_percent(f: Frame, field: re.Match[str], value: Value) -> Shown:
    """How one field of a text before `%` shows a value, in the words of `format`. Raises Refused."""
    flags, width, digits, type = field["flags"], field["width"], field["digits"], field["type"]
    if "*" in (width, digits):
        raise Refused("a width or precision that is an argument, `*`, is not in the language here", "write the number")
    precision = "" if digits is None else f".{digits or 0}"
    if isinstance(value, OneOf) or is_unknown(value):
        return Shown(value, conversion="s")
    if type in "sra":
        align = "" if not width else ("<" if "-" in flags else ">") + width
        return Shown(value, align + precision, type)
    value = opened(f, ast.Pass(), value, f"`%{type}` needs a number")
    t = type_or_none(value)
    if t in (BOOL, INT, FLOAT) and type in "diu":
        if digits is not None:
            raise Refused("a precision of `%d` is not in the language", "write the width with a 0: `%05d`")
        value, type, flags = (_as(f, value, INT) if t == FLOAT else value), "d", flags.replace("#", "")
    elif t in (BOOL, INT) and type in "xXo" and digits is None:
        pass
    elif t in (BOOL, INT, FLOAT) and type in "eEfFgG":
        value = _as(f, value, FLOAT)
    else:
        raise Refused(f"`%{type}` does not take {describe(t)} in the language")
    align = "<" if "-" in flags else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zero = "0" if "0" in flags and not align else ""
    return Shown(value, f"{align}{sign}{'#' if '#' in flags else ''}{zero}{width}{precision}{type}")


def _as(f: Frame, number: Value, type: Any) -> Value:
    """A number as an int or a float."""
    is_known, x = known(number)
    if is_known:
        return Static(int(x) if type == INT else float(x))
    return number if type_or_none(number) == type else f.host("int" if type == INT else "float", [number], type)
