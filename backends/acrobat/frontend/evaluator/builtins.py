"""Python's own functions, by name."""

from __future__ import annotations

import ast
import builtins as python_builtins
import collections
import heapq
import operator
from collections.abc import Callable
from typing import Any

from backends.acrobat import library
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator import containers
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.attributes import attribute
from backends.acrobat.frontend.evaluator.calls import WRITTEN, called
from backends.acrobat.frontend.evaluator.choice import Arm, choose, mapped_choice
from backends.acrobat.frontend.evaluator.classes import class_of, record_of
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.indexing import length_of
from backends.acrobat.frontend.evaluator.kept import attribute_or
from backends.acrobat.frontend.evaluator.lists import as_list, iterable, list_of, mapped
from backends.acrobat.frontend.evaluator.mutation import give, place
from backends.acrobat.frontend.evaluator.operators import as_int, binary
from backends.acrobat.frontend.evaluator.strings import number, shown
from backends.acrobat.frontend.evaluator.sums import extremum
from backends.acrobat.frontend.evaluator.tables import BUILTINS, FUNCTIONS, LIBRARIES, METHODS, NUMBERS, handles
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.specials import Method, OneOf, SliceOf
from backends.acrobat.frontend.types import contains_unknown, describe
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    Special,
    Static,
    TupleV,
    Value,
    empty,
    is_list,
    is_number,
    is_tensor,
    is_unknown,
    kind,
    known,
    nothing_known,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.library import heaps, iteration, python


def builtin(f: Frame, node: ast.Call, name: str, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """Compile a call of the built-in function `name` with arguments that are compiled already."""
    if name == "sorted" and not kwargs and len(args) == 1 and (record := record_of(f, args[0])) is not None:
        return list_of(f, node, list(map(Static, sorted(record.keys_of_record))))  # type: ignore[attr-defined]
    if name == "sorted" or name in ("max", "min") and "key" in kwargs:
        return ordered(f, node, name, args, kwargs)
    if name in library.BUILTINS and not kwargs and not all(known(a)[0] for a in args):
        given = [a if is_number(a) or kind(a) == "tensor" else as_list(f, node, iterable(f, a)) for a in args]
        return f.program.call(f, node, library.BUILTINS[name], given, {})
    if name in ("min", "max") and set(kwargs) == {"default"} and len(args) == 1:
        return _extreme_or(f, node, name, args[0], kwargs["default"])
    if name == "enumerate":
        xs, start = CallArguments(name, args, kwargs).bind("iterable", "start", start=Static(0))
        args, kwargs = ([xs] if start == Static(0) else [xs, start]), {}
    if kwargs and not (name == "zip" and set(kwargs) == {"strict"}):
        return f.problem(node, f"`{name}` takes no keyword arguments here")
    if any(nothing_known(a) for a in args):
        return unknown()
    handler = BUILTINS.get(name)
    found = None if handler is None else handler(f, node, args, hint)
    if found is not None:
        return found
    how = (
        "cannot be used like this here"
        if handler is not None or name in ("sum", "sorted", "bool")
        else "is not in the language"
    )
    return f.problem(node, f"`{name}` {how}", "LANGUAGE.md lists the functions")


def _of_python(function: Any) -> Callable[..., Value] | None:
    """The handler of a built-in function object; None for other objects."""
    name = getattr(function, "__name__", "")
    if not callable(function) or not name or getattr(python_builtins, name, None) is not function:
        return None

    def work(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        return builtin(f, node, name, args, kwargs, hint)

    return work


LIBRARIES.append(_of_python)


# ---- containers


@handles(BUILTINS, "set", "frozenset")
def _set(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case []:
            return containers.empty_of_kind(f, "set")
        case [xs]:
            return containers.set_of(f, node, iterable(f, xs))
    return None


@handles(BUILTINS, "dict")
def _dict(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case []:
            return containers.empty_of_kind(f, "dict")
        case [xs] if is_list(xs):
            return containers.dict_of_pairs(f, node, xs)
        case [xs] if kind(xs) == "dict":
            return xs if is_unknown(xs) else containers.of_kind(xs, "dict")
    return None


@handles(BUILTINS, "list")
def _list(f: Frame, node: ast.AST, args: list[Value], hint: str) -> Value | None:
    if len(args) > 1:
        return None
    whole = iterable(f, args[0]) if args else TupleV(())
    return list_of(f, node, list(whole.items), hint) if isinstance(whole, TupleV) else whole


@handles(FUNCTIONS, collections.deque)
def _deque(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if kwargs.pop("maxlen", Static(None)) != Static(None):
        return f.problem(node, "a deque with `maxlen` is not in the language", "cut a list: `xs = (xs + [x])[-n:]`")
    return builtin(f, node, "list", args, kwargs, hint)


@handles(BUILTINS, "tuple")
def _tuple(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    whole = iterable(f, args[0]) if len(args) == 1 else None
    return whole if isinstance(whole, TupleV) else None


@handles(BUILTINS, "len")
def _len(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return length_of(f, node, args[0]) if len(args) == 1 else None


# ---- iterators


@handles(BUILTINS, "range")
def _range(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if not 1 <= len(args) <= 3:
        return None
    start, stop, step = ([Static(0), *args, Static(1)] if len(args) == 1 else [*args, Static(1)])[:3]
    if any(type_or_none(a) != INT for a in args):
        return f.problem(node, "`range` takes ints", "read a tensor's value with int(...)")
    facts = [known(a) for a in args]
    if all(k for k, _ in facts):
        return Static(range(*(v for _, v in facts)))
    return f.host("range", [start, stop, step], ListT(INT))


@handles(BUILTINS, "reversed")
def _reversed(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) != 1:
        return None
    if isinstance(args[0], Held):
        return f.problem(node, "`reversed` takes a list", "write reversed(list(...))")
    whole = iterable(f, args[0])
    if isinstance(whole, TupleV):
        return Held("iterator", TupleV(whole.items[::-1]))
    return whole if is_unknown(whole) else Held("iterator", f.host("list.reverse", [whole], type_of(whole), "reversed"))


@handles(BUILTINS, "enumerate")
def _enumerate(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if not 1 <= len(args) <= 2:
        return None
    whole = iterable(f, args[0])
    is_known, start = known(args[1]) if len(args) == 2 else (True, 0)
    if isinstance(whole, TupleV) and is_known:
        return Held("iterator", TupleV(tuple(TupleV((Static(i), v)) for i, v in enumerate(whole.items, start))))
    if is_unknown(whole):
        return unknown()
    if len(args) == 2:
        items = as_list(f, node, whole)
        return Held("iterator", f.program.call(f, ast.Pass(), iteration.numbered, [items, args[1]], {}))
    return Held("iterator", f.host("enumerate", [whole], ListT(TupleT((INT, type_of(whole).item)))))


@handles(BUILTINS, "zip")
def _zip(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    lists = [iterable(f, a) for a in args]
    strict = any(k.arg == "strict" and ast.unparse(k.value) == "True" for k in node.keywords)
    if strict and lists:
        if len({len(xs.items) for xs in lists if isinstance(xs, TupleV)}) > 1:
            raise Refused("`zip` with `strict=True` of tuples of different lengths")
        lists = [as_list(f, node, xs) if isinstance(xs, TupleV) and not _of_modules(xs) else xs for xs in lists]
        first, *others = lists
        if not any(isinstance(xs, TupleV) or nothing_known(xs) or is_unknown(xs) for xs in lists):
            lists = [first, *(f.program.call(f, ast.Pass(), iteration.same_length, [xs, first], {}) for xs in others)]
    return _zipped(f, node, lists) if args else None


def _of_modules(xs: TupleV) -> bool:
    return any(isinstance(v, Special) and v.unrolled for v in xs.items)


def _zipped(f: Frame, node: ast.AST, lists: list[Value]) -> Value:
    tuples = [xs for xs in lists if isinstance(xs, TupleV)]
    if len(tuples) == len(lists):
        return Held("iterator", TupleV(tuple(TupleV(t) for t in zip(*(xs.items for xs in tuples), strict=False))))
    if any(is_unknown(xs) for xs in lists):
        return unknown()
    if any(map(_of_modules, tuples)):
        return Held("iterator", _zip_modules(f, lists, min(len(xs.items) for xs in tuples)))
    lists = [as_list(f, node, xs) for xs in lists]
    if not all(is_list(xs) for xs in lists):
        raise Refused("`zip` takes lists here")
    return Held("iterator", f.host("zip", lists, ListT(TupleT(tuple(type_of(xs).item for xs in lists)))))


def _zip_modules(f: Frame, lists: list[Value], count: int) -> TupleV:
    """`zip` of module lists and lists of the program, as `count` tuples. A shorter list is an error of the instance."""

    def at(xs: Value, i: int) -> Value:
        return xs.items[i] if isinstance(xs, TupleV) else f.host("list.get", [xs, Static(i)], type_of(xs).item, "element")

    return TupleV(tuple(TupleV(tuple(at(xs, i) for xs in lists)) for i in range(count)))


@handles(BUILTINS, "map")
def _map(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _mapped(f, node, *args) if len(args) == 2 else None


def _mapped(f: Frame, node: ast.Call, function: Value, xs: Value) -> Value:
    """`map(function, xs)`."""
    whole = iterable(f, xs)
    if isinstance(whole, TupleV):
        return Held("iterator", TupleV(tuple(called(f, node, function, [x], {}) for x in whole.items)))
    if is_unknown(whole):
        return unknown()
    return Held("iterator", mapped(f, [whole], lambda x: called(f, node, function, [x], {})))  # type: ignore[list-item]


# ---- numbers and order


@handles(BUILTINS, "min")
def _min(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _extreme(f, node, "min", args)


@handles(BUILTINS, "max")
def _max(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _extreme(f, node, "max", args)


def _extreme(f: Frame, node: ast.Call, name: str, args: list[Value]) -> Value | None:
    facts = [known(a) for a in args]
    if len(args) == 1:
        item = getattr(type_or_none(args[0]), "item", None)
        if isinstance(item, TupleT) and is_list(args[0]):
            return ordered(f, node, name, args, {})  # type: ignore[arg-type]
        return extremum(f, node, args[0], name)
    if not args:
        return None
    if all(k for k, _ in facts):
        return Static({"min": min, "max": max}[name](*(v for _, v in facts)))
    return _nary(f, node, name, args)


def _extreme_or(f: Frame, node: ast.Call, name: str, xs: Value, default: Value) -> Value:
    """`max(xs, default=...)` and `min(xs, default=...)`: the default if the list is empty."""
    items = as_list(f, node, iterable(f, xs))
    if nothing_known(items) or is_unknown(items) or nothing_known(default):
        return unknown()

    def found() -> Value:
        best = _extreme(f, node, name, [items])
        return unknown() if best is None else best

    return _or_default(f, node, items, default, found)


def _or_default(f: Frame, node: ast.Call, items: Value, default: Value, found: Arm) -> Value:
    """`found()`, or the default if the list is empty."""
    return choose(f, node, f.host("gt", [length_of(f, node, items), Static(0)], BOOL), found, lambda: default)


@handles(BUILTINS, "divmod")
def _divmod(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) != 2:
        return None
    return TupleV(tuple(binary(f, node, op, *args) for op in (ast.FloorDiv(), ast.Mod())))


@handles(BUILTINS, "pow")
def _pow(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return binary(f, node, ast.Pow(), *args) if len(args) == 2 else None


def ordered(f: Frame, node: ast.Call, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`sorted` of a list, and `max` and `min` of one of tuples or with a `key`; keys are numbers or tuples of numbers."""
    if args and containers.kind_of(args[0]):
        args = [containers.elements(f, node, args[0]), *args[1:]]  # type: ignore[arg-type]
    if name in ("min", "max") and "default" in kwargs:
        default = kwargs["default"]
        rest = {k: v for k, v in kwargs.items() if k != "default"}
        whole = as_list(f, node, iterable(f, args[0]))
        if nothing_known(whole) or is_unknown(whole):
            return unknown()
        return _or_default(f, node, whole, default, lambda: ordered(f, node, name, [whole], rest))
    xs, key, reverse = CallArguments(name, args, kwargs).bind(
        "iterable", "key", "reverse", key=Static(None), reverse=Static(False)
    )
    items = iterable(f, xs)
    if is_unknown(items) or nothing_known(items):
        return unknown()
    items = as_list(f, node, items)
    keys = items if key == Static(None) else mapped(f, [items], lambda x: called(f, node, key, [x], {}))  # type: ignore[list-item]
    if is_unknown(keys) or is_unknown(items):
        return unknown()
    by_tuples = isinstance(type_of(keys).item, TupleT) and all(isinstance(t, ScalarT) for t in type_of(keys).item.items)
    if not by_tuples and not isinstance(type_of(keys).item, ScalarT):
        return f.problem(node, f"`{name}` compares numbers here, not {describe(type_of(keys).item)}")
    if name == "sorted":
        by = library.python.sorted_by_tuples if by_tuples else library.python.sorted_list
        return f.program.call(f, node, by, [items, keys, reverse], {})
    return f.program.call(f, node, library.python.best if name == "max" else library.python.least, [items, keys], {})


def _nary(f: Frame, node: ast.AST, name: str, args: list[Value]) -> Value:
    """`min(a, b, ...)` and `max(a, b, ...)` of numbers: a bool if all are, a float if one of them is, else an int."""
    kinds = {type_or_none(a) for a in args} - {BOOL}
    if any(not isinstance(k, ScalarT) for k in kinds):
        wrong = next(a for a in args if not is_number(a))
        if is_tensor(wrong):
            return f.problem(node, f"`{name}` of tensors is not in the language", f"write torch.{name}imum(a, b)")
        return f.problem(node, f"`{name}` takes numbers, not {describe(type_or_none(wrong))}")
    if not kinds:  # all are bools
        result: Value = args[0]
        for a in args[1:]:
            result = f.host("bool", [f.host(name, [as_int(f, result), as_int(f, a)], INT)], BOOL, name)
        return result
    kind = FLOAT if FLOAT in kinds else INT
    result = f.coerce(as_int(f, args[0]), kind)
    for a in args[1:]:
        result = f.host(name, [result, f.coerce(as_int(f, a), kind)], kind)
    return result


@handles(BUILTINS, "abs")
def _abs(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) != 1:
        return None
    is_known, x = known(args[0])
    if is_known:
        return Static(abs(x))
    if is_number(args[0]):
        a = as_int(f, args[0])
        return f.host("abs", [a], type_of(a))
    rule = METHODS.get(kind(args[0]))
    return None if rule is None else rule(f, node, Method(args[0], "abs"), [], {})


@handles(BUILTINS, "str")
def _str(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return shown(f, args[0]) if len(args) == 1 else None


@handles(BUILTINS, "int")
def _int(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _number(f, int, args)


@handles(BUILTINS, "float")
def _float(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _number(f, float, args)


def _number(f: Frame, convert: type[int | float], args: list[Value]) -> Value | None:
    if len(args) != 1:
        return None
    if kind(args[0]) == "string":
        return number(f, args[0], INT if convert is int else FLOAT)
    rule = NUMBERS.get(kind(args[0]))
    a = args[0] if rule is None else rule(f, args[0])
    is_known, x = known(a)
    if is_known:
        return Static(convert(x))
    if not is_number(a):
        return None
    wanted = INT if convert is int else FLOAT
    return a if type_of(a) == wanted else f.host(convert.__name__, [a], wanted)


# ---- objects


@handles(BUILTINS, "getattr")
def _getattr(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [owner, Static(str() as name)]:
            return attribute(f, node, owner, name)
        case [Dyn(type=DataT()) as owner, Static(str() as name), default] if f.program.carried.is_field(name):
            return attribute_or(f, node, owner, name, default)
        case [owner, Static(str() as name), default]:
            found = _has_attribute(f, owner, name)
            return None if found is None else attribute(f, node, owner, name) if found else default
        case [owner, OneOf() as names]:
            return mapped_choice(f, node, names, lambda name: attribute(f, node, owner, str(known(name)[1])))
    return None


@handles(BUILTINS, "type")
def _type(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [Static(value)]:
            return Static(type(value))
        case [Special() as value] if value.python_object is not None:
            return Static(type(value.python_object))
        case [Dyn(type=DataT()) as value]:
            return class_of(f, node, value)
    return None


@handles(BUILTINS, "hasattr")
def _hasattr(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [Dyn(type=DataT()), Static(str() as name)] if f.program.carried.is_field(name):
            what = f"`hasattr` of `{name}`, which the model assigns to, is not in the language"
            return f.problem(node, what, "give it None in `__init__`, and ask for that")
        case [owner, Static(str() as name)]:
            found = _has_attribute(f, owner, name)
            return None if found is None else Static(found)
    return None


def _has_attribute(f: Frame, owner: Value, name: str) -> bool | None:
    """Whether a value has an attribute; None where this is not known at compile time, or the value has no attributes."""
    if isinstance(owner, Special):
        return owner.has_attribute(f.program.reads, name)
    if not isinstance(owner, Dyn) or not isinstance(owner.type, DataT):
        return None
    classes = f.program.datatypes.cases.get(owner.type.name, ())
    have = {f.program.datatypes.has_field(c, name) or not issubclass(c, RecordOf) and hasattr(c, name) for c in classes}
    return have.pop() if len(have) == 1 else None


@handles(BUILTINS, "isinstance")
def _isinstance(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [Static(value), Static(classes)]:
            return Static(isinstance(value, classes))
        case [Special() as value, Static(classes)] if value.python_object is not None:
            return Static(isinstance(value.python_object, classes))
        case [Dyn(type=ScalarT("int" | "float" | "bool" as what)), Static(classes)]:
            return Static(isinstance({"int": 0, "float": 0.0, "bool": False}[what], classes))
    return f.problem(node, "`isinstance` is not in the language", "take the value apart with `match`")


@handles(BUILTINS, "slice")
def _slice(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [stop]:
            return SliceOf(Static(None), stop, Static(None))
        case [start, stop, *step] if len(step) < 2:
            return SliceOf(start, stop, *(step or [Static(None)]))
    return None


# ---- methods of lists


@handles(METHODS, "list")
def _list_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    xs = method.owner
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if is_unknown(xs) or any(map(nothing_known, args)):
        return unknown()
    match method.name, args:
        case "sort", [] if owner is not None:
            found = place(f, node, owner, "sort")
            if found is not None:
                give(f, found[0], ordered(f, node, "sorted", [xs], kwargs))  # type: ignore[arg-type]
            return Static(None)
        case "remove", [item] if owner is not None and not kwargs:
            found = place(f, node, owner, "remove")
            if found is not None:
                give(f, found[0], f.program.call(f, node, python.without_first, [xs, item], {}))
            return Static(None)
        case "index", [item] if not kwargs:
            return f.program.call(f, node, python.place, [xs, item], {})
        case "count", [item] if not kwargs:
            return f.program.call(f, node, python.count, [xs, item], {})
        case "__getitem__", [item] if not kwargs:
            return f.host("list.get", [xs, item], type_of(xs).item, "element")
        case "copy", [] if not kwargs:
            return builtin(f, node, "list", [xs], {}, "")  # type: ignore[arg-type]
    return None


# ---- heaps


@handles(WRITTEN, heapq.heappush)
def _heap_push(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != 2 or node.keywords:
        return None
    item = f.expression(node.args[1])
    found = place(f, node, node.args[0], "heappush")
    if found is None or nothing_known(item):
        return Static(None)
    name, heap = found
    t = ListT(f.common([type_of(heap).item, type_of(item)]))
    if contains_unknown(t):
        give(f, name, empty(t, f.span))
        return Static(None)
    give(f, name, f.program.call(f, node, heaps.pushed, [f.coerce(heap, t), f.coerce(item, t.item)], {}))
    return Static(None)


@handles(WRITTEN, heapq.heappop)
def _heap_pop(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != 1 or node.keywords:
        return None
    found = place(f, node, node.args[0], "heappop")
    if found is None or is_unknown(found[1]):
        return unknown()
    name, heap = found
    popped = f.program.call(f, node, heaps.popped, [heap], {})
    parts = f.components(popped, 2)
    if parts is None:
        return unknown()
    give(f, name, parts[1])
    return parts[0]


@handles(WRITTEN, heapq.heapify)
def _heapify(f: Frame, node: ast.Call, function: Any) -> Value | None:
    found = place(f, node, node.args[0], "heapify") if len(node.args) == 1 else None
    if found is not None and not is_unknown(found[1]):
        give(f, found[0], f.program.call(f, node, heaps.heapified, [found[1]], {}))
    return Static(None)


# ---- functions made from the name of an attribute


@handles(FUNCTIONS, operator.attrgetter)
def _getter(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    match args:
        case [Static(str() as name)] if name.isidentifier():
            return Static(operator.attrgetter(name))
    return f.problem(node, f"`{ast.unparse(node.func)}` takes one name here", "write a lambda")
