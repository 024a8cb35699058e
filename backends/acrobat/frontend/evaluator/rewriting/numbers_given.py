"""Results that are a number for some instances and a tensor for others: `loss = 0.0` before a loop over no words is what the
model returns, and a tensor where the loop has added to it.

In the compiled program the name has one type, that of the tensor. So that the caller gets the number where PyTorch gives one,
each such name has a second one, which is true while it holds the number that is written in the source; and each part of the
result that is computed from the name is written as `0.0 if that else ...`. A name that is computed from such a one, as in
`mean = loss / len(words)`, has a third one, which is the number. This is done for the model's own `forward` only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from backends.acrobat.frontend.evaluator.rewriting.named_sums import with_named_sums
from backends.acrobat.frontend.evaluator.rewriting.returns_apart import is_number, with_returns_apart
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes_of
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted, quoted_expression, replaced
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in

NUMERIC = frozenset({"abs", "float", "int", "len", "max", "min", "round", "sum"})
"""Python's functions that a part of a result may call and be computed twice: for numbers, and for tensors."""
COUNTS = frozenset({"float", "int", "len"})
"""Python's functions that give numbers, whatever they are given."""


class NumberOr(ast.IfExp):
    """What is computed of numbers where all of some names hold theirs, and all of some lists that are summed up are empty, or
    else of tensors."""

    names: Sequence[str] = ()
    lists: Sequence[str] = ()
    of: str = ""
    """The name for which this is the number that it holds; empty for a part of the result."""


class HoldsOther(ast.Constant):
    """The False that says of a name that it does not hold its number any more."""

    name: str = ""


def with_numbers_given(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """The `forward` of a model, or a function that gives a part of its result, which returns numbers where PyTorch returns
    them. The same object if it returns no name that holds a number at first. `namespace` has the values of names from outside
    of it."""
    definition = with_returns_apart(definition)
    if "sum" not in namespace and not mentions(definition, "sum", ast.Store):
        definition = with_named_sums(definition)
    parts = [part for part in parts_of_result(definition, namespace) if _is_plain(part)]
    returned = {x for part in parts for x in names_in(part, ast.Load)}
    starts = starts_of(definition)
    others = returned - starts.keys() - _names_in_try(definition)
    derived = {x: value for x in others if (value := _computed_from(definition, x, {*starts})) is not None}
    returned |= {x for value in derived.values() for x in names_in(value, ast.Load)}
    numbers = {x: number for x, number in starts.items() if x in returned}
    lists = {x for x in returned if _is_list(definition, x)}
    if not numbers and not lists:
        return definition
    changed: ast.FunctionDef = deepcopy(definition)
    writing = _WithNumbers(numbers | {x: ast.Name(_hidden_names(x)["value"], ast.Load()) for x in derived}, lists)
    chosen = {part: writing.chosen(part, part) for part in parts_of_result(changed, namespace) if _is_plain(part)}
    _Replacing(chosen).visit(changed)
    _Noting({*numbers}, {*derived}, writing).generic_visit(changed)
    first = [("number = False", x) for x in sorted({*numbers, *derived})] + [("value = 0", x) for x in sorted(derived)]
    before = [s for text, x in first for s in quoted(definition.body[0], text, **_hidden_names(x))]
    changed.body = [*before, *changed.body]
    return changed


def _hidden_names(of: str) -> dict[str, str]:
    """The names that say of the name `of` whether it holds a number (`number`), and which number (`value`)."""
    return {what: hidden(f"{what}_{of}") for what in ("number", "value")}


def _is_counted(node: ast.expr, name: str) -> bool:
    """Whether an expression is surely a number: made of numbers, of lengths, and of `name`, which holds one."""
    match node:
        case ast.Name(id):
            return id == name
        case ast.BinOp(left, _, right):
            return _is_counted(left, name) and _is_counted(right, name)
        case ast.Call(ast.Name(function)):
            return function in COUNTS
    return is_number(node)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement assigns to, each with its expression; None if there is no expression for it alone."""
    pairs: list[tuple[ast.expr, ast.expr | None]] = []
    match node:
        case ast.Assign(targets, value):
            pairs += [(t, value) for t in targets]
        case ast.AnnAssign() if node.value is not None:
            pairs.append((node.target, node.value))
        case ast.AugAssign(ast.Name(id), op, added):
            yield id, ast.BinOp(ast.Name(id, ast.Load()), op, added)
    while pairs:
        match pairs.pop():
            case ast.Name(id), only:
                yield id, only
            case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
                pairs += zip(targets, values, strict=True)
            case ast.Tuple(targets) | ast.List(targets), _:
                pairs += [(t, None) for t in targets]
            case ast.Starred(target), _:
                pairs.append((target, None))


def _assigned(definition: ast.FunctionDef) -> dict[str, list[ast.expr | None]]:
    """What `_assignments` says of all statements of a function, by name."""
    out: dict[str, list[ast.expr | None]] = {}
    for node in own_nodes_of(definition):
        for name, value in _assignments(node):
            out.setdefault(name, []).append(value)
    return out


def starts_of(definition: ast.FunctionDef) -> dict[str, ast.expr]:
    """The names that are first assigned one number written in the source, and may hold a tensor later; with that number."""
    out = {}
    for name, values in _assigned(definition).items():
        numbers = {ast.dump(v): v for v in values if v is not None and is_number(v)}
        others = [v for v in values if not is_number(v)]
        only_so = len(values) == len(mentions(definition, name, ast.Store, ast.Del))
        if len(numbers) == 1 and only_so and any(v is None or not _is_counted(v, name) for v in others):
            out[name] = next(iter(numbers.values()))
    shared = {x for s in every_node(definition) if isinstance(s, (ast.Nonlocal, ast.Global)) for x in s.names}
    return {x: number for x, number in out.items() if x not in shared | _names_in_try(definition)}


def _names_in_try(definition: ast.FunctionDef) -> set[str]:
    """The names assigned in a `try`. They cannot be tracked, because a `try` may contain only one statement."""
    return {x for s in every_node(definition) if isinstance(s, ast.Try) for x in names_in(s.body, ast.Store)}


def _only_value(definition: ast.FunctionDef, name: str) -> ast.expr | None:
    """The value assigned to a name that exactly one statement assigns to; None for other names."""
    values = _assigned(definition).get(name, [])
    return values[0] if len(values) == 1 == len(mentions(definition, name, ast.Store, ast.Del)) else None


def _is_list(definition: ast.FunctionDef, name: str) -> bool:
    """Whether a name holds one list, which is empty at first or made by a comprehension."""
    value = _only_value(definition, name)
    return isinstance(value, ast.ListComp) or isinstance(value, ast.List) and not value.elts


def _computed_from(definition: ast.FunctionDef, name: str, starts: set[str]) -> ast.expr | None:
    """The value assigned to a name, if it is computed from names that first hold a number, or sums up a list; else None."""
    value = _only_value(definition, name)
    if value is None or not _is_plain(value):
        return None
    of_lists = any(_is_list(definition, summed) for _, summed in _sums(value))
    return value if of_lists or starts.intersection(names_in(value, ast.Load)) else None


def parts_of_result(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> Iterator[ast.expr]:
    """The expressions whose values are the parts of what a function returns, in tuples, dictionaries, objects and conditions,
    and these conditions; also of a result that has a name first. `namespace` has the values of names from outside."""
    pending = [x.value for x in own_nodes_of(definition) if isinstance(x, ast.Return) and x.value is not None]
    seen = {x for x, values in _assigned(definition).items() if not all(is_whole(v, namespace) for v in values)}
    while pending:
        match part := pending.pop():
            case ast.IfExp(_, one, other):
                yield part
                pending += [one, other]
            case ast.Tuple(parts) | ast.List(parts) | ast.Dict(values=parts):
                pending += parts
            case ast.Call(_, parts, keywords) if is_whole(part, namespace):
                pending += [*parts, *(k.value for k in keywords)]
            case ast.Name(name) if name not in seen and (whole := _only_value(definition, name)) is not None:
                seen.add(name)
                pending.append(whole)
            case _:
                yield part


def is_whole(node: ast.expr | None, namespace: Mapping[str, Any]) -> bool:
    """Whether an expression makes a whole with parts: a tuple, a dictionary, an object."""
    match node:
        case ast.Call(ast.Name(name)):
            return isinstance(namespace.get(name), type)
    return isinstance(node, (ast.Tuple, ast.Dict))


def _is_plain(part: ast.expr) -> bool:
    """Whether an expression may be written twice: arithmetic of names, attributes and numbers."""
    for node in every_node(part):
        match node:
            case ast.Call(ast.Name(function), _, []) if function in NUMERIC:
                pass
            case ast.Name() | ast.Attribute() | ast.BinOp() | ast.UnaryOp() | ast.operator() | ast.unaryop() | ast.Constant():
                pass
            case _:
                return False
    return True


def _sums(part: ast.expr) -> Iterator[tuple[ast.Call, str]]:
    """The sums of a list with a name in an expression."""
    for node in every_node(part):
        match node:
            case ast.Call(ast.Name("sum"), [ast.Name(name)], []):
                yield node, name


class _WithNumbers:
    """Writes numbers in place of names that hold them, and in place of sums of these lists."""

    def __init__(self, numbers: dict[str, ast.expr], lists: set[str]) -> None:
        self.numbers, self.lists = numbers, lists

    def chosen(self, part: ast.expr, otherwise: ast.expr) -> NumberOr | None:
        """`part` with numbers in place of names, if all its names hold numbers and all lists that it sums up are empty, else
        `otherwise`. None for an expression without such names."""
        names = [x for x in dict.fromkeys(names_in(part, ast.Load)) if x in self.numbers]
        tests = [quoted_expression(part, "number", **_hidden_names(x)) for x in names]
        summed = dict.fromkeys(name for _, name in _sums(part) if name in self.lists)
        tests += [quoted_expression(part, "not values", values=x) for x in summed]
        if not tests:
            return None
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        text, number = "number if test else otherwise", replaced(part, self._number)
        choice = quoted_expression(part, text, test=test, number=number, otherwise=deepcopy(otherwise))
        assert isinstance(choice, ast.IfExp)
        result = ast.copy_location(NumberOr(choice.test, choice.body, choice.orelse), choice)
        result.names, result.lists = names, [*summed]
        return result

    def _number(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Name(name) if name in self.numbers:
                return ast.copy_location(copied(self.numbers[name]), node)
            case ast.Call() if any(name in self.lists for call, name in _sums(node) if call is node):
                return ast.copy_location(ast.Constant(0), node)
        return node


class _Replacing(ast.NodeTransformer):
    """Puts other expressions in the places of those for which there are some."""

    def __init__(self, others: Mapping[Any, ast.expr | None]) -> None:
        self.others = others

    def visit(self, node: ast.AST) -> Any:
        return self.others.get(node) or self.generic_visit(node)


class _Noting(ast.NodeTransformer):
    """After each assignment to one of `names`, records whether the name still holds the literal number of the source; for those
    in `derived`, which are computed from them, also which number."""

    def __init__(self, names: set[str], derived: set[str], writing: _WithNumbers) -> None:
        self.names, self.derived, self.writing = names, derived, writing

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            return node
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return self.generic_visit(node)
        notes: list[ast.stmt] = []
        for x, value in _assignments(node):
            if x in self.names:
                holds: ast.expr = ast.Constant(True)
                if not is_number(value):
                    holds = HoldsOther(False)
                    holds.name = x
                notes += quoted(node, "number = holds", holds=ast.copy_location(holds, node), **_hidden_names(x))
            elif x in self.derived and value is not None:
                chosen = self.writing.chosen(value, ast.Constant(0))
                assert chosen is not None
                chosen.of = x
                text = "value = chosen; number = True if test else False"
                notes += quoted(node, text, chosen=chosen, test=deepcopy(chosen.test), **_hidden_names(x))
        return [node, *notes]
