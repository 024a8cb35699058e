"""The Python source of functions, as syntax trees with positions in their files."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
from functools import cache
from types import FunctionType

from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.ir.nodes import Span


@cache
def _parse(file: str, version: tuple[int, int]) -> ast.Module:
    linecache.checkcache(file)
    with open(file, encoding="utf-8") as f:
        return ast.parse(f.read(), file)


def parse(file: str) -> ast.Module:
    """The file's syntax tree, as the file is now."""
    stat = os.stat(file)
    return _parse(file, (stat.st_mtime_ns, stat.st_size))


def source_of(function: FunctionType) -> tuple[ast.FunctionDef, str]:
    """The definition of `function` and the file it stands in. Raises CompileError if there is no source."""
    function = inspect.unwrap(function)
    file = inspect.getsourcefile(function)
    line = function.__code__.co_firstlineno
    try:
        tree = parse(file or "")
    except (OSError, SyntaxError):
        tree = None
    if tree is not None:
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or node.name != function.__name__:
                continue
            if line in (node.lineno, *(d.lineno for d in node.decorator_list)):
                return node, str(file)
    where = Span(str(file or "<unknown>"), line)
    raise CompileError(
        [
            Problem(
                where,
                f"the source of `{function.__qualname__}` cannot be read",
                "define the model in a file, not in an interactive session",
            )
        ]
    )


def harmless(decorator: ast.expr) -> bool:
    """Whether a decorator, or what a `with` statement enters, leaves what is computed as it is."""
    plain = ("staticmethod", "torch.no_grad()", "torch.inference_mode()", "no_grad()", "inference_mode()")
    return ast.unparse(decorator) in plain


def decorated(definition: ast.FunctionDef) -> str:
    """What is wrong with the decorators of a function, or ""."""
    strange = [ast.unparse(d) for d in definition.decorator_list if not harmless(d)]
    return f"`{definition.name}` is decorated with `{strange[0]}`, which is not in the language" if strange else ""


def span_of(node: ast.AST, file: str) -> Span:
    line, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
    return Span(
        file,
        line,
        _column(file, line, getattr(node, "col_offset", 0)),
        end,
        _column(file, end, getattr(node, "end_col_offset", 0) or 0),
    )


def _column(file: str, line: int, offset: int) -> int:
    """In characters; `ast` counts bytes."""
    text = linecache.getline(file, line)
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))
