"""`raise` and `assert`: errors of the instance, with the model's own text."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.conditions.conditions import decide, truth
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.scalars.text_fields import fields_of
from backends.acrobat.frontend.evaluator.tables import LEAVING, STATEMENTS, Exits, handles
from backends.acrobat.frontend.kinds import kind, known, type_or_none
from backends.acrobat.frontend.values import Static, Value

CAUGHT = "write `raise C(...)`, with a class `C` of the file, in the function that `try` calls"


@handles(LEAVING, ast.Raise)
def _raise(f: Frame, s: ast.Raise, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    return failing(f, s)


@handles(STATEMENTS, ast.Raise)
def _raise_here(f: Frame, s: ast.Raise) -> None:
    failing(f, s)


@handles(LEAVING, ast.Assert)
def _narrowing(f: Frame, s: ast.Assert, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    return decide(f, s, s.test, lambda: f.value_of(rest, exits), lambda: _not_so(f, s))


@handles(STATEMENTS, ast.Assert)
def _assert(f: Frame, s: ast.Assert) -> None:
    choose(f, s, truth(f, s.test), lambda: Static(None), lambda: _not_so(f, s))


def raised_if(f: Frame, s: ast.If) -> None:
    """Compile `if test: raise ...` as a check, so that what follows is not compiled inside of an arm."""
    choose(f, s, truth(f, s.test), lambda: failing(f, s.body[0]), lambda: Static(None))


def failing(f: Frame, s: ast.stmt) -> Value:
    """Stage the error of the `raise` statement `s`; gives a value of type NEVER."""
    assert isinstance(s, ast.Raise)
    with f.at(s):
        callee = s.exc.func if isinstance(s.exc, ast.Call) else s.exc
        kind = f.borrowed(callee) if callee is not None else None
        if not (isinstance(kind, Static) and isinstance(kind.value, type) and issubclass(kind.value, Exception)):
            return f.problem(s, "`raise` takes an exception that is made here", 'write `raise ValueError("...")`')
        f.program.raises(kind.value)
        if issubclass(kind.value, f.catching):
            return f.problem(s, "an exception that is caught is raised here in a way that is not followed", CAUGHT)
        arguments = s.exc.args if isinstance(s.exc, ast.Call) else []
        return _fail(f, kind.value.__name__, arguments)


def _not_so(f: Frame, s: ast.Assert) -> Value:
    with f.at(s):
        return _fail(f, "AssertionError", [s.msg if s.msg is not None else ast.Constant(f"assert {ast.unparse(s.test)}")])


def _fail(f: Frame, kind: str, parts: Sequence[ast.expr]) -> Value:
    text = _Text(f)
    for i, part in enumerate(parts):
        text.constant(", " if i else ": ")
        text.add(part)
    return fail(f, kind + text.format, text.values, frozenset(text.symbols))


class _Text:
    """The message of an error, under construction: `format.format(*values)`, where `symbols` has the indices of strings."""

    def __init__(self, f: Frame) -> None:
        self.f = f
        self.format = ""
        self.values: list[Value] = []
        self.symbols: list[int] = []

    def constant(self, text: str) -> None:
        self.format += text.replace("{", "{{").replace("}", "}}")

    def add(self, part: ast.expr) -> None:
        """Append what an expression shows as text: an f-string, texts joined by `+`, `str(x)`, or a value."""
        match part:
            case ast.Constant(str() as text):
                self.constant(text)
            case ast.JoinedStr(parts):
                for inner in parts:
                    self.add(inner)
            case ast.FormattedValue(inner, conversion, spec):
                wanted = spec.values[0].value if isinstance(spec, ast.JoinedStr) and len(spec.values) == 1 else ""  # type: ignore[attr-defined]
                self.show(inner, chr(conversion) if conversion != -1 else "", str(wanted))
            case ast.BinOp(left, ast.Add(), right) if self.is_text(left):
                self.add(left)
                self.add(right)
            case ast.Call(ast.Name("str"), [inner], []):
                self.show(inner, "", "")
            case ast.Call(ast.Name("repr"), [inner], []):
                self.show(inner, "r", "")
            case ast.BinOp(ast.Constant(str() as template), ast.Mod(), given):
                for field in fields_of(self.f, part, template, self.f.borrowed(given)):
                    self.put(field.value, field.conversion, field.spec)
            case _:
                self.show(part, "", "")

    def is_text(self, part: ast.expr) -> bool:
        """Whether an expression is known to be a string."""
        match part:
            case ast.Constant(str()) | ast.JoinedStr() | ast.Call(ast.Name("str" | "repr"), [_], []):
                return True
            case ast.BinOp(left, ast.Add(), _):
                return self.is_text(left)
            case ast.BinOp(ast.Constant(str()), ast.Mod()):
                return True
        with self.f.trial():
            value = self.f.borrowed(part)
        return kind(value) == "string" or isinstance(known(value)[1], str)

    def show(self, part: ast.expr, conversion: str, spec: str) -> None:
        """Append a value; of one that is neither a number nor a string, what it is."""
        self.put(self.f.borrowed(part), conversion, spec)

    def put(self, value: Value, conversion: str, spec: str) -> None:
        is_known, x = known(value)
        how = (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
        if is_known:
            self.constant(f"{{0{how}}}".format(x))
        elif kind(value) in ("number", "string"):
            if kind(value) == "string":
                self.symbols.append(len(self.values))
            self.format += f"{{{len(self.values)}{how}}}"
            self.values.append(value)
        else:
            self.constant(f"<{describe(type_or_none(value))}>")
