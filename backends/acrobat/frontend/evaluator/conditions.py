"""Truth values, comparisons, choices. Where a test says that a name is not None, or is of a class, the name has that type."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from backends.acrobat import library
from backends.acrobat.core.types import BOOL, INT, DataT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator import constants
from backends.acrobat.frontend.evaluator.choice import (
    Arm,
    among,
    choose,
    fail,
    is_none,
    negation,
    one_of,
    open_optional,
    optional,
)
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.mixed import COMPUTED, by_type, of_type, word_of
from backends.acrobat.frontend.evaluator.nones import opened
from backends.acrobat.frontend.evaluator.objects import class_attribute, identity
from backends.acrobat.frontend.evaluator.syntax import HIDDEN, tests_none
from backends.acrobat.frontend.evaluator.tables import (
    COMPARED,
    COMPARED_AS_WHOLES,
    COMPARED_SETS,
    EXPRESSIONS,
    MEMBERSHIP,
    TRUTHS,
    handles,
)
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.specials import Method, OneOf
from backends.acrobat.frontend.types import NONE, SYMBOL, contains_unknown, describe
from backends.acrobat.frontend.values import (
    Dyn,
    Static,
    TupleV,
    Value,
    held_in,
    is_list,
    is_number,
    is_unknown,
    kind,
    known,
    nothing_known,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import strings

COMPARISONS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}


TESTED = (ast.Name, ast.Attribute, ast.Subscript)
"""Expressions whose class `isinstance` may test: they have no effects, and may be compiled twice."""


# ---- truth


def condition(f: Frame, value: Value, node: ast.AST) -> Value:
    """`bool(value)` as a bool of the host; for a tensor of one element the instance waits. Problems are reported at `node`."""
    match value:
        case Static(v):
            return Static(bool(v))
        case TupleV(items):
            return Static(bool(items))
    if nothing_known(value):
        return unknown()
    handler = TRUTHS.get(kind(value))
    found = None if handler is None else handler(f, value, node)
    if found is not None:
        return found
    t = type_or_none(value)
    return f.problem(
        node, f"{describe(t)} has no truth value here" if isinstance(value, Dyn) else "this has no truth value here"
    )


@handles(TRUTHS, "number", "list", "set", "dict", "ragged")
def _number_or_list(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    match value.type:
        case ScalarT("bool"):
            return Static(value.atom.value) if isinstance(value.atom, n.Lit) else value
        case ScalarT(kind):
            if isinstance(value.atom, n.Lit):
                return Static(bool(value.atom.value))
            return f.host("ne", [value, Static(0 if kind == "int" else 0.0)], BOOL, "truth")
    return f.host("gt", [f.host("list.len", [value], INT, "size"), Static(0)], BOOL, "truth")


@handles(TRUTHS, "string")
def _not_empty(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    return f.host("ne", [value, Static("")], BOOL, "truth")


@handles(TRUTHS, "object")
def _optional(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    if f.mixed(value.type):
        return by_type(f, node, value, lambda _, inner: condition(f, inner, node))
    inner = optional(f, value)
    if inner is None:
        return _of_object(f, value, node)
    if _always_true(f, inner):
        return is_none(f, value, negate=True)
    return open_optional(f, node, value, lambda some: condition(f, some, node), lambda: Static(False))


TRUTH_METHODS = ("__bool__", "__len__")
"""The methods that Python asks for the truth of an object, the first that there is. Without one the object is true."""


def _always_true(f: Frame, t: Any) -> bool:
    """Whether values of a type are objects without a truth value of their own, all of which count as true."""
    classes = f.program.datatypes.cases.get(t.name, ()) if isinstance(t, DataT) else ()
    return bool(classes) and not any(hasattr(c, name) or issubclass(c, RecordOf) for c in classes for name in TRUTH_METHODS)


def _of_object(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    """The truth of an object: what its `__bool__` gives, else whether its `__len__` is not 0."""
    if _always_true(f, value.type):
        return Static(True)
    assert isinstance(value.type, DataT)
    classes = f.program.datatypes.cases[value.type.name]
    if len(classes) == 1 and issubclass(classes[0], (RecordOf, tuple)):
        return Static(bool(getattr(classes[0], "keys", ()) or getattr(classes[0], "_fields", ())))
    name = next(x for x in TRUTH_METHODS if any(hasattr(c, x) for c in classes))
    method = class_attribute(f, node, value, classes, name)
    if not isinstance(method, Method):
        return None
    return condition(f, f.program.call(f, ast.Pass(), method.function, [value], {}), node)


def truth(f: Frame, test: ast.expr) -> Value:
    """The truth value of the expression `test`, as a bool of the host."""
    match test:
        case ast.BoolOp(op, [first, *rest]):
            if not rest:
                return truth(f, first)
            others = ast.copy_location(ast.BoolOp(op, rest), test)
            if isinstance(op, ast.And):
                return decide(f, test, first, lambda: truth(f, others), lambda: Static(False))
            return decide(f, test, first, lambda: Static(True), lambda: truth(f, others))
        case ast.UnaryOp(ast.Not(), operand):
            return negation(f, truth(f, operand))
        case ast.Call(ast.Name("isinstance"), [tested, _], []) if f.is_builtin("isinstance") and isinstance(tested, TESTED):
            value = f.borrowed(tested)
            if isinstance(value, Dyn) and isinstance(value.type, DataT):
                return decide(f, test, test, lambda: Static(True), lambda: Static(False))
    return condition(f, f.borrowed(test), test)


def bool_value(f: Frame, node: ast.BoolOp, op: ast.boolop, values: list[ast.expr]) -> Value:
    """`a and b`, `a or b` as a value: one of the operands, not its truth."""
    first = f.expression(values[0])
    if len(values) == 1:
        return first
    rest = ast.copy_location(ast.BoolOp(op, values[1:]), node)
    if isinstance(op, ast.Or) and isinstance(first, Dyn) and optional(f, first) is not None:

        def some(inner: Value) -> Value:
            return choose(f, node, condition(f, inner, values[0]), lambda: inner, others)

        def others() -> Value:
            return bool_value(f, rest, op, values[1:])

        if not _always_true(f, optional(f, first)):
            return open_optional(f, node, first, some, others)
        return open_optional(f, node, first, lambda inner: inner, others)
    cond = condition(f, first, values[0])
    if isinstance(op, ast.And):
        return choose(f, node, cond, lambda: bool_value(f, rest, op, values[1:]), lambda: first)
    return choose(f, node, cond, lambda: first, lambda: bool_value(f, rest, op, values[1:]))


def decide(f: Frame, node: ast.AST, test: ast.expr, then: Arm, orelse: Arm) -> Value:
    """`then() if test else orelse()`. Names and fields that `test` compares with None or classes are narrowed in the arms."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return decide(f, node, operand, orelse, then)
        case ast.BoolOp(op, [first, *rest]) if rest and tests_none(test):
            others = ast.copy_location(ast.BoolOp(op, rest), test) if len(rest) > 1 else rest[0]
            if isinstance(op, ast.And):
                return decide(f, node, first, lambda: decide(f, node, others, then, orelse), orelse)
            return decide(f, node, first, then, lambda: decide(f, node, others, then, orelse))
        case ast.Call(ast.Name("isinstance"), [tested, classes], []) if f.is_builtin("isinstance"):
            value = f.borrowed(tested)
            if isinstance(value, Dyn) and isinstance(value.type, DataT):
                return of_class(f, node, value, path_of(tested), f.borrowed(classes), then, orelse)
        case ast.Compare(
            ast.Call(ast.Name("type"), [tested], []), [ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op], [cls]
        ) if f.is_builtin("type"):
            value, wanted = f.borrowed(tested), f.borrowed(cls)
            if isinstance(value, Dyn) and isinstance(value.type, DataT) and isinstance(wanted, Static):
                arms = (then, orelse) if isinstance(op, (ast.Is, ast.Eq)) else (orelse, then)
                return of_class(f, node, value, path_of(tested), wanted, *arms, exactly=True)
        case ast.Compare(ast.Name() | ast.Attribute() as tested, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]):
            value = f.borrowed(tested)
            path = path_of(tested)
            if isinstance(value, Dyn) and optional(f, value) is not None and path is not None:

                def some(inner: Value) -> Value:
                    f.env[path] = inner
                    return (then if isinstance(op, ast.IsNot) else orelse)()

                hint = path.rpartition(".")[2]
                return open_optional(f, node, value, some, orelse if isinstance(op, ast.IsNot) else then, hint)
    return choose(f, node, truth(f, test), then, orelse)


def of_class(
    f: Frame, node: ast.AST, value: Dyn, path: str | None, classes: Value, then: Arm, orelse: Arm, exactly: bool = False
) -> Value:
    """`then() if isinstance(value, classes) else orelse()`, or of `type(value) is classes` with `exactly`. The arms know the
    class, also under `path`, the value's name."""
    whole = f.static_list(classes)
    parts = whole.items if isinstance(whole, TupleV) else (whole,)
    wanted: Any = tuple(c.value for c in parts if isinstance(c, Static) and isinstance(c.value, type))
    if len(wanted) < len(parts):
        return f.problem(node, "the classes of `isinstance` are known at compile time")

    def is_wanted(cls: type) -> bool:
        return cls in wanted if exactly else issubclass(cls, wanted)

    if optional(f, value) is not None:

        def some(inner: Value) -> Value:
            if path is not None:
                f.env[path] = inner
            if isinstance(inner, Dyn) and isinstance(inner.type, DataT):
                return of_class(f, node, inner, path, classes, then, orelse, exactly)
            return f.problem(node, f"`isinstance` takes an object here, not {describe(type_of(inner))}")

        return open_optional(f, node, value, some, orelse)
    assert isinstance(value.type, DataT)
    if f.mixed(value.type):
        return _of_python_type(f, node, value, path, classes, wanted, then, orelse, exactly)
    known_class = f.env.get(class_key(path)) if path is not None else None
    if isinstance(known_class, Static):
        return (then if is_wanted(known_class.value) else orelse)()
    datatypes = f.program.datatypes
    members = datatypes.cases[value.type.name]
    if all(map(is_wanted, members)):
        return then()
    heads = [(c, tuple(f.var(x, datatypes.field_type(c, x)) for x in datatypes.field_names(c))) for c in members]

    def arm(cls: type, variables: tuple[n.Var, ...]) -> Arm:
        def body() -> Value:
            if path is not None:
                f.env[class_key(path)] = Static(cls)
                for variable, name in zip(variables, datatypes.field_names(cls), strict=False):  # more may be read meanwhile
                    f.env[f"{HIDDEN}{path.removeprefix(HIDDEN)}.{name}"] = held_in(Dyn(variable))
            return (then if is_wanted(cls) else orelse)()

        return body

    def build(type: Any, bodies: list[n.Expr]) -> n.Expr:
        arms = tuple(n.Arm(c.__name__, variables, body) for (c, variables), body in zip(heads, bodies, strict=True))
        return n.Match(value.atom, arms, type, span=f.span)

    if any(contains_unknown(v.type) for _, variables in heads for v in variables):
        f.program.incomplete = True
    return one_of(f, node, [arm(c, variables) for c, variables in heads], build)


def _of_python_type(
    f: Frame,
    node: ast.AST,
    value: Dyn,
    path: str | None,
    classes: Value,
    wanted: tuple[type, ...],
    then: Arm,
    orelse: Arm,
    exactly: bool,
) -> Value:
    """`of_class` of a mixed value. In the arms its name stands for the value as one of the type that it has there. An arm that
    several types take is compiled once, and the value stays mixed in it."""
    assert isinstance(value.type, DataT)
    union = value.type.name
    seen = {word: f.program.datatypes.class_in_mixed(union, word) for word in f.mixed(value.type)}
    takes = {word: cls in wanted if exactly else issubclass(cls, wanted) for word, cls in seen.items() if word != "object"}

    def alone(word: str, inner: Value) -> Value:
        if path is not None:
            f.env[path] = inner
        if word != "object":
            return (then if takes[word] else orelse)()
        return of_class(f, node, inner, path, classes, then, orelse, exactly)  # type: ignore[arg-type]

    if "object" in seen or sum(takes.values()) < 2 and len(takes) - sum(takes.values()) < 2:
        return by_type(f, node, value, alone)
    if len(set(takes.values())) == 1:
        return then() if takes[next(iter(takes))] else orelse()
    inside = by_type(f, node, value, lambda word, _: Dyn(n.Lit(takes[word], BOOL)))

    def side(arm: Arm, of_wanted: bool) -> Arm:
        words = [word for word, there in takes.items() if there == of_wanted]

        def body() -> Value:
            if path is not None and len(words) == 1:
                f.env[path] = of_type(f, node, value, *words)
            return arm()

        return body

    return choose(f, node, inside, side(then, True), side(orelse, False))


def class_key(path: str) -> str:
    """The key of `Frame.env` under which the class is kept that a name or field is known to be of."""
    return f"{HIDDEN}{path.removeprefix(HIDDEN)}.{HIDDEN}class"


def path_of(node: ast.expr) -> str | None:
    """The key of `Frame.env` for a name, or for a field `name.a.b`; None for other expressions."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute():
            text, inner = ast.unparse(node), node.value
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            return HIDDEN + text if isinstance(inner, ast.Name) else None
    return None


# ---- comparison


@handles(EXPRESSIONS, ast.Compare)
def _compare(f: Frame, node: ast.Compare, hint: str) -> Value:
    return _chain(f, node, f.borrowed(node.left), list(zip(node.ops, node.comparators, strict=True)))


def _chain(f: Frame, node: ast.AST, left: Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> Value:
    """The comparison `left < a < b`: `b` is computed only where `left < a`."""
    (op, right_node), *others = rest
    right = f.borrowed(right_node)
    one = comparison(f, node, op, left, right)
    if not others:
        return one
    return choose(f, node, one, lambda: _chain(f, node, right, others), lambda: Static(False))


def comparison(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    """The value of the comparison `a op b`; a problem is noted for values that cannot be compared."""
    if isinstance(op, (ast.Is, ast.IsNot)) and (OneOf in (type(a), type(b)) or SYMBOL in (type_or_none(a), type_or_none(b))):
        op = ast.Eq() if isinstance(op, ast.Is) else ast.NotEq()
    if a == Static(None) and isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        a, b = b, a
    if isinstance(op, (ast.Is, ast.IsNot)) or b == Static(None) and isinstance(op, (ast.Eq, ast.NotEq)):
        negate = isinstance(op, (ast.IsNot, ast.NotEq))
        same = type_or_none(a)
        if b != Static(None) and isinstance(same, DataT) and same == type_or_none(b) and optional(f, a) is None:
            return f.host("ne" if negate else "eq", [identity(f, node, a), identity(f, node, b)], BOOL)
        if b != Static(None):
            return f.problem(node, "`is` only compares with None, and objects of the instance")
        if isinstance(a, Static):
            return Static((a.value is None) != negate)
        if isinstance(a, Dyn) and optional(f, a) is not None:
            return is_none(f, a, negate)
        if type_or_none(a) is NONE:  # an element of a list of None
            return Static(not negate)
        return unknown() if is_unknown(a) and not is_list(a) else Static(negate)
    if isinstance(op, (ast.In, ast.NotIn)):
        found = _membership(f, node, a, b)
        return found if isinstance(op, ast.In) or is_unknown(found) else negation(f, found)
    if type(op) not in COMPARISONS:
        return f.problem(node, "this comparison is not in the language", "compare numbers with == != < <= > >=")
    for one, other in ((a, b), (b, a)):
        if isinstance(one, OneOf) and all(isinstance(v, Static) for v in (other, *one.alternatives)):
            same = [Static((v.value == other.value) != isinstance(op, ast.NotEq)) for v in one.alternatives]  # type: ignore
            return among(f, node, one.index, [lambda v=v: v for v in same])  # type: ignore[misc]
    name, python = COMPARISONS[type(op)]
    if isinstance(op, (ast.Eq, ast.NotEq)):
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Dyn) and optional(f, one) is not None:  # None is equal to None alone
                return open_optional(
                    f,
                    node,
                    one,
                    lambda some, other=other: comparison(f, node, op, some, other),  # type: ignore[misc]
                    lambda other=other: comparison(f, node, op, Static(None), other),  # type: ignore[misc]
                )
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Dyn) and f.mixed(one.type):  # values of other types are not equal to it
                return by_type(f, node, one, lambda _, inner, other=other: _equal(f, node, op, inner, other))  # type: ignore[misc]
    a, b = (opened(f, node, v, types=COMPUTED) for v in (a, b))
    (known_a, x), (known_b, y) = known(a), known(b)
    if known_a and known_b:
        try:
            return Static(python(x, y))
        except TypeError as error:
            return f.problem(node, str(error))
    for whole in () if nothing_known(a) or nothing_known(b) else COMPARED_AS_WHOLES:
        mask = whole(f, op, a, b)
        if mask is not None:
            return mask
    rule = COMPARED.get(kind(a)) or COMPARED.get(kind(b))
    if rule is not None:
        a, b = rule(f, a, b)
    if kind(a) == kind(b) and kind(a) in COMPARED_SETS:
        of_kind = COMPARED_SETS[kind(a)](f, node, name, a, b)
        if of_kind is not None:
            return of_kind
    if is_list(a) and is_list(b) and name in ("eq", "ne") and not nothing_known(a) and not nothing_known(b):
        return _same_lists(f, node, name, a, b)
    if is_unknown(a) or is_unknown(b):
        return unknown()
    if is_number(a) and is_number(b):
        return f.host(name, [a, b], BOOL)
    if name in ("eq", "ne") and isinstance(type_of(a), TupleT) and isinstance(type_of(b), TupleT):
        return _same_tuples(f, node, op, f.components(a) or [], f.components(b) or [])
    if isinstance(type_of(a), TupleT) and isinstance(type_of(b), TupleT):
        return _tuples_in_order(f, node, op, f.components(a) or [], f.components(b) or [])
    if isinstance(type_of(a), DataT) and type_of(a) == type_of(b) and name in ("eq", "ne") and _by_identity(f, type_of(a)):
        return f.host(name, [identity(f, node, a), identity(f, node, b)], BOOL)
    if type_of(a) == SYMBOL and type_of(b) == SYMBOL and name in ("eq", "ne"):
        return f.host(name, [a, b], BOOL)
    return f.problem(node, f"{describe(type_of(a))} and {describe(type_of(b))} cannot be compared")


def _equal(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    """`a == b` or `a != b`, where `a` is a mixed value of a certain type: values of different types are not equal."""
    if isinstance(b, Dyn) and f.mixed(b.type):
        return comparison(f, node, op, a, b)
    one, other = word_of(a), word_of(b)
    if one and other and one != other and not {one, other} <= {*COMPUTED}:
        return Static(isinstance(op, ast.NotEq))
    return comparison(f, node, op, a, b)


def _by_identity(f: Frame, t: DataT) -> bool:
    """Whether objects of a type are equal only to themselves, as those of a class without `__eq__` are."""
    classes = f.program.datatypes.cases.get(t.name, ())
    return bool(classes) and all(
        c in f.program.datatypes.seen and "__eq__" not in {x for k in c.__mro__[:-1] for x in vars(k)} for c in classes
    )


def _same_lists(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value:
    """`==` and `!=` of lists, element by element."""
    t = f.common([type_of(a), type_of(b)])
    if contains_unknown(t):  # an element type is unknown: at least one of the lists is empty
        some = next((v for v in (a, b) if not is_unknown(v)), None)
        if some is None:
            return Static(name == "eq")
        t = type_of(some)
    same = f.program.call(f, ast.copy_location(ast.Pass(), node), library.python.same, [f.coerce(a, t), f.coerce(b, t)], {})
    return same if name == "eq" or is_unknown(same) else negation(f, same)


def _same_tuples(f: Frame, node: ast.AST, op: ast.cmpop, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """`==` and `!=` of tuples, component by component."""
    result: Value = Static(len(a) == len(b))
    for x, y in zip(a, b, strict=False):
        same = comparison(f, node, ast.Eq(), x, y)
        result = choose(f, node, result, lambda same=same: same, lambda: Static(False))  # type: ignore[misc]
    return result if isinstance(op, ast.Eq) or is_unknown(result) else negation(f, result)


def _tuples_in_order(f: Frame, node: ast.AST, op: ast.cmpop, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """`<`, `<=`, `>` and `>=` of tuples: the first components that differ decide. As in Python, it is an error of the instance
    if the numbers before a component without an order are all equal."""
    if not a or not b:
        return Static(COMPARISONS[type(op)][1](len(a), len(b)))
    if not (is_number(a[0]) and is_number(b[0])):
        return fail(f, "TypeError: the tuples that are compared agree in all numbers before their components without an order")
    strict = ast.Lt() if isinstance(op, (ast.Lt, ast.LtE)) else ast.Gt()
    same = comparison(f, node, ast.Eq(), a[0], b[0])
    return choose(
        f, node, same, lambda: _tuples_in_order(f, node, op, a[1:], b[1:]), lambda: comparison(f, node, strict, a[0], b[0])
    )


def _membership(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """`a in b`, for a container known at compile time, a tuple, a value with a rule for it, or a list of numbers or strings."""
    is_known, x = known(a)
    match b:
        case Static(dict() | list() | tuple() | str() | set() | frozenset() | range() as whole):
            if is_known:
                return Static(x in whole)
            if is_unknown(a):
                return unknown()
            if isinstance(whole, str):
                return f.program.call(f, ast.copy_location(ast.Pass(), node), strings.contains, [b, a], {})
            return constants.contains(f, a, list(whole))
        case Static(whole) if (method := constants.method_of(whole, "__contains__")) is not None:
            return f.program.call(f, ast.copy_location(ast.Pass(), node), method, [b, a], {})
    if kind(b) in MEMBERSHIP:
        return MEMBERSHIP[kind(b)](f, node, b, a)
    if is_unknown(a) or is_unknown(b):
        return unknown()
    items = f.components(b) or f.display(b)
    if items is not None:
        result: Value = Static(False)
        for item in items:
            same = comparison(f, node, ast.Eq(), a, item)
            result = choose(f, node, result, lambda: Static(True), lambda same=same: same)  # type: ignore[misc]
        return result
    if is_list(b) and isinstance(b.type.item, ScalarT) or is_list(b) and b.type.item == SYMBOL:  # type: ignore[union-attr]
        return f.program.call(f, node, library.python.contains, [b, a], {})
    return f.problem(node, f"`in` {describe(type_of(b))} is not in the language")


# ---- the expressions that choose


@handles(EXPRESSIONS, ast.BoolOp)
def _bool_op(f: Frame, node: ast.BoolOp, hint: str) -> Value:
    return bool_value(f, node, node.op, node.values)


@handles(EXPRESSIONS, ast.IfExp)
def _if_else(f: Frame, node: ast.IfExp, hint: str) -> Value:
    return decide(f, node, node.test, lambda: f.expression(node.body), lambda: f.expression(node.orelse))
