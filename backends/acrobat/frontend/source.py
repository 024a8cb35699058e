"""The Python source of functions, as syntax trees with positions in their files."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cache, singledispatchmethod, update_wrapper
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any

from backends.acrobat.core.span import Span
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.lambdas import definition_of, written
from backends.acrobat.frontend.memos import with_memos
from backends.acrobat.frontend.present_keys import mark_present_keys
from backends.acrobat.frontend.private_names import spell_out_private_names
from backends.acrobat.frontend.remembered import cache_of, cached, depends_on_arguments, with_remembered
from backends.acrobat.frontend.separate_assignments import separate_assignments
from backends.acrobat.frontend.single_dispatch import generic_of, written_out

Functions = dict[str, list[ast.FunctionDef]]
"""The definitions in a file, by name."""
Codes = dict[tuple[str, int], list[CodeType]]
"""The code of the functions in a file, by name and first line."""


@dataclass(frozen=True)
class Lifted:
    """A nested function as a function of its own. Names that it uses from the functions around it are parameters of
    `definition`; `outer` is the Python function around it, `others` are the definitions of nested functions that it calls."""

    definition: ast.FunctionDef
    file: str
    outer: FunctionType | None
    others: tuple[ast.FunctionDef, ...]
    sees: frozenset[str] = frozenset()
    """Those of its parameters that are names of the functions around it, or that functions see which it is given."""
    changes: frozenset[str] = frozenset()
    """Those of them that a function changes which it is given."""
    escapes: Any = None
    """The exceptions that its callers catch, which it gives as a part of its result (`functions/exceptions.py`)."""


PYTHON = sysconfig.get_path("stdlib")
"""The folder of the modules that Python brings. Those that are installed may be in a folder of it, `site-packages`."""


OF_TORCH = ("torch.utils._contextlib", "torch._dynamo.eval_frame")
"""Modules of torch whose wrappers around a function compute what the function does."""
OWN = str(Path(__file__).resolve().parents[1])
"""The folder of this compiler, which may be an installed library, too."""


def of_python(file: str) -> bool:
    """Whether a file of source belongs to Python itself."""
    return file.startswith((PYTHON + os.sep, "<frozen ")) and not is_installed(file)


def is_installed(file: str) -> bool:
    """Whether a file of source belongs to a library that is installed beside Python."""
    return ("site-packages" in file or "dist-packages" in file) and not file.startswith(OWN)


LIFTED: dict[FunctionType, Lifted] = {}
UNCACHED: dict[FunctionType, FunctionType] = {}
"""Functions of which a cache keeps results that is no decorator -> the same ones in `LIFTED`, without it (`uncached`)."""

GENERIC: dict[FunctionType, FunctionType] = {}
"""Functions in `LIFTED` that are one of `functools.singledispatch` written out -> the latter."""


@cache
def _parse(file: str, text: str) -> tuple[Functions, Codes, list[ast.Lambda]]:
    tree = ast.parse(text, file)
    compiled = [compile(tree, file, "exec", dont_inherit=True)]
    compiled += with_memos(tree, file)
    spell_out_private_names(tree)
    with_remembered(tree)
    separate_assignments(tree)
    mark_present_keys(tree)
    functions: Functions = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    codes: Codes = {}
    for code in every_code(compiled):
        codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    return functions, codes, [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]


def every_code(codes: list[CodeType]) -> Iterator[CodeType]:
    """The codes, and those of all functions within them."""
    pending = [*codes]
    while pending:
        yield (code := pending.pop())
        pending += [c for c in code.co_consts if isinstance(c, CodeType)]


def parse(file: str) -> tuple[Functions, Codes, list[ast.Lambda]]:
    """The syntax trees and the code of the functions in a file as it is now, and its lambdas. The text of a notebook's cell or
    of an interactive session comes from Python's `linecache`. Raises OSError if there is no text."""
    linecache.checkcache(file)  # keeps entries that have no file
    if not os.path.exists(file) and (lines := linecache.getlines(file)):
        return _parse(file, "".join(lines))
    stat = os.stat(file)
    return _parse(file, _text(file, (stat.st_mtime_ns, stat.st_size)))


@cache
def _text(file: str, version: tuple[int, int]) -> str:
    return Path(file).read_text(encoding="utf-8")


def stripped(function: Any) -> Any:
    """The function without torch's own decorators, such as `@torch.no_grad()` and `@torch.compile`, and without a cache whose
    results depend on their keys alone (`remembered`), and one that dispatches by the class of an argument written out
    (`single_dispatch`). Other wrappers stay, since a call runs them."""
    while hasattr(function, "__wrapped__") and getattr(function, "__globals__", {}).get("__name__") in OF_TORCH:
        function = function.__wrapped__
    if isinstance(function, _lru_cache_wrapper) and isinstance(function.__wrapped__, FunctionType):
        inner: FunctionType = function.__wrapped__
        return inner if inner.__name__ != "<lambda>" and cache_of(_definition(inner)[0]) else function
    if (generic := generic_of(function)) is not None:
        return _dispatching(generic, isinstance(function, singledispatchmethod), tuple(generic.registry.items())) or function  # type: ignore[attr-defined]
    return function


@cache
def _dispatching(generic: FunctionType, of_method: bool, registered: tuple[Any, ...]) -> FunctionType | None:
    """A function with what was registered of one of `functools.singledispatch`, written out; None where it cannot be."""
    if (made := written_out(generic, of_method)) is None:
        return None
    function, definition = made
    LIFTED[function] = Lifted(definition, function.__code__.co_filename, None, ())
    GENERIC[function] = generic
    return function


def static_attribute(cls: type, name: str, default: Any = None) -> Any:
    """What a class has under a name, which may be a property or the like; of a method that dispatches by the class of its
    argument, the function that does so."""
    attribute = inspect.getattr_static(cls, name, default)
    return stripped(attribute) if isinstance(attribute, singledispatchmethod) else attribute


def dispatching_method(owner: object, name: str) -> FunctionType | None:
    """The function of a method that dispatches by the class of its argument, written out; None for other attributes."""
    method = None if name in vars(owner) else static_attribute(type(owner), name)
    return method if isinstance(method, FunctionType) and method in GENERIC else None


def uncached(value: Any) -> Any:
    """The function or bound method of which `lru_cache(...)(self.encode)` keeps results, as one of which `cache_of` says so.
    Other values stay as they are, and so do functions with a cache as a decorator (`stripped`), and those whose form does not
    allow to leave it out (`depends_on_arguments`)."""
    if not isinstance(value, _lru_cache_wrapper):
        return value
    inner = value.__wrapped__
    function = stripped(inner.__func__ if isinstance(inner, MethodType) else inner)
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        return value
    if function not in UNCACHED:
        try:
            definition, file = source_of(function)
        except CompileError:
            return value  # of a library, say, that is written in another language
        if cache_of(definition) or not depends_on_arguments(definition):
            return value
        parts = function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        plain = FunctionType(*parts)
        update_wrapper(plain, function)
        del plain.__wrapped__  # type: ignore[attr-defined]
        LIFTED[plain] = Lifted(cached(definition, "lru_cache"), file, function, ())
        UNCACHED[function] = plain
    plain = UNCACHED[function]
    return MethodType(plain, inner.__self__) if isinstance(inner, MethodType) else plain


def source_of(function: FunctionType) -> tuple[ast.FunctionDef, str]:
    """The definition of `function` and its file: of what a decorator has made, if it is the model's own. One that a library
    has wrapped gives the definition with the decorator. Raises CompileError if there is no source, or if it is not that of the
    function in memory."""
    if function in LIFTED:
        return LIFTED[function].definition, LIFTED[function].file
    function = stripped(function)
    return _definition(inspect.unwrap(function) if wrapped_by_library(function) else function)


def wrapped_by_library(function: Any) -> bool:
    """Whether a function is what a decorator of Python's own or of torch has made of another one that has a definition."""
    inner = inspect.unwrap(function)
    home = getattr(function, "__globals__", {"__name__": "functools"}).get("__name__", "").partition(".")[0]
    return inner is not function and isinstance(inner, FunctionType) and (home in sys.stdlib_module_names or home == "torch")


def _definition(function: FunctionType) -> tuple[ast.FunctionDef, str]:
    code = function.__code__
    file, line = inspect.getsourcefile(function) or code.co_filename, code.co_firstlineno
    where = Span(file, line)
    try:
        functions, codes, lambdas = parse(file)
    except (OSError, SyntaxError) as error:
        typed = file.startswith("<")  # <stdin>, <string>
        problem = f"the source of `{function.__qualname__}` " + ("was not kept by Python" if typed else "cannot be read")
        advice = "define the model in a file and import it: code from standard input or `exec` leaves no source behind"
        raise CompileError([Problem(where, problem, advice)]) from error
    if code.co_name == "<lambda>" and (code in codes.get(("<lambda>", line), []) or not os.path.exists(file)):
        if (result := written(code, lambdas)) is not None:
            return definition_of(result), file
        problem = "which of the lambdas in this line is meant cannot be told"
        raise CompileError([Problem(where, problem, "write one in a line, or a function")])
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        problem = f"`{function.__qualname__}` is an `async` function, which is not in the language"
        advice = "leave `async` and `await` out: instances are batched by themselves"
        raise CompileError([Problem(where, problem, advice)])
    for node in functions.get(code.co_name, []):
        if line in (node.lineno, *(d.lineno for d in node.decorator_list)):
            of_file = codes.get((code.co_name, line), [])
            if not os.path.exists(file):  # its code need not be equal: an earlier cell may import from `__future__`
                return node, file
            if code in of_file or (_rewritten(function, node) and any(_alike(code, c) for c in of_file)):
                return node, file
    problem = f"`{function.__qualname__}` in memory is not the one in this file, which was changed after it was imported"
    raise CompileError([Problem(where, problem, "import the module again, or start Python again")])


def _rewritten(function: FunctionType, node: ast.FunctionDef) -> bool:
    """Whether the module was imported by a loader that rewrites `assert`, as pytest does for tests."""
    loader = getattr(sys.modules.get(function.__module__), "__loader__", None)
    return not isinstance(loader, SourceFileLoader) and any(isinstance(n, ast.Assert) for n in ast.walk(node))


def _alike(rewritten: CodeType, code: CodeType) -> bool:
    """Whether two codes, by the names in them, may come from one function whose asserts were rewritten for one of them."""
    arguments = code.co_argcount + code.co_kwonlyargcount
    return (
        set(code.co_names) - {"AssertionError"} <= set(rewritten.co_names)
        and code.co_varnames[:arguments] == rewritten.co_varnames[:arguments]
    )


def closure(function: FunctionType) -> dict[str, Any]:
    """The values of the variables that a function uses from the functions around it, by name."""
    if function in LIFTED:
        outer = LIFTED[function].outer
        return {} if outer is None else closure(outer)
    cells = function.__closure__ or ()
    out = {}
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            out[name] = cell.cell_contents
        except ValueError:
            continue
    return out


def harmless(decorator: ast.expr) -> bool:
    """Whether a decorator changes nothing about what is computed."""
    plain = (
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        "functools.cached_property",
        "torch.no_grad()",
        "torch.inference_mode()",
        "no_grad()",
        "inference_mode()",
    )
    return ast.unparse(decorator) in plain


def decorated(function: Any) -> str:
    """What is wrong with the decorators of a function, or "". Those of the model's own have done all that they do."""
    function = stripped(function)
    return strange_decorator(source_of(inspect.unwrap(function))[0]) if wrapped_by_library(function) else ""


def strange_decorator(definition: ast.FunctionDef) -> str:
    """What is wrong with the decorators of a function that is defined while the model runs, or ""."""
    strange = [ast.unparse(d) for d in definition.decorator_list if not harmless(d)]
    return f"`{definition.name}` is decorated with `{strange[0]}`, which is not in the language" if strange else ""


def span_of(node: ast.AST, file: str) -> Span:
    line, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
    start, stop = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0) or 0
    if not _is_ascii(file):
        start, stop = _column(file, line, start), _column(file, end, stop)
    return Span(file, line, start, end, stop)


_ascii: dict[str, tuple[list[str], bool]] = {}
"""File -> its lines when it was asked about, and whether they are ASCII."""


def _is_ascii(file: str) -> bool:
    """Whether the columns in a file that `ast` gives, in bytes, are those in characters."""
    lines, found = linecache.getlines(file), _ascii.get(file)
    if found is None or found[0] is not lines:
        found = _ascii[file] = lines, all(map(str.isascii, lines))
    return found[1]


def _column(file: str, line: int, offset: int) -> int:
    """The column, in characters, of an offset in bytes, which `ast` gives."""
    return len(linecache.getline(file, line).encode()[:offset].decode(errors="ignore"))
