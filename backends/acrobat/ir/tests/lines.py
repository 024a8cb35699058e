"""The lines of a program's text: their tokens, and what is written the same way in all of them, such as types and literals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, TensorT, TupleT, Type
from backends.acrobat.ir.printer import IDENTIFIER

X = TypeVar("X")
TOKEN = re.compile(
    rf"""\s*(?P<token>
      (?P<name>{IDENTIFIER.pattern})
    | (?P<quoted>"(?:[^"\\]|\\.)*")
    | (?P<number>-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf\b|nan\b))
    | ->|[][(){{}},:=|@]
    )""",
    re.VERBOSE | re.ASCII,
)


class ReadError(ValueError):
    """The text is no program; the message names the line."""


@dataclass(frozen=True, slots=True)
class Token:
    """A name, a number, a quoted text or a mark; the last one of a line is the end."""

    kind: str  # "name", "quoted", "number", "end", or the mark itself
    text: str


class TextLine:
    """The tokens of one line, and in `at` how far they have been read."""

    def __init__(self, row: int, indent: int, text: str) -> None:
        self.row, self.indent = row, indent
        self.tokens: list[Token] = []
        self.at = 0
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ReadError(f"line {row}: cannot read {text[at:].strip()!r}")
            token = match["token"]
            kind = next((k for k in ("name", "quoted", "number") if match[k]), token)
            self.tokens.append(Token(kind, token))
            at = match.end()
        self.tokens += [Token("end", "the end of the line")] * 2

    def fail(self, message: str) -> NoReturn:
        raise ReadError(f"line {self.row}: {message}")

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    @property
    def after(self) -> Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.next
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def has(self, text: str) -> bool:
        """Take `text` if it comes next. A quoted name is never a word."""
        if self.next.kind != "quoted" and self.next.text == text:
            self.at += 1
            return True
        return False

    def starts(self, word: str) -> bool:
        """Take `word` if it comes next as a keyword, followed by an operand. Nothing of that kind follows a variable's name."""
        return self.after.kind in ("name", "quoted", "number", "@") and self.has(word)

    def expect(self, text: str) -> None:
        if not self.has(text):
            self.fail(f"expected {text!r}, found {self.next.text!r}")

    def name(self) -> str:
        token = self.take()
        if token.kind == "quoted":
            return str(json.loads(token.text))
        if token.kind != "name":
            self.fail(f"expected a name, found {token.text!r}")
        return token.text

    def count(self) -> int:
        token = self.take()
        if not token.text.isdigit():
            self.fail(f"expected a number, found {token.text!r}")
        return int(token.text)

    def end(self) -> None:
        if self.next.kind != "end":
            self.fail(f"expected the end of the line, found {self.next.text!r}")

    def many(self, item: Callable[[], X], close: str) -> list[X]:
        """Items between commas up to `close`; a comma may stand before it."""
        items = []
        while not self.has(close):
            items.append(item())
            if not self.has(","):
                self.expect(close)
                break
        return items

    # ---- what lines consist of

    def type(self) -> Type:
        """The type that comes next in the line, as `printer.type_text` writes it. Raises ReadError for anything else."""
        if self.has("("):
            return TupleT(tuple(self.many(self.type, ")")))
        if self.next.kind != "quoted":
            for word, dtype in (("f32", "float32"), ("i64", "int64")):
                if self.has(word):
                    self.expect("[")
                    return TensorT(tuple(self.many(self.count, "]")), dtype)  # type: ignore[arg-type]
            for scalar in (INT, BOOL, FLOAT):
                if self.has(scalar.kind):
                    return scalar
            if self.has("list"):
                self.expect("[")
                item = self.type()
                self.expect("]")
                return ListT(item)
        return DataT(self.name())

    def tensor_type(self) -> TensorT:
        t = self.type()
        return t if isinstance(t, TensorT) else self.fail("expected the type of a tensor")

    def named_type(self) -> tuple[str, Type]:
        name = self.name()
        self.expect(":")
        return name, self.type()

    def number(self) -> int | bool | float | None:
        """The literal that comes next, if one does."""
        for word, value in (("True", True), ("False", False), ("inf", float("inf")), ("nan", float("nan"))):
            if self.has(word):
                return value
        if self.next.kind != "number":
            return None
        text = self.take().text
        return int(text) if text.lstrip("-").isdigit() else float(text)

    def attr(self) -> Any:
        if self.has("("):
            return tuple(self.many(self.attr, ")"))
        if self.next.kind == "quoted":
            return self.name()
        if self.has("None"):
            return None
        value = self.number()
        return self.fail(f"expected a value, found {self.next.text!r}") if value is None else value

    def arguments(self, arg: Callable[[], X]) -> tuple[list[X], dict[str, Any]]:
        """`(arg, ..., key=value, ...)`"""
        args, attrs = list[X](), dict[str, Any]()

        def one() -> None:
            if self.next.kind in ("name", "quoted") and self.after.text == "=":
                key = self.name()
                self.expect("=")
                attrs[key] = self.attr()
            else:
                args.append(arg())

        self.expect("(")
        self.many(one, ")")
        return args, attrs
