"""Rewrites a function's syntax tree, before it is compiled, into one without `else` of loops, `:=`, `yield`, `try` with
`finally`, `del` of items, `setdefault` as a statement, changes of the value of a conditional expression, `setattr`, names for
methods and for parts of tensors that change, deques with a limit, and `for` over lists that get longer. What is rewritten keeps
its position in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy

from backends.acrobat.frontend.changing_methods import changes_owner
from backends.acrobat.frontend.evaluator.rewriting.aliases import by_method
from backends.acrobat.frontend.evaluator.rewriting.changed_parts import with_changed_parts
from backends.acrobat.frontend.evaluator.rewriting.growing_walks import growing_walks
from backends.acrobat.frontend.evaluator.rewriting.iterators_or_none import iterators_or_none
from backends.acrobat.frontend.evaluator.rewriting.limits import without_limits
from backends.acrobat.frontend.evaluator.rewriting.named_attributes import with_named_attributes
from backends.acrobat.frontend.evaluator.rewriting.named_expressions import Hoist, names_inside
from backends.acrobat.frontend.evaluator.rewriting.numbered_walks import numbered_walks
from backends.acrobat.frontend.evaluator.rewriting.own_variables import with_own_variables
from backends.acrobat.frontend.evaluator.syntax.bodies import ends, leaves, placed
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.own_nodes import is_generator
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted
from backends.acrobat.frontend.syntax_nodes import children, every_node

YIELDED = hidden("yielded")
"""The list of what a generator function has given so far."""
UNSEEN = hidden("unseen")
"""What a generator function returns, which nothing sees."""
_cache: dict[int, tuple[ast.FunctionDef, ast.FunctionDef]] = {}


def plainly(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The rewritten definition; the same object each time that it is asked for."""
    definition_and_result = _cache.get(id(definition))
    if definition_and_result is None or definition_and_result[0] is not definition:
        definition_and_result = _cache[id(definition)] = (definition, _function(definition))
    return definition_and_result[1]


def _function(definition: ast.FunctionDef) -> ast.FunctionDef:
    definition = with_named_attributes(definition)
    result = copy(definition)
    body = iterators_or_none(definition, without_limits(by_method(definition)))
    body = with_changed_parts(definition, with_own_variables(definition, growing_walks(definition, numbered_walks(body))))
    result.body = _Statements(is_generator(definition)).body(body)
    if definition.name == "__iter__" and not is_generator(definition):
        result.body = [_ListsReturned().visit(deepcopy(s)) for s in result.body]
    if is_generator(definition):
        start = quoted(definition, "yielded = []", yielded=YIELDED)
        result.body = [*start, *result.body, *quoted(definition.body[-1], "return yielded", yielded=YIELDED)]
    return result


class _ListsReturned(ast.NodeTransformer):
    """Has an `__iter__` return the list of all that its iterator would give. Each call makes a new list, which one loop walks
    over."""

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if node.value is None or isinstance(node.value, (ast.Name, ast.Constant)):
            return node
        return quoted(node, "return list(value)", value=node.value)[0]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node


def statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The rewritten form of statements that are not a whole function."""
    return _Statements().body(body)


class _Statements:
    """Rewrites bodies, those of a function with `yield` if it is a `generator`; `count` is how many hidden names there are."""

    def __init__(self, generator: bool = False) -> None:
        self.generator = generator
        self.count = 0

    def body(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [new for s in body for new in self.statement(s)]

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        match s:
            case ast.If():
                return self._if(s)
            case ast.While() if names_inside(s.test):
                return self._with_test_inside(s)
            case ast.For() | ast.While():
                return self._loop(s)
            case ast.With():
                result: ast.stmt = copy(s)
                result.body = self.body(s.body)  # type: ignore[attr-defined]
                return [result]
            case ast.Match():
                result = copy(s)
                result.cases = []
                for case in s.cases:
                    result.cases.append(copy(case))
                    result.cases[-1].body = self.body(case.body)
                return [result]
            case ast.Try([*body], [], [*orelse], [*last]) if not any(map(_may_leave, (*body, *orelse))):
                return self.body([*body, *orelse, *last])
            case ast.Try():
                result = copy(s)
                result.body, result.orelse, result.finalbody = map(self.body, (s.body, s.orelse, s.finalbody))
                result.handlers = [copy(h) for h in s.handlers]
                for h in result.handlers:
                    h.body = self.body(h.body)
                return [result]
            case ast.Delete(targets):
                return [result for t in targets for result in self._delete(s, t)]
            case ast.Expr(ast.Yield(value)):
                return quoted(s, "yielded.append(value)", yielded=YIELDED, value=value or ast.Constant(None))
            case ast.Expr(ast.YieldFrom(value)):
                return quoted(s, "yielded.extend(values)", yielded=YIELDED, values=value)
            case ast.Expr(ast.Call(ast.Attribute(owner, "setdefault"), [key, default], [])):
                return self._default_item(s, owner, key, default)[0]
            case ast.Expr(
                ast.Call(ast.Attribute(ast.Call(ast.Attribute(owner, "setdefault"), [key, default], []), change), args, [])
            ):
                put, item = self._default_item(s, owner, key, default)
                return [*put, *quoted(s, "item.change(*args)", item=item, change=change, args=args)]
            case ast.AugAssign(ast.Subscript(ast.Call(ast.Attribute(owner, "setdefault"), [key, default], []), index)):
                put, item = self._default_item(s, owner, key, default)
                target = ast.copy_location(ast.Subscript(item, index, ast.Store()), s.target)
                return [*put, ast.copy_location(ast.AugAssign(target, s.op, s.value), s)]
            case ast.Assign([ast.Subscript(ast.Call(ast.Attribute(owner, "setdefault"), [key, default], []), index) as place]):
                first, value = self._named(s, s.value)  # Python computes the value first
                put, item = self._default_item(s, owner, key, default)
                target = ast.copy_location(ast.Subscript(item, index, ast.Store()), place)
                return [*first, *put, ast.copy_location(ast.Assign([target], value), s)]
            case ast.Expr(ast.Call(ast.Attribute(owner, method), args, keywords)) if changes_owner(method) and (
                chosen := _chosen(owner)
            ):  # (a if test else b).append(x)
                one, other = _with_arms(owner, chosen)
                call = ast.Call(ast.Attribute(one, method, ast.Load()), args, keywords)
                others = [copied(a) for a in args], [copied(k) for k in keywords]
                again = ast.Call(ast.Attribute(other, method, ast.Load()), *others)
                return self._in_arms(s, chosen, ast.Expr(call), ast.Expr(again))
            case ast.Assign([ast.Subscript() | ast.Attribute() as target]) if chosen := _chosen(target):
                before, value = self._named(s, s.value)  # Python computes the value first
                puts = [ast.Assign([x], copied(value)) for x in _with_arms(target, chosen)]
                return [*self.body(before), *self._in_arms(s, chosen, *puts)]
            case ast.AugAssign(ast.Subscript() | ast.Attribute() as target) if chosen := _chosen(target):
                one, other = _with_arms(target, chosen)
                both = ast.AugAssign(one, s.op, s.value), ast.AugAssign(other, s.op, copied(s.value))  # type: ignore[arg-type]
                return self._in_arms(s, chosen, *both)
            case ast.Return(value) if self.generator:  # whoever walks over what is yielded does not see the value
                unseen = [] if value is None else quoted(s, "unseen = value", unseen=UNSEEN, value=value)
                return [*self.body(unseen), *quoted(s, "return yielded", yielded=YIELDED)]
            case ast.FunctionDef():
                return [s]
        return self._hoisted(s)

    def _in_arms(self, s: ast.stmt, chosen: ast.IfExp, one: ast.stmt, other: ast.stmt) -> list[ast.stmt]:
        """A statement `s` with a conditional expression, as `if test: one`, `else: other`, in which each arm has the statement
        with one of the two values."""
        return self.statement(placed(s, ast.If(chosen.test, [one], [other])))  # type: ignore[arg-type]

    def _default_item(
        self, s: ast.stmt, owner: ast.expr, key: ast.expr, default: ast.expr
    ) -> tuple[list[ast.stmt], ast.Subscript]:
        """The statements that `d.setdefault(k, default)` becomes, `if k not in d: d[k] = default`, and the item that it gives,
        `d[k]`."""
        statements, key = self._named(s, key)
        text = "if key not in owner: owner[key] = default"
        statements += quoted(s, text, key=copied(key), owner=copied(owner), default=default)
        return statements, ast.copy_location(ast.Subscript(owner, key, ast.Load()), s)

    def _named(self, s: ast.stmt, value: ast.expr) -> tuple[list[ast.stmt], ast.expr]:
        """The assignment that gives an expression a hidden name, and that name; none for names and constants."""
        if isinstance(value, (ast.Name, ast.Constant)):
            return [], value
        self.count += 1
        name = hidden(f"named{self.count}")
        return quoted(s, "name = value", name=name, value=value), ast.copy_location(ast.Name(name, ast.Load()), value)

    def _if(self, s: ast.If) -> list[ast.stmt]:
        match s.test:
            case ast.BoolOp(operator, [first, *rest]) if any(map(names_inside, rest)):
                others = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(operator, rest), s.test)
                inner: ast.stmt = ast.copy_location(ast.If(others, s.body, s.orelse), s)
                body, orelse = ([inner], s.orelse) if isinstance(operator, ast.And) else (s.body, [inner])
                return self._if(ast.copy_location(ast.If(first, body, orelse), s))
        hoist = Hoist(s.test)
        test = hoist.visit(s.test)
        result = copy(s)
        result.test, result.body, result.orelse = test, self.body(s.body), self.body(s.orelse)
        return [*hoist.before, result]

    def _with_test_inside(self, s: ast.While) -> list[ast.stmt]:
        """`while test` as a `while True` that is left if the test fails. The loop's `else` follows, and runs only if the loop
        was left in this way."""
        self.count += 1
        flag = hidden(f"ended{self.count}")
        tests = s.test.values if isinstance(s.test, ast.BoolOp) and isinstance(s.test.op, ast.And) else [s.test]
        text = f"if not test:\n    {'flag = True; ' if s.orelse else ''}break"
        leave = [x for test in tests for x in quoted(s, text, test=test, flag=flag)]
        endless = self.body(quoted(s, "while True:\n    leave\n    body", leave=leave, body=s.body))
        if not s.orelse:
            return endless
        start, orelse = quoted(s, "flag = False", flag=flag), self.body(s.orelse)
        if any(isinstance(node, ast.Break) for x in s.body for node in _of_this_loop(x)):
            orelse = quoted(s, "if flag: orelse", flag=flag, orelse=orelse)
        return [*start, *endless, *orelse]

    def _loop(self, s: ast.For | ast.While) -> list[ast.stmt]:
        result = copy(s)
        if not s.orelse:
            result.body = self.body(s.body)
            return [result]
        result.orelse = []
        breaks = any(isinstance(node, ast.Break) for x in s.body for node in _of_this_loop(x))
        if not breaks:
            result.body = self.body(s.body)
            return [result, *self.body(s.orelse)]
        self.count += 1
        flag = hidden(f"left{self.count}")
        result.body = self.body([new for x in s.body for new in _as_list(_Flagged(flag).visit(copied(x)))])
        end = quoted(s, "if not flag: orelse", flag=flag, orelse=self.body(s.orelse))
        return [*quoted(s, "flag = False", flag=flag), result, *end]

    def _delete(self, s: ast.Delete, target: ast.expr) -> list[ast.stmt]:
        """`del xs[i]` becomes `xs.pop(i)`, `del xs[a:b]` becomes `xs[a:b] = []`, and `del name` stays."""
        match target:
            case ast.Subscript(owner, ast.Slice()):
                return quoted(s, "owner[part] = []", owner=owner, part=target.slice)
            case ast.Attribute():
                return [s]
            case ast.Subscript(owner, index):
                self.count += 1
                gone = hidden(f"gone{self.count}")
                return quoted(s, "gone = owner.pop(index)", gone=gone, owner=copy(owner), index=index)
        return [ast.copy_location(ast.Delete([target]), s)]

    def _hoisted(self, s: ast.stmt) -> list[ast.stmt]:
        """A statement without bodies, after the assignments that `:=` makes in it."""
        if not names_inside(s):
            return [s]
        hoist = Hoist(s)
        result = hoist.visit(copied(s))
        return [*hoist.before, result]


def _may_leave(s: ast.stmt) -> bool:
    """Whether a statement may leave the body that it stands in, also by an exception, or one that a function raises."""
    return leaves(s) or ends(s) or any(isinstance(x, (ast.Call, ast.Raise)) for x in every_node(s))


def _chosen(place: ast.expr) -> ast.IfExp | None:
    """The conditional expression at the start of a chain of items and attributes; None if the chain starts with another
    expression."""
    while isinstance(place, (ast.Subscript, ast.Attribute)):
        place = place.value
    return place if isinstance(place, ast.IfExp) else None


def _with_arms(place: ast.expr, chosen: ast.IfExp) -> list[ast.expr]:
    """A chain that starts with a conditional expression, once with each of the two values in its place."""
    if place is chosen:
        return [chosen.body, chosen.orelse]
    assert isinstance(place, (ast.Subscript, ast.Attribute))
    first, second = copy(place), copied(place)
    first.value, second.value = _with_arms(place.value, chosen)  # type: ignore[attr-defined]
    return [first, second]


def _of_this_loop(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a loop's body whose `break` leaves that loop."""
    yield node
    if not isinstance(node, (ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ClassDef)):
        for child in children(node):
            yield from _of_this_loop(child)
    elif isinstance(node, (ast.For, ast.While)):
        for child in node.orelse:
            yield from _of_this_loop(child)


class _Flagged(ast.NodeTransformer):
    """Sets a flag before each `break` of a loop."""

    def __init__(self, flag: str) -> None:
        self.flag = flag

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        return [*quoted(node, "flag = True", flag=self.flag), node]

    def visit_For(self, node: ast.For) -> ast.For:
        node.orelse = [new for x in node.orelse for new in _as_list(self.visit(x))]
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.orelse = [new for x in node.orelse for new in _as_list(self.visit(x))]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


def _as_list(value: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return value if isinstance(value, list) else [value]
