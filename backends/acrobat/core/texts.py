"""Operations of the host on strings. In a program a string is a number; which string it stands for is known to the executable
that runs the program, or to the interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from backends.acrobat.core.types import FLOAT, INT, ListT, Type


@dataclass(frozen=True, slots=True)
class TextDef:
    """An operation on strings: the kinds of its operands (as in `core.host`), the type of its result, in both of which strings
    are ints, and what it does with the strings themselves. The last `numbers` operands are numbers of the model."""

    operands: str
    result: Type
    meaning: Callable[..., Any]
    numbers: int = 0


def _spans(pattern: str, how: str, text: str, start: int) -> list[int]:
    """Where `pattern` matches from `start` on, by its method named `how`: of each match the number of the group that ended last
    (`lastindex`, 0 for none), and the start and end of the whole and of each group, -1 for a group that takes no part."""
    found = getattr(re.compile(pattern), how)(text, start)
    matches = [] if found is None else [found] if isinstance(found, re.Match) else found
    return [x for m in matches for x in (m.lastindex or 0, *(end for k in range(m.re.groups + 1) for end in m.span(k)))]


TEXT: dict[str, TextDef] = {
    "text.letters": TextDef("i", ListT(INT), list),
    "text.joined": TextDef("l", INT, "".join),
    "text.method": TextDef("ii", INT, lambda name, text: getattr(text, name)()),
    "text.from_int": TextDef("ii", INT, lambda how, number: format(number, how), numbers=1),
    "text.from_float": TextDef("is", INT, lambda how, number: format(number, how), numbers=1),
    "text.from_text": TextDef("ii", INT, lambda how, text: format(text, how)),
    "text.int": TextDef("i", INT, int),
    "text.float": TextDef("i", FLOAT, float),
    "text.code": TextDef("i", INT, ord),
    "text.part": TextDef("iii", INT, lambda text, start, stop: text[start:stop], numbers=2),
    "text.spans": TextDef("iiii", ListT(INT), _spans, numbers=1),
    "text.replaced": TextDef(
        "iiii", INT, lambda pattern, template, text, count: re.sub(pattern, template, text, count=count), numbers=1
    ),
}
"""`text.method` is a method of strings, without arguments, by its name: one that gives a string, or one that tests the string.
`text.from_int` and the like are `format(value, how)`. `text.part` is `text[start:stop]`, `text.spans` says where a regular
expression matches, and `text.replaced` is `re.sub`.
`text.x` is the function `text_x` of the runtime (`runtime/python/texts.h`), and the instruction `TextX` of its interpreter:
`instruction` gives its name."""


def instruction(op: str) -> str:
    """The name of an operation's instruction, as `TextFromInt` for `text.from_int`."""
    return "".join(word.capitalize() for word in re.split(r"[._]", op))


def evaluate_text(op: str, args: Sequence[Any], text: Callable[[int], Any], number: Callable[[Any], int]) -> Any:
    """What an operation gives; `text` and `number` say which string has a number, and which number a string has. Raises
    ValueError where Python raises an error, also for an operand that is no string: members of an Enum have numbers too."""

    def string_of(value: Any) -> Any:
        if isinstance(value, list):
            return [string_of(v) for v in value]
        string = text(value)
        if not isinstance(string, str):
            raise TypeError(f"a string is needed here, not {string!r}")
        return string

    def number_of(value: Any) -> Any:
        if isinstance(value, list):
            return [number_of(v) for v in value]
        return number(value) if isinstance(value, str) else value

    try:
        texts = len(args) - TEXT[op].numbers
        return number_of(TEXT[op].meaning(*map(string_of, args[:texts]), *args[texts:]))
    except TypeError as error:
        raise ValueError(f"TypeError: {error}") from error


def numbers_alone_do_not_tell(*args: Any) -> NoReturn:
    """Stands for the meaning of an operation on strings, whose numbers alone do not tell the result. Raises TypeError."""
    raise TypeError("an operation on strings is evaluated by `evaluate_text`")
