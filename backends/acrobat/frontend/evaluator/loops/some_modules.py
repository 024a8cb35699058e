"""Loops over a part of a list of modules that is chosen at run time: `for layer in self.layers[:depth]`, also in `enumerate`,
`reversed` and `zip`. Each round is compiled for its module, and tests first whether the module is in the part."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, quoted_expression
from backends.acrobat.frontend.evaluator.tables import ITERATION, handles
from backends.acrobat.frontend.specials import SomeOf
from backends.acrobat.frontend.values import Static, TupleV, Value


@handles(ITERATION, SomeOf)
def _not_here(f: Frame, value: SomeOf) -> Value:
    raise Refused(value.refusal, "write a `for` loop, or a comprehension, over it")


@dataclass
class _ModuleRounds:
    """The rounds of such a loop: for each module in `order`, the `item` that a round takes, and the `tests` whether there is
    such a round. Both use the name of the module's number."""

    some: SomeOf
    order: range
    item: ast.expr
    tests: list[ast.expr]


def walks_over_some(f: Frame, iterated: ast.expr) -> bool:
    """Whether a loop or comprehension walks over a part of a list of modules that is chosen at run time."""
    return any(_is_some(f, x) for x in _walked(f, iterated))


def over_some(f: Frame, s: ast.For) -> tuple[TupleV, ast.For] | None:
    """A loop over such a part, as the numbers of its rounds and the loop over these; None for other loops. Raises Refused."""
    if not walks_over_some(f, s.iter):
        return None
    number = hidden("round", s)
    rounds = _rounds(f, s.iter, number)
    test = rounds.tests[0] if len(rounds.tests) == 1 else ast.BoolOp(ast.And(), rounds.tests)
    text = "for number in iterable:\n    if test:\n        target = item\n        body"
    (loop,) = quoted(s, text, number=number, iterable=s.iter, test=test, target=s.target, item=rounds.item, body=s.body)
    assert isinstance(loop, ast.For)
    return TupleV(tuple(map(Static, rounds.order))), loop


def _walked(f: Frame, node: ast.expr) -> list[ast.expr]:
    """The expressions whose elements a loop over `node` takes."""
    match node:
        case ast.Call(ast.Name("enumerate" | "reversed" | "list" | "tuple" as name), [inner, *_], []) if f.is_builtin(name):
            return _walked(f, inner)
        case ast.Call(ast.Name("zip"), arguments, _) if f.is_builtin("zip"):
            return [x for a in arguments if not isinstance(a, ast.Starred) for x in _walked(f, a)]
    return [node]


def _is_some(f: Frame, node: ast.expr) -> bool:
    match node:
        case ast.Subscript(_, ast.Slice()) | ast.Name() | CompiledNode():
            with f.trial():
                return isinstance(f.borrowed(node), SomeOf)
    return False


def _rounds(f: Frame, node: ast.expr, number: str) -> _ModuleRounds:
    """The rounds of a loop over `node`. Raises Refused for a form that has no rounds here."""
    match node:
        case ast.Call(ast.Name("list" | "tuple"), [inner], []):
            return _rounds(f, inner, number)
        case ast.Call(ast.Name("reversed"), [inner], []) if _walked(f, inner) == [inner]:
            rounds = _rounds(f, inner, number)
            rounds.order = rounds.order[::-1]
            return rounds
        case ast.Call(ast.Name("enumerate"), [inner, *start], []):
            rounds = _rounds(f, inner, number)
            count = _count(node, rounds, number)
            if start:
                count = quoted_expression(node, "count + start", count=count, start=CompiledNode(f.expression(start[0])))
            rounds.item = ast.copy_location(ast.Tuple([count, rounds.item], ast.Load()), node)
            return rounds
        case ast.Call(ast.Name("zip"), arguments):
            return _zipped(f, node, arguments, number)
    value = f.borrowed(node)
    if not isinstance(value, SomeOf):
        raise Refused(SomeOf.refusal, "write a loop of its own for it")
    modules = CompiledNode(TupleV(value.alternatives))
    bounds = {"start": CompiledNode(value.start), "stop": CompiledNode(value.stop)}
    test = quoted_expression(node, "start <= number and number < stop", number=number, **bounds)
    item = quoted_expression(node, "modules[number]", modules=modules, number=number)
    return _ModuleRounds(value, range(len(value.alternatives)), item, [test])


def _count(node: ast.AST, rounds: _ModuleRounds, number: str) -> ast.expr:
    """How many rounds there were before this one."""
    if rounds.order.step < 0:
        return quoted_expression(node, "stop - 1 - number", number=number, stop=CompiledNode(rounds.some.stop))
    return quoted_expression(node, "number - start", number=number, start=CompiledNode(rounds.some.start))


def _zipped(f: Frame, node: ast.expr, arguments: list[ast.expr], number: str) -> _ModuleRounds:
    """The rounds of a `zip` of such a part and lists, each of which may be shorter."""
    chosen = [a for a in arguments if any(_is_some(f, x) for x in _walked(f, a))]
    if len(chosen) != 1 or any(isinstance(a, ast.Starred) for a in arguments):
        raise Refused("one argument of `zip` is a part of a list of modules that is chosen at run time here")
    rounds, items = _rounds(f, chosen[0], number), []
    for a in arguments:
        if a is chosen[0]:
            items.append(rounds.item)
            continue
        beside = CompiledNode(iterable(f, f.borrowed(a)))
        at = _count(node, rounds, number)
        rounds.tests.append(quoted_expression(node, "at < len(beside)", at=at, beside=beside))
        items.append(quoted_expression(node, "beside[at]", at=at, beside=beside))
    rounds.item = ast.copy_location(ast.Tuple(items, ast.Load()), node)
    return rounds
