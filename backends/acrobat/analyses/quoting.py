"""The source text that messages of analyses quote.

Source: our own.
"""

from __future__ import annotations

import linecache
import re

from backends.acrobat.core.span import Span

LONG = 6
"""Chains with more steps are shortened in the middle."""


def source(span: Span) -> str:
    """The text of a span in its file, cut at the line's end."""
    line = linecache.getline(span.file, span.line)
    end = span.end_column if span.end_line == span.line else None
    return f"`{line[span.column : end].strip()}`" + ("..." if end is None else "")


def covers(outer: Span, inner: Span) -> bool:
    """Whether the source text of `inner` lies within that of `outer`."""
    starts = (outer.line, outer.column) <= (inner.line, inner.column)
    return outer.file == inner.file and starts and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def chain_text(chain: list[str]) -> str:
    """The steps of a chain as one text."""
    if len(chain) > LONG:
        chain = [*chain[: LONG // 2], "...", *chain[-(LONG // 2) :]]
    return " -> ".join(chain)


def plain_name(name: str, span: Span) -> str:
    """A variable's name without the number that made it unique."""
    lines = [linecache.getline(span.file, i) for i in range(span.line, span.end_line + 1)]
    own = any(re.search(rf"\b{re.escape(name)}\b", line) for line in lines)
    return name if own else re.sub(r"_\d+$", "", name)
