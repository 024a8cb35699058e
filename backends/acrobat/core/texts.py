"""Operations of the host on strings. The program has numbers for strings; what they say is known to who keeps the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

TEXT: dict[str, Callable[..., Any]] = {
    "text.letters": lambda text: list(text),
    "text.joined": lambda texts: "".join(texts),
    "text.method": lambda name, text: getattr(text, name)(),
    "text.shown": str,
    "text.int": int,
    "text.float": float,
    "text.code": ord,
}
"""What each operation does with the strings themselves. `text.method` is a method of strings, without arguments, by its name:
one that gives a string, or one that tests the string."""

FROM_NUMBER = frozenset(("text.shown",))
"""Operations whose operand is a number of the model, not of a string."""


def evaluate_text(op: str, args: Sequence[Any], text: Callable[[int], Any], number: Callable[[Any], int]) -> Any:
    """What an operation gives; `text` and `number` say which string has a number, and which number a string has. Raises
    ValueError where Python raises an error, also for an operand that is no string: members of an Enum have numbers too."""

    def said(value: Any) -> Any:
        if isinstance(value, list):
            return [said(v) for v in value]
        found = text(value)
        if not isinstance(found, str):
            raise TypeError(f"a string is needed here, not {found!r}")
        return found

    def numbered(value: Any) -> Any:
        if isinstance(value, list):
            return [numbered(v) for v in value]
        return number(value) if isinstance(value, str) else value

    try:
        return numbered(TEXT[op](*(args if op in FROM_NUMBER else map(said, args))))
    except TypeError as error:
        raise ValueError(f"TypeError: {error}") from error


def numbers_alone_do_not_tell(*args: Any) -> NoReturn:
    raise TypeError("an operation on strings is evaluated by `evaluate_text`")
