"""The contexts of `with` statements: those that change nothing about what is computed are entered, all others are refused."""

from __future__ import annotations

import ast
import contextlib

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import is_unknown
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.values import Static, Value, unknown

CHANGES_NOTHING = Static(contextlib.nullcontext())
"""The value of a context in which everything is computed as outside of it."""


@handles(FUNCTIONS, contextlib.nullcontext)
def _nullcontext(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    CallArguments("nullcontext", args, kwargs).bind()
    return CHANGES_NOTHING


def enter(f: Frame, s: ast.With) -> bool:
    """Compile the contexts of a `with` statement. False, with a problem noted, for one that may change something."""
    for item in s.items:
        value = f.expression(item.context_expr)
        if is_unknown(value):  # a problem is noted where it is computed
            for x in every_node(item.optional_vars) if item.optional_vars is not None else ():
                if isinstance(x, ast.Name):
                    f.rebind(x.id, unknown())
            continue
        written = ast.unparse(item.context_expr)
        if not (isinstance(value, Static) and isinstance(value.value, contextlib.nullcontext)):
            what = f"`with {written}` is not in the language: what it does before and after its statements is not compiled"
            f.problem(item.context_expr, what, "leave it out, or call functions that do it before and after")
            return False
        if item.optional_vars is not None:
            f.problem(item.optional_vars, f"`with {written}` gives nothing to name", "leave out what is behind `as`")
            return False
    return True
