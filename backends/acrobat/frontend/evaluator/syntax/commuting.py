"""What the rounds of a loop change, and whether the syntax says that they may come in any order: no round reads what another
one has changed, and each name is changed in one way that does not depend on the order. (Of some of these ways that is so for
some types only, which `loops/unordered.py` asks for.)"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from backends.acrobat.frontend.changing_methods import CHANGING, changes_owner
from backends.acrobat.frontend.evaluator.syntax.bodies import stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.evaluator.syntax.reading import first_use
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in

ByOperator = Literal["sum", "product", "or", "and", "xor"]
ByMethod = Literal["put in", "taken out", "kept", "removed", "key taken out"]
How: TypeAlias = ByOperator | ByMethod | Literal["max", "min", "any", "all", "same", "item", "own item"]
"""How the rounds of a loop change what a name stands for: by an operator in `ADDED`, a method in `METHODS`, a function in
`EXTREMES`, or `or` ("any") and `and` ("all"). "same": each round gives the name the same value. "item": each gives an item of
it the same value. "own item": each changes the item with the round's own index or key, which it may also read
(by a method, too, where it is a list, set or dictionary)."""

ADDED: dict[type[ast.operator], ByOperator] = {
    ast.Add: "sum",
    ast.Sub: "sum",
    ast.Mult: "product",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
}
"""Operators by which a number or a set may get what the rounds give in any order."""
METHODS: dict[str, ByMethod] = {
    "add": "put in",
    "update": "put in",
    "discard": "taken out",
    "difference_update": "taken out",
    "intersection_update": "kept",
    "remove": "removed",
    "pop": "key taken out",
}
"""Methods that may do the same."""
EXTREMES: dict[str, How] = {"max": "max", "min": "min"}
FRESH = (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp)
"""Expressions whose value nothing else refers to."""
OUTSIDE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred)
"""Expressions that are not looked into."""


@dataclass(frozen=True)
class Change:
    """A change of what a name stands for. Changes of one name agree in `how` and `text`. `mentions` counts the mentions of the
    name that belong to the change itself."""

    name: str
    how: How
    text: str = ""
    mentions: int = 1
    leaves: bool = False  # right before a `break`
    node: ast.AST | None = None
    by_method: bool = False  # of the item


class InOrder(Exception):
    """The order of the rounds may show."""


@dataclass(frozen=True)
class Changes:
    """What the rounds of a loop change that lives longer than a round."""

    found: list[Change]
    local: set[str]
    """The names that each round gives a value before it reads them."""
    numbers: set[str]
    """Those of them that have to be numbers, since `+=` would change a list under its other names, too."""


def changes(s: ast.For, ends_with_round: Callable[[str], bool]) -> Changes | None:
    """What the rounds of a loop change; None if their order may make a difference. `ends_with_round` says whether nothing reads
    a name after the loop."""
    body, rounds = s.body, _Rounds(s)
    own = names_in(s.target)
    local = {x for x in stored(body) if first_use(body, x) is not True and ends_with_round(x)}
    if not all(map(ends_with_round, own)) or {*own} & stored(body):
        return None
    rounds.varying = {*own, *local}
    rounds.fresh = {x for x in local if _is_fresh(body, x)}
    rounds.local = local
    try:
        rounds.visit(body)
    except InOrder:
        return None
    return Changes(rounds.found, local, rounds.counted - rounds.fresh) if _agree(rounds, body) else None


def _is_fresh(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a name gets nothing but new lists, sets and dictionaries in a body."""
    inside = [x for b in body for x in every_node(b)]
    values = [x.value for x in inside if isinstance(x, ast.Assign) and [name] == [getattr(t, "id", None) for t in x.targets]]
    return len(values) == len(mentions(body, name, ast.Store)) and all(isinstance(v, FRESH) for v in values)


def _agree(rounds: _Rounds, body: Sequence[ast.stmt]) -> bool:
    """Whether all changes of a name are of one kind, nothing else reads it, and leaving the loop early does not show either."""
    for name in {c.name for c in rounds.found}:
        of_name = [c for c in rounds.found if c.name == name]
        alike = len({(c.how, c.text) for c in of_name}) == 1 and (len(of_name) == 1 or of_name[0].how != "own item")
        if alike and len(mentions(body, name)) == sum(c.mentions for c in of_name):
            continue
        if not rounds.has_own_items_only(name, body):
            return False
        others = [c for c in rounds.found if c.name != name]
        by_method = any(c.by_method for c in of_name)
        rounds.found = [*others, Change(name, "own item", node=of_name[0].node, by_method=by_method)]
    found = rounds.found
    if rounds.returned and (found or rounds.breaks or len(rounds.returned) > 1):
        return False
    return not rounds.breaks or not found or rounds.breaks == 1 and all(c.leaves for c in found)


class _Rounds:
    """The changes that a body makes, in the order of the source."""

    def __init__(self, s: ast.For) -> None:
        self.target = s.target
        self.varying: set[str] = set()  # names with another value in each round
        self.local: set[str] = set()  # those of them that the body gives a value
        self.fresh: set[str] = set()  # those that are lists of the round's own
        self.counted: set[str] = set()  # those that `+=` or the like changes
        self.found: list[Change] = []
        self.returned: set[str] = set()  # the expressions that are returned
        self.breaks = 0

    def visit(self, body: Sequence[ast.stmt], inside: bool = False) -> None:
        """Look at a body; `inside` of a loop in the loop. Raises InOrder."""
        for s in body:
            match s:
                case ast.Pass() | ast.Continue() | ast.Expr(ast.Constant()):
                    pass
                case ast.Assign([ast.Name(gone)], ast.Call(ast.Attribute(ast.Name(name), "pop"), [key], [])) if is_hidden(gone):
                    self.reads(key)  # `del name[key]`
                    self._change(name, METHODS["pop"], node=s)
                case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                    self.reads(value)
                    self._assign(s, target, value, leaves=isinstance(body[-1], ast.Break) and not inside)
                case ast.AugAssign(target, operator, value):
                    self.reads(value)
                    self._augment(s, target, operator, value)
                case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method), args, [])):
                    self.reads(*args)
                    self._method(s, name, method, args)
                case ast.Expr(ast.Call(ast.Attribute(ast.Subscript(ast.Name(name), index) as own, method), args, [])) if (
                    method in CHANGING and self._is_own(index)
                ):
                    self.reads(*args)
                    self._change(name, "own item", node=own, by_method=True)
                case ast.If(test, then, orelse):
                    self.reads(test)
                    self.visit(then, inside)
                    self.visit(orelse, inside)
                case ast.For(target, walked, inner, []) if {*names_in(target)} <= self.local:
                    self.reads(walked)
                    self.visit(inner, True)
                case ast.While(test, inner, []):
                    self.reads(test)
                    self.visit(inner, True)
                case ast.Break():
                    self.breaks += not inside
                case ast.Return(value) if value is None or self._same(value):
                    self.reads(*([value] if value else []))
                    self.returned.add(ast.dump(s))
                case _:
                    raise InOrder

    def reads(self, *parts: ast.expr) -> None:
        """Raises InOrder for expressions that change something themselves, or take the next item of an iterator."""
        for x in (x for part in parts for x in every_node(part)):
            if isinstance(x, OUTSIDE):
                raise InOrder
            match x:
                case ast.Call(ast.Attribute(_, method)) if changes_owner(method):
                    raise InOrder
                case ast.Call(ast.Name("next")):
                    raise InOrder

    def _same(self, *parts: ast.expr) -> bool:
        """Whether expressions have the same value in all rounds, if no round changes what they read."""
        return not self.varying & {*(x for part in parts for x in names_in(part))}

    def _change(self, name: str, how: How, text: str = "", **more: Any) -> None:
        if name in self.fresh:
            return
        if name in self.varying:
            raise InOrder
        self.found.append(Change(name, how, text, **more))

    def _assign(self, s: ast.stmt, target: ast.expr, value: ast.expr, leaves: bool) -> None:
        match target, value:
            case ((ast.Name() | ast.Tuple() | ast.List()), _) if {*names_in(target)} <= self.local:
                if any(isinstance(x, (ast.Subscript, ast.Attribute)) for x in every_node(target)):
                    raise InOrder
            case ast.Name(name), ast.BinOp(ast.Name(first), operator, _) if first == name and type(operator) in ADDED:
                self._change(name, ADDED[type(operator)], mentions=2)
            case ast.Name(name), ast.BoolOp(operator, [ast.Name(first), *_]) if first == name:
                self._change(name, "any" if isinstance(operator, ast.Or) else "all", mentions=2)
            case ast.Name(name), ast.Call(ast.Name(function), args, []) if function in EXTREMES and any(
                isinstance(a, ast.Name) and a.id == name for a in args
            ):
                self._change(name, EXTREMES[function], mentions=2)
            case ast.Name(name), _ if self._same(value):
                self._change(name, "same", ast.dump(value), leaves=leaves)
            case ast.Subscript(), _ if self._same(value):
                self._item(s, target, ast.dump(value))
            case ast.Subscript(ast.Name(name), index), _ if self._is_own(index):
                self._change(name, "own item", node=target)
            case _:
                raise InOrder

    def _augment(self, s: ast.stmt, target: ast.expr, operator: ast.operator, value: ast.expr) -> None:
        match target:
            case ast.Name(name) if name in self.local:
                self.counted.add(name)
            case ast.Name(name) if type(operator) in ADDED:
                self._change(name, ADDED[type(operator)])
            case ast.Subscript() if self._same(value):
                self._item(s, target, f"{type(operator).__name__} {ast.dump(value)}")
            case ast.Subscript(ast.Name(name), index) if self._is_own(index):
                self._change(name, "own item", node=target)
            case _:
                raise InOrder

    def _item(self, s: ast.stmt, target: ast.Subscript, text: str) -> None:
        """Note the change of an item, or of an item of an item, that is the same in whichever round it is made."""
        place: ast.expr = target
        while isinstance(place, ast.Subscript):
            self.reads(place.slice)
            place = place.value
        if not isinstance(place, ast.Name):
            raise InOrder
        self._change(place.id, "item", text, node=target)

    def _is_own(self, index: ast.expr) -> bool:
        """Whether an index or key differs from round to round: it is the loop's variable, alone or beside constants."""
        whole = ast.unparse(self.target)
        if ast.unparse(index) in (whole, f"({whole})"):
            return True
        parts = index.elts if isinstance(index, ast.Tuple) else []
        others = [x for x in parts if not (isinstance(x, ast.Name) and x.id == whole)]
        return len(others) + 1 == len(parts) and self._same(*others)

    def has_own_items_only(self, name: str, body: Sequence[ast.stmt]) -> bool:
        """Whether a body reads and changes only the item of `name` with the round's own index or key."""
        inside = [x for b in body for x in every_node(b)]
        if {*names_in(self.target)} & {*names_in(body, ast.Store)} or any(isinstance(x, ast.Lambda) for x in inside):
            return False  # where the index is another one
        items = [x for x in inside if isinstance(x, ast.Subscript) and isinstance(x.value, ast.Name) and x.value.id == name]
        own = [x for x in items if self._is_own(x.slice)]
        changed = [c.node for c in self.found if c.name == name]
        return len(own) == len(mentions(body, name)) and all(any(x is y for y in own) for x in changed)

    def _method(self, s: ast.stmt, name: str, method: str, args: Sequence[ast.expr]) -> None:
        if name in self.fresh:
            return
        if method not in METHODS:
            raise InOrder
        self._change(name, METHODS[method], node=s)
