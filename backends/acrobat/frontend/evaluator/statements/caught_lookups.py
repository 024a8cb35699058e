"""Lookups whose failure is caught: `try: h = memo[x]` with `except KeyError:`, and likewise lists with `IndexError` and
`ValueError`. Such a `try` is compiled as a test whether the lookup would fail, and the lookup.

    try:                       if x in memo:
        h = memo[x]                h = memo[x]
    except KeyError:           else:
        h = self.cell(x)           h = self.cell(x)

The lookups that may fail are in the first statement of the `try`, and nothing that has an effect is computed before them. The
same is done for `int(text)` and `float(text)` of a string that is no number, with `except ValueError:`, for `next(words)` of an
iterator that has a name, with `except StopIteration:`, and for divisions of numbers. In a `try` of another form the same tests
stand before each of its statements (`lookups_fail`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from backends.acrobat.core.types import DICT, LIST, TUPLE, DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.bodies import placed
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, quoted_expression
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import is_number, is_string, kind, nothing_known, retyped, type_of, type_or_none
from backends.acrobat.frontend.syntax_nodes import children, every_node
from backends.acrobat.frontend.types import SYMBOL, word_of_type
from backends.acrobat.frontend.values import Dyn, Static, unknown
from backends.acrobat.library import strings

CAUGHT = (KeyError, IndexError, LookupError, ValueError, StopIteration, ZeroDivisionError, ArithmeticError)
ADVICE = "exceptions of Python's own are caught where `try` begins with a lookup: `try: h = memo[x]`, `except KeyError:`"
COMPUTED, NAME_BEFORE = "the lookup of this `try` is of something that is computed there", "give it a name before the `try`"
WITHOUT_EFFECT = frozenset({"len", "int", "str", "tuple", "id", "lower", "upper", "strip", "item", "split"})
"""Functions and methods that may be called before the lookup, and twice."""
LOOKUPS = frozenset({"index", "pop", "popleft", "remove", "append", "extend", "float", "next"})
"""Functions and methods of lists that may be called in a `try` with `except:`; those that may fail are looked at themselves."""
SOMETIMES = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
"""Nodes that do not compute all that is inside of them, or not once."""
Kind = Literal["dict", "list", "sure", "unclear"]
"""What is looked up in: a dictionary, a list, what gives a value for each key, and what may fail in another way."""


def as_test(f: Frame, s: ast.Try, caught: Any) -> ast.stmt:
    """The statement for a `try` that catches the exceptions `caught`, one class or a tuple of classes of Python's own. Raises
    Refused if it is not of the form above."""
    classes = caught if isinstance(caught, tuple) else (caught,)
    # Of several that are caught a TypeError is that of `int(None)`; others are errors of the instance.
    if others := [cls.__name__ for cls in classes if cls not in CAUGHT and (cls is not TypeError or len(classes) == 1)]:
        raise Refused(f"a `{others[0]}` is not caught in the language", "test for what would raise it")
    if s.finalbody:
        raise Refused("a `try` with `except` and `finally` is not in the language", "write one inside of the other")
    handler = s.handlers[0]
    if handler.name and any(isinstance(x, ast.Name) and x.id == handler.name for b in handler.body for x in every_node(b)):
        raise Refused(f"`{handler.name}` is an exception of Python's own, which the language has no value for", ADVICE)
    tests = {node: test for node in _inner_first(s.body) if (test := _test(f, node, classes)) is not None}
    if not tests:
        if calls := [x for b in s.body for x in every_node(b) if isinstance(x, ast.Call) and not _has_no_effect(x)]:
            raise Refused(f"it is not known how `{ast.unparse(calls[0])}` fails in this `try`", ADVICE)
        return placed(s, ast.If(ast.Constant(True), [*s.body, *s.orelse], handler.body))
    if len(tests) > 1 and any(isinstance(node, ast.Call) and _changes(node) for node in tests):
        raise Refused("this `try` has several lookups in it that may fail, and one of them changes a list", ADVICE)
    if not all(_is_first(s.body[0], node, tests) for node in tests):
        raise Refused("a lookup of this `try` comes after something else, or is not always computed", ADVICE)
    body = [*_with_named_value(s.body[0]), *s.body[1:], *s.orelse]
    return placed(s, ast.If(_all_of(tests), body, handler.body))


def lookups_fail(f: Frame, s: ast.stmt, classes: Sequence[type]) -> ast.expr | None:
    """Whether one of the lookups with which a statement begins will fail with an exception of one of the classes; None if none
    does. The failures of other lookups are errors of the instance."""
    tests: dict[ast.AST, ast.expr] = {}
    raised = [cls for cls in (*CAUGHT, TypeError) if issubclass(cls, tuple(classes))]
    for node in _inner_first([s]):
        try:
            test = _test(f, node, raised)
        except Refused:
            continue
        if test is not None and _is_first(s, node, tests):
            tests[node] = test
    return ast.UnaryOp(ast.Not(), _all_of(tests)) if tests else None


def _all_of(tests: Mapping[ast.AST, ast.expr]) -> ast.expr:
    """Whether all of the tests hold, each of which is that of a lookup."""
    every = list(tests.values())
    return every[0] if len(every) == 1 else ast.BoolOp(ast.And(), every)


def fails_by_lookups(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing in a `try` that catches all exceptions, by `except:`, may raise others than those of lookups."""
    for x in (x for s in body for x in every_node(s)):
        match x:
            case ast.Call(ast.Attribute(attr=name) | ast.Name(name)) if name in WITHOUT_EFFECT or name in LOOKUPS:
                pass
            case ast.Call() | ast.Raise() | ast.Assert() | ast.Div() | ast.Mod() | ast.FloorDiv() | ast.Pow():
                return False
    return True


def _changes(lookup: ast.Call) -> bool:
    """Whether a lookup is a call that removes something from where it looks."""
    return isinstance(lookup.func, ast.Attribute) or _name_of(lookup.func) == "next"


def _with_named_value(first: ast.stmt) -> list[ast.stmt]:
    """The first statement of a `try`; one that only tries a lookup, as `float(text)`, gives the value a name."""
    if isinstance(first, ast.Expr) and not (isinstance(first.value, ast.Call) and isinstance(first.value.func, ast.Attribute)):
        return quoted(first, "tried = value", tried=hidden("tried"), value=first.value)
    return [first]


def _inner_first(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes in the order in which Python computes them."""
    for node in body:
        yield from _inner_first(children(node))
        yield node


def _test(f: Frame, node: ast.AST, classes: Sequence[type]) -> ast.expr | None:
    """Whether a lookup will not fail with an exception of one of the classes, as an expression; None where it never does."""
    error: type | None = None
    match node:
        case ast.Subscript(owner, ast.Slice(), ast.Load()) if _kind(f, owner) == "list":
            return None
        case ast.Call(ast.Attribute(owner, "index"), [key, start], []):
            if not _has_no_effect(start):
                raise Refused(COMPUTED, NAME_BEFORE)
            rest = quoted_expression(node, "owner[start:].index(key)", owner=owner, start=start, key=key)
            return _test(f, rest, classes)
        case ast.Subscript(owner, key, ast.Load()):
            pass
        case ast.Call(ast.Attribute(owner, "pop" | "popleft"), [], []):
            key = ast.Constant(-1)
        case ast.Call(ast.Attribute(owner, "pop"), [key], []):
            pass
        case ast.Call(ast.Attribute(owner, "index" | "remove"), [key], []):
            error = ValueError
        case ast.Call(ast.Name("int" | "float" as name), [written], []) if ValueError in classes and _may_be_text(f, written):
            if not _has_no_effect(written):
                raise Refused("what this `try` reads a number from is computed there", "give it a name before the `try`")
            return _reads_as_number(f, name, written, TypeError in classes)
        case ast.BinOp(_, ast.Div() | ast.FloorDiv() | ast.Mod(), divisor) if issubclass(ZeroDivisionError, tuple(classes)):
            return _is_not_zero(f, divisor)
        case ast.Call(ast.Name("next"), [ast.Name() | ast.Attribute() as owner], []) if StopIteration in classes:
            return _has_next(f, node, owner)
        case _:
            return None
    what = _kind(f, owner)
    if what == "sure":
        return None
    if what == "unclear" or error is not None and what == "dict":
        raise Refused(f"it is not known how `{ast.unparse(node)}` fails in this `try`", ADVICE)
    if error is None:
        error = KeyError if what == "dict" else IndexError
    if not any(issubclass(error, cls) for cls in classes):
        return None
    if not _has_no_effect(owner) or not _has_no_effect(key):
        raise Refused(COMPUTED, NAME_BEFORE)
    if error is not IndexError:
        return ast.Compare(key, [ast.In()], [owner])
    size: ast.expr = ast.Call(CompiledNode(Static(len)), [owner], [])
    return ast.Compare(ast.UnaryOp(ast.USub(), size), [ast.LtE(), ast.Lt()], [key, size])


def _is_not_zero(f: Frame, divisor: ast.expr) -> ast.expr | None:
    """Whether a number by which is divided is not 0; None for a tensor, which may be 0. Raises Refused."""
    with f.trial():
        value = f.borrowed(divisor)
    if not is_number(value):
        return None
    if not _has_no_effect(divisor):
        raise Refused("what this `try` divides by is computed there", NAME_BEFORE)
    return ast.Compare(divisor, [ast.NotEq()], [ast.Constant(0)])


def _has_next(f: Frame, node: ast.AST, owner: ast.expr) -> ast.expr:
    """Whether an iterator that has a name has not given all yet. Raises Refused."""
    with f.trial():
        value = f.borrowed(owner)
    if kind(value) != "iterator" or not f.is_builtin("next"):
        if nothing_known(value):
            return CompiledNode(unknown())  # a later round knows
        raise Refused(f"it is not known how `{ast.unparse(node)}` fails in this `try`", ADVICE)
    left = retyped(value, replace(type_of(value), kind=LIST))  # type: ignore[arg-type]
    return ast.Compare(ast.Call(CompiledNode(Static(len)), [CompiledNode(left)], []), [ast.Gt()], [ast.Constant(0)])


def _kind(f: Frame, owner: ast.expr) -> Kind:
    """The kind of the value of an expression in which something is looked up, found without compiling it."""
    with f.trial():
        value = f.borrowed(owner)
    if nothing_known(value):
        return "sure"  # a later round knows
    if isinstance(value, Static):
        return "dict" if type(value.value) is dict else "list" if isinstance(value.value, (list, tuple, str)) else "unclear"
    match type_or_none(value):
        case ListT(rows=None, kind=kind) if kind == DICT:
            return "dict"
        case ListT(rows=None, kind=kind) if kind in (LIST, TUPLE):
            return "list"
        case TupleT():
            return "list"
        case ListT(container="dict", rows=None):
            return "sure"
        case DataT(name) if all(issubclass(cls, RecordOf) for cls in f.program.datatypes.cases.get(name, (object,))):
            return "dict"
    return "unclear"


def _may_be_text(f: Frame, written: ast.expr) -> bool:
    """Whether the value of an expression may be a string, which may be no number. Found without compiling it."""
    with f.trial():
        value = f.borrowed(written)
    return is_string(value) or isinstance(value, Dyn) and "str" in _types_of(f, value)


def _types_of(f: Frame, value: Dyn) -> Collection[str]:
    """The words in `PYTHON_TYPES` for the types that a value may have."""
    inner = f.without_none(value.type)
    return f.mixed(inner).keys() or {word_of_type(inner)}


def _reads_as_number(f: Frame, name: str, written: ast.expr, of_none: bool) -> ast.expr:
    """Whether `int(written)` or `float(written)` raises no ValueError, where `written` may be a string, and with `of_none` no
    TypeError because it is None. Raises Refused."""
    text: ast.expr = ast.Call(
        CompiledNode(Static(strings.reads_as_int if name == "int" else strings.reads_as_float)), [written], []
    )
    with f.trial():
        value = f.borrowed(written)
    if not isinstance(value, Dyn) or value.type == SYMBOL:
        return text
    if not isinstance(written, (ast.Name, ast.Attribute)):
        raise Refused("what this `try` reads a number from is not always a string", "give it a name before the `try`")
    if _types_of(f, value) != {"str"}:
        text = quoted_expression(
            written, "not isinstance(written, text) or reads", written=written, text=CompiledNode(Static(str)), reads=text
        )
    if f.without_none(value.type) == value.type:
        return text
    checked = "written is not None and reads" if of_none else "written is None or reads"
    return quoted_expression(written, checked, written=written, reads=text)


def _has_no_effect(node: ast.expr) -> bool:
    """Whether an expression may be computed twice, and before the rest of its statement."""
    calls = [x for x in every_node(node) if isinstance(x, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield))]
    return all(isinstance(x, ast.Call) and _name_of(x.func) in WITHOUT_EFFECT for x in calls)


def _name_of(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def _is_first(statement: ast.stmt, node: ast.AST, tested: Collection[ast.AST]) -> bool:
    """Whether the first thing with an effect that a statement computes is `node`, or uses the value of `node`. If several
    lookups are `tested`, these have no effects."""
    match statement:
        case ast.Assign(value=value) | ast.Expr(value) | ast.AugAssign(ast.Name(), value=value):
            pass
        case ast.AnnAssign(value=ast.expr() as value) | ast.Return(ast.expr() as value):
            pass
        case _:
            return False
    if not any(x is node for x in every_node(value)):
        return False
    above = list(_above(value, node))
    sure = not any(isinstance(x, SOMETIMES) for x in above)
    inside = set(every_node(node))
    others = [x for x in every_node(value) if isinstance(x, ast.Call) and x not in {*above, *inside, *tested}]
    return sure and all(_name_of(x.func) in WITHOUT_EFFECT for x in others)


def _above(root: ast.expr, node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of `root` that contain `node`, without itself."""
    for x in every_node(root):
        if x is not node and any(inner is node for inner in every_node(x)):
            yield x
