"""Whether a name is read after a statement, and before it gets another value."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from backends.acrobat.frontend.evaluator.syntax.bodies import assigned
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.syntax_nodes import all_parameters, children, every_node, mentions, parameter_names


def live_after(body: Sequence[ast.stmt], s: ast.AST, name: str) -> bool:
    """Whether a name may be read after the statement `s` of a function's `body` before it is assigned; False without `s`."""
    way = way_to(body, s)
    if any(isinstance(around, ast.Try) and _reads_elsewhere(around, name) for *_, around in way):
        return True
    for statements, at, around in reversed(way):
        use = first_use(statements[at + 1 :], name)
        if use is not None:
            return use
        if isinstance(around, (ast.For, ast.While)):  # the next round may read the name
            use = first_use([around], name)
            if use:
                return True
    return False


@lru_cache(1 << 14)  # each trial of a loop, and each round of compiling, asks the same again
def is_own(definition: ast.FunctionDef | None, name: str) -> bool:
    """Whether a name is a variable of a function's own, which no function inside sees, and no parameter; False without a
    function."""
    if definition is None or is_hidden(name):
        return False
    if name in all_parameters(definition):
        return False
    for node in (x for statement in definition.body for x in every_node(statement)):
        match node:
            case ast.FunctionDef() | ast.Lambda() if mentions(node, name):
                return False
            case ast.Nonlocal(names) | ast.Global(names) if name in names:
                return False
    return True


def is_last_use(definition: ast.FunctionDef | None, s: ast.AST, name: str) -> bool:
    """Whether a variable of a function's own, which no function inside sees, is certainly not read after the statement `s`;
    False without a function."""
    if definition is None or not is_own(definition, name):
        return False
    return bool(way_to(definition.body, s)) and not live_after(definition.body, s, name)


def statement_around(body: Sequence[ast.stmt], node: ast.AST) -> ast.stmt | None:
    """The statement in a function's `body`, with no other one in it, that computes the expression `node`, at most once each
    time that it runs; None if there is none."""
    for s in body:
        inner = bodies(s)
        found = next((x for b in inner if (x := statement_around(b, node)) is not None), None)
        if found is not None or not inner and _computes_once(s, node):
            return s if found is None else found
    return None


def _computes_once(part: ast.AST, node: ast.AST) -> bool:
    """Whether an expression is in a part of a statement, outside of what may be computed several times."""
    several = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef, ast.Try)
    return part is node or not isinstance(part, several) and any(_computes_once(x, node) for x in children(part))


KEEPING_METHODS = frozenset({"append", "appendleft", "insert", "add", "setdefault", "put"})


def is_kept(definition: ast.FunctionDef, name: str) -> bool:
    """Whether the value of a name may be seen elsewhere while the function runs: the name is a parameter, or shares its value
    with another name, a list, an attribute or the like. Results of the function do not count."""

    def leads_to(value: ast.expr | None) -> bool:
        match value:
            case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
                return any(map(leads_to, elements))
            case ast.Dict(_, values):
                return any(map(leads_to, values))
            case ast.IfExp(_, then, orelse):
                return leads_to(then) or leads_to(orelse)
        return isinstance(value, ast.Name) and value.id == name

    if name in all_parameters(definition):
        return True
    for node in (x for statement in definition.body for x in every_node(statement)):
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.NamedExpr(value=value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if leads_to(value) or isinstance(value, (ast.Name, ast.IfExp)) and any(_stores(t, name) for t in targets):
                    return True
            case ast.Call(ast.Attribute(_, method), arguments) if method in KEEPING_METHODS and any(map(leads_to, arguments)):
                return True
    return False


def begins_anew(loop: ast.For | ast.While, name: str) -> bool:
    """Whether `name` is the target of a `for` inside of a loop, and no round of the loop reads its value from before the
    round."""
    targets = [x.target for statement in loop.body for x in every_node(statement) if isinstance(x, ast.For)]
    read = isinstance(loop, ast.While) and reads(loop.test, name) or first_use(loop.body, name) is True
    return name in assigned(targets) and not read


def _reads_elsewhere(tried: ast.Try, name: str) -> bool:
    """Whether a `try` reads a name outside of its first body, which may go on there from any of its statements."""
    return any(reads(x, name) for x in (*tried.handlers, *tried.orelse, *tried.finalbody))


def way_to(body: Sequence[ast.stmt], s: ast.AST) -> list[tuple[Sequence[ast.stmt], int, ast.stmt | None]]:
    """The bodies around the statement `s`, from outside in: (body, index in it, the loop or `try` whose body it is). [] if it
    has none."""
    for i, one in enumerate(body):
        if one is s:
            return [(body, i, None)]
        for inner in bodies(one):
            below = way_to(inner, s)
            if below:
                is_round = isinstance(one, (ast.For, ast.While)) and inner is one.body
                first = (below[0][0], below[0][1], one if is_round or isinstance(one, ast.Try) else None)
                return [(body, i, None), first, *below[1:]]
    return []


def bodies(s: ast.stmt) -> list[list[ast.stmt]]:
    """The bodies of a statement; none of a statement without such."""
    match s:
        case ast.If() | ast.For() | ast.While():
            return [s.body, s.orelse]
        case ast.With():
            return [s.body]
        case ast.Match():
            return [c.body for c in s.cases]
        case ast.Try():
            return [s.body, *(h.body for h in s.handlers), s.orelse, s.finalbody]
    return []


def first_use(body: Sequence[ast.stmt], name: str) -> bool | None:
    """What happens to a name first: True if it is read, False if it is given a value on every path, None for neither."""
    for s in body:
        use = _use(s, name)
        if use is not None:
            return use
    return None


def _use(s: ast.stmt, name: str) -> bool | None:
    match s:
        case ast.Assign(targets, value):
            if reads(value, name) or any(reads(t, name) for t in targets):
                return True
            return False if any(_stores(t, name) for t in targets) else None
        case ast.AnnAssign(target, _, value):
            if value is not None and reads(value, name):
                return True
            return False if value is not None and _stores(target, name) else None
        case ast.AugAssign(target, _, value):
            return True if reads(value, name) or reads(target, name) or _stores(target, name) else None
        case ast.If(test, then, orelse):
            if reads(test, name):
                return True
            arms = [first_use(then, name), first_use(orelse, name)]
            return True if True in arms else False if arms == [False, False] else None
        case ast.For(target, iterated, inner, orelse):
            if reads(iterated, name) or not _stores(target, name) and first_use(inner, name):
                return True
            return True if first_use(orelse, name) else None
        case ast.While(test, inner, orelse):
            return True if reads(test, name) or first_use(inner, name) or first_use(orelse, name) else None
        case ast.With(items, inner):
            if any(reads(item, name) for item in items):
                return True
            return False if any(_stores(item, name) for item in items) else first_use(inner, name)
        case ast.Match(subject, cases):
            return True if reads(subject, name) else _use_of_cases(cases, name)
        case ast.Try(inner, handlers, orelse, finalbody):
            arms = [first_use([*inner, *orelse], name), *(first_use(handler.body, name) for handler in handlers)]
            if True in arms or first_use(finalbody, name) or any(h.type is not None and reads(h.type, name) for h in handlers):
                return True
            return False if set(arms) == {False} else first_use(finalbody, name)
    return True if reads(s, name) else None


def _use_of_cases(cases: Sequence[ast.match_case], name: str) -> bool | None:
    """What happens to a name first in the cases of a `match`."""
    arms: list[bool | None] = []
    for case in cases:
        if reads(case.pattern, name):
            return True
        binds = any(getattr(x, "name", getattr(x, "rest", None)) == name for x in every_node(case.pattern))
        if not binds and case.guard is not None and reads(case.guard, name):
            return True
        arms.append(False if binds else first_use(case.body, name))
    if True in arms:
        return True
    matches_all = isinstance(cases[-1].pattern, ast.MatchAs) and cases[-1].pattern.pattern is None and cases[-1].guard is None
    return False if matches_all and set(arms) == {False} else None


def _stores(target: ast.AST, name: str) -> bool:
    return bool(mentions(target, name, ast.Store))


def reads(node: ast.AST, name: str) -> bool:
    """Whether an expression or a statement reads a name; inner scopes that have a variable of that name do not count."""
    match node:
        case ast.Name(id, ast.Load()):
            return id == name
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            if any(_stores(g.target, name) for g in node.generators):
                return reads(node.generators[0].iter, name)
        case ast.Lambda() if name in parameter_names(node):
            return False
    return any(reads(child, name) for child in children(node))
