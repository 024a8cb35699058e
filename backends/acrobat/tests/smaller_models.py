"""Smaller texts that show the same defect: statements are taken away, and branches and loops become what is inside them.

Runs of statements are tried together first. What is not a model any more does not fail in the same way, and so is not taken.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from backends.acrobat.tests.random_models import Written

WIDTHS = (8, 3, 1)


def smaller(written: Written, fails: Callable[[Written], bool], attempts: int) -> Written:
    """The smallest text met that fails, after at most so many calls of `fails`."""
    best, left = written, attempts
    changed = True
    while changed and left > 0:
        changed = False
        for width in WIDTHS:
            at = 0
            while left > 0:
                candidates = list(candidates_at(best.text, at, width))
                if not candidates:
                    break
                for text in candidates:
                    left -= 1
                    if text != best.text and fails(Written(text)):
                        best, changed = Written(text), True
                        break
                else:
                    at += width
    return best


def candidates_at(text: str, at: int, width: int) -> Iterator[str]:
    """The text without `width` statements of one body, the first of which is number `at` of all; and with what is inside of
    that one in its place. Nothing if there are not so many statements."""
    tree = ast.parse(text)
    number = 0
    for body in bodies(tree):
        if at < number + len(body):
            first = at - number
            gone = body[first : first + width]
            inside = [s for name in ("body", "orelse") for s in getattr(gone[0], name, [])] if width == 1 else []
            kept = list(body)
            body[first : first + width] = [] if len(body) > len(gone) else [ast.Pass()]
            yield ast.unparse(tree)
            if inside and isinstance(gone[0], (ast.If, ast.For, ast.While)):
                body[:] = [*kept[:first], *inside, *kept[first + 1 :]]
                yield ast.unparse(tree)
            return
        number += len(body)


def bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements, that of `forward` of the model before those of what it may call."""
    found = [
        getattr(node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse")
        if isinstance(getattr(node, name, None), list) and not isinstance(node, ast.Lambda)
    ]
    yield from (body for body in reversed(found) if body)
