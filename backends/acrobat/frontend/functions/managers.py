"""`with Scope(stack) as s:` of a class of the model's own: a `try` with what `__exit__` does as its `finally`."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes_of
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.source import is_installed, of_python, source_of
from backends.acrobat.frontend.syntax_nodes import all_parameters, is_variable, names_in


def as_try(s: ast.With, cls: Any) -> list[ast.stmt] | None:
    """The statements for a `with` whose first context is an object that a call of `cls` makes; None where this is no class with
    methods in the source, or where `__exit__` looks at exceptions."""
    enter, leave = (_method(cls, name) for name in ("__enter__", "__exit__"))
    if enter is None or leave is None or not _is_end(leave):
        return None
    (item, *others) = s.items
    body: list[ast.stmt] = [ast.copy_location(ast.With(others, s.body), s)] if others else s.body
    whole: ast.expr | None = item.optional_vars
    manager = hidden("manager", item.context_expr)
    if isinstance(whole, ast.Name) and _gives_itself(enter) and whole.id not in names_in(s.body, ast.Store):
        manager, whole = whole.id, None  # type: ignore[assignment]
    entered = "target = manager.__enter__()" if whole is not None else "manager.__enter__()"
    made = quoted(s, f"manager = made\n{entered}", manager=manager, made=item.context_expr, target=whole or "")
    end = quoted(s, "manager.__exit__(None, None, None)", manager=manager)
    return [*made, ast.copy_location(ast.Try(body, [], [], end), s)]


def _method(cls: Any, name: str) -> ast.FunctionDef | None:
    """The definition of a method of a class, if that is one of the model's own."""
    method = inspect.getattr_static(cls, name, None) if isinstance(cls, type) else None
    if not isinstance(method, FunctionType):
        return None
    try:
        definition, file = source_of(method)
    except CompileError:
        return None
    return None if of_python(file) or is_installed(file) else definition


def _is_end(leave: ast.FunctionDef) -> bool:
    """Whether an `__exit__` does the same whether there is an exception or not, and lets that pass."""
    me, *_ = leave.args.args
    reads = (all_parameters(leave) - {me.arg}).intersection(names_in(leave.body))
    returned = [x.value for x in own_nodes_of(leave) if isinstance(x, ast.Return) and x.value is not None]
    return not reads and all(isinstance(x, ast.Constant) and not x.value for x in returned)


def _gives_itself(enter: ast.FunctionDef) -> bool:
    """Whether an `__enter__` gives the object itself."""
    returned = [x.value for x in own_nodes_of(enter) if isinstance(x, ast.Return)]
    last = isinstance(enter.body[-1], ast.Return)
    return last and all(x is not None and is_variable(x, enter.args.args[0].arg) for x in returned)
