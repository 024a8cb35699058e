"""The body of a generator with the body of the loop that walks over it in the place of each `yield`.

A `break` of the loop, and a `return` of the generator, end both bodies: they become a `break` of the loop of the generator in
which they stand, behind which nothing more of the generator is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.bodies import BODIES, with_bodies
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted, replaced_in
from backends.acrobat.frontend.syntax_nodes import children, mentions


class _End(ast.stmt):
    """Where the walk over a generator ends."""

    _fields = ()


def walked(
    where: ast.AST,
    generator: Sequence[ast.stmt],
    target: ast.expr,
    body: Sequence[ast.stmt],
    after: Sequence[ast.stmt],
    fresh: Callable[[str], str],
) -> list[ast.stmt]:
    """The statements of a generator with those of the loop in them. `after` is executed after each round of the loop, also
    where `continue` ends it; a `break` in it, or in `body`, ends the walk. `fresh` gives new names."""
    left = fresh("left")

    def by(node: ast.AST) -> Any:
        match node:
            case ast.Return(None | ast.Constant()):
                return ast.copy_location(_End(), node)
            case ast.Return(ast.expr() as value):
                return [*quoted(node, "unseen = value", unseen=fresh("unseen"), value=value), ast.copy_location(_End(), node)]
            case ast.Expr(ast.Yield(value)):
                given = quoted(node, "target = value", target=copied(target), value=value or ast.Constant(None))
                return [*given, *one_round(where, body, after, fresh)]
        return node

    ended = _Ends(where, left).body(replaced_in(generator, by), False)
    if not any(mentions(ended, left, ast.Load)):
        return _without(ended, left)
    return [*quoted(where, "left = False", left=left), *ended]


def own_level(body: Sequence[ast.stmt], by: Callable[[ast.stmt], list[ast.stmt]]) -> list[ast.stmt]:
    """The body of a loop with `by(s)` in place of each of its own `break` and `continue`; the statements around them are
    copies."""
    result: list[ast.stmt] = []
    for s in body:
        if isinstance(s, (ast.Break, ast.Continue)):
            result += by(s)
            continue
        fields = ("orelse",) if isinstance(s, (ast.For, ast.While)) else BODIES
        result.append(with_bodies(s, lambda inner: own_level(inner, by), fields))
    return result


def has_own(body: Sequence[ast.stmt], kind: type[ast.Break] | type[ast.Continue]) -> bool:
    """Whether the body of a loop has a `break`, or a `continue`, of that loop."""
    found: list[ast.stmt] = []

    def note(s: ast.stmt) -> list[ast.stmt]:
        found.extend([s] if isinstance(s, kind) else [])
        return [s]

    own_level(body, note)
    return bool(found)


def _ending(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    return own_level(body, lambda s: [ast.copy_location(_End(), s) if isinstance(s, ast.Break) else s])


def one_round(
    where: ast.AST, body: Sequence[ast.stmt], after: Sequence[ast.stmt], fresh: Callable[[str], str]
) -> list[ast.stmt]:
    """One round of a loop, and what follows each, also one that a `continue` ends: where that is not the `else` of an `if`, the
    round is a loop of one round. A `break` ends the walk."""
    plain = _without_continue([*map(copied, body)])
    last = _ending([*map(copied, after)])
    if plain is not None:
        return [*_ending(plain), *last]
    return [*quoted(where, "for once in (None,): body", once=fresh("once"), body=_ending([*map(copied, body)])), *last]


def _without_continue(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """The body of a round with the statements behind an `if` that ends with `continue` in its `else`. None where a `continue`
    stands elsewhere."""
    for i, s in enumerate(body):
        if isinstance(s, ast.Continue):
            return list(body[:i])
        if not has_own([s], ast.Continue):
            continue
        if not isinstance(s, ast.If):
            return None
        new = copy(s)
        if isinstance(s.body[-1], ast.Continue):
            arms = [*s.body], [*s.orelse, *body[i + 1 :]]
        elif s.orelse and isinstance(s.orelse[-1], ast.Continue):
            arms = [*s.body, *body[i + 1 :]], [*s.orelse]
        else:
            return None
        one, other = map(_without_continue, arms)
        if one is None or other is None:
            return None
        new.body, new.orelse = one or [ast.copy_location(ast.Pass(), s)], other
        return [*body[:i], new]
    return list(body)


class _Ends:
    """Replaces each `_End`: by a `break`, where the name `left` is True then, which leaves the loops around it; outside of
    loops, by leaving out what follows."""

    def __init__(self, where: ast.AST, left: str) -> None:
        self.where, self.left = where, left

    def body(self, body: Sequence[ast.stmt], in_loop: bool) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for i, s in enumerate(body):
            rest = body[i + 1 :]
            if isinstance(s, _End):
                result += quoted(s, "left = True", left=self.left)
                return [*result, ast.copy_location(ast.Break(), s)] if in_loop else result
            if not _has_end(s):
                result.append(s)
                continue
            if isinstance(s, (ast.For, ast.While)):
                new: Any = copy(s)
                new.body, new.orelse = self.body(s.body, True), self.body(s.orelse, in_loop)
                result.append(new)
                if in_loop:
                    result += quoted(self.where, "if left: break", left=self.left)
                    continue
            elif isinstance(s, ast.If) and not in_loop and (one := _ends_with(s.body)) | (other := _ends_with(s.orelse)):
                new = copy(s)
                new.body = self.body(s.body if one else [*s.body, *rest], in_loop)
                new.orelse = self.body(s.orelse if other else [*s.orelse, *rest], in_loop)
                return [*result, new]
            else:
                result.append(with_bodies(s, lambda inner: self.body(inner, in_loop)))
                if in_loop:
                    continue
            if rest:
                result += quoted(self.where, "if not left: rest", left=self.left, rest=self.body(rest, False))
            return result
        return result


def _ends_with(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], _End)


def _has_end(node: ast.AST) -> bool:
    return isinstance(node, _End) or any(map(_has_end, children(node)))


def _without(body: Sequence[ast.stmt], left: str) -> list[ast.stmt]:
    """Statements without those that assign to a name which nothing reads."""

    def by(node: ast.AST) -> Any:
        match node:
            case ast.Assign([ast.Name(name)]) if name == left:
                return []
            case ast.If(body=[]) | ast.For(body=[]) | ast.With(body=[]):
                node.body = [ast.copy_location(ast.Pass(), node)]
            case ast.match_case(body=[]):
                node.body = [ast.copy_location(ast.Pass(), node.pattern)]
        return node

    return replaced_in(body, by)
