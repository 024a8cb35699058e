"""Shrinks the text of a model that shows a defect: removes statements, and replaces branches and loops by their bodies.

Runs of several statements are tried first. A text that is no valid model any more fails in another way, so it is not taken.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from backends.acrobat.tests.random_models import Written

WIDTHS = (8, 3, 1)


def smaller(written: Written, fails: Callable[[Written], bool], attempts: int) -> Written:
    """The smallest text found for which `fails` is true, after at most `attempts` calls of it."""
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
    """Yields the text without `width` statements of one body, from statement number `at` of the whole text on; and if `width`
    is 1, the text with the body of a branch or loop in its place. Yields nothing if there is no statement `at`."""
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
    """Every list of statements, from the end of the text on, so that `forward` comes before what it calls."""
    found = [
        getattr(node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse")
        if isinstance(getattr(node, name, None), list) and not isinstance(node, ast.Lambda)
    ]
    yield from (body for body in reversed(found) if body)
